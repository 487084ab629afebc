#include "controlplane/record_text/tree_form.hpp"

#include <boost/json.hpp>

namespace tributary::record_text {

namespace json = boost::json;

json::value json_of(const records::TreeForm& form) {
  json::array links;
  links.reserve(form.links.size());
  for (const auto& link : form.links) {
    links.push_back({link.a.at, link.a.port, link.b.at, link.b.port});
  }
  json::array parts;
  parts.reserve(form.parts.size());
  for (const auto& part : form.parts) {
    parts.push_back({{"at", part.at},
                     {"parent", part.parent},
                     {"children", json::array(part.children.begin(), part.children.end())},
                     {"wait_count", part.wait_count},
                     {"depth", part.depth}});
  }
  return json::object{{"root_switch", form.root_switch},
                      {"height", form.height},
                      {"links", std::move(links)},
                      {"parts", std::move(parts)}};
}

records::TreeForm tree_form_of(const json::value& document) {
  const auto string = [](const json::value& v) { return json::value_to<std::string>(v); };
  const auto port = [](const json::value& v) { return v.to_number<std::uint16_t>(); };

  records::TreeForm form;
  form.root_switch = string(document.at("root_switch"));
  form.height = document.at("height").to_number<std::uint32_t>();
  for (const json::value& c : document.at("links").as_array()) {
    const json::array& ends = c.as_array();
    form.links.push_back(
        {{string(ends.at(0)), port(ends.at(1))}, {string(ends.at(2)), port(ends.at(3))}});
  }
  for (const json::value& p : document.at("parts").as_array()) {
    records::TreeForm::Part part;
    part.at = string(p.at("at"));
    part.parent = port(p.at("parent"));
    for (const json::value& child : p.at("children").as_array()) {
      part.children.push_back(port(child));
    }
    part.wait_count = p.at("wait_count").to_number<std::uint32_t>();
    part.depth = p.at("depth").to_number<std::uint32_t>();
    form.parts.push_back(std::move(part));
  }
  return form;
}

std::string encode(const records::TreeForm& form) { return json::serialize(json_of(form)); }

records::TreeForm decode_tree_form(std::string_view text) {
  return tree_form_of(json::parse({text.data(), text.size()}));
}

} // namespace tributary::record_text
