#include "controlplane/record_text/allocation_form.hpp"

#include <boost/json.hpp>

#include <optional>

namespace tributary::record_text {

namespace json = boost::json;

json::value json_of(const records::Allocation& allocation) {
  json::array nodes;
  nodes.reserve(allocation.nodes.size());
  for (const records::Allocation::Node& node : allocation.nodes) {
    nodes.push_back({node.name, node.nid ? json::value(node.nid->value) : json::value(nullptr),
                     node.sets_up_port});
  }
  return json::object{{"cookie", allocation.cookie},
                      {"nodes", std::move(nodes)},
                      {"has_made_job", allocation.has_made_job},
                      {"lease_ms", allocation.lease_ms},
                      {"restarts_unheard", allocation.restarts_unheard}};
}

records::Allocation allocation_of(const json::value& document) {
  records::Allocation allocation;
  allocation.cookie = json::value_to<std::string>(document.at("cookie"));
  for (const json::value& each : document.at("nodes").as_array()) {
    const json::value& nid = each.at(1);
    allocation.nodes.push_back(
        {json::value_to<std::string>(each.at(0)),
         nid.is_null() ? std::nullopt : std::optional(Nid{nid.to_number<std::uint32_t>()}),
         each.at(2).as_bool()});
  }
  allocation.has_made_job = document.at("has_made_job").as_bool();
  allocation.lease_ms = document.at("lease_ms").to_number<std::uint32_t>();
  allocation.restarts_unheard = document.at("restarts_unheard").to_number<std::uint32_t>();
  return allocation;
}

std::string encode(const records::Allocation& allocation) {
  return json::serialize(json_of(allocation));
}

records::Allocation decode_allocation(std::string_view text) {
  return allocation_of(json::parse({text.data(), text.size()}));
}

} // namespace tributary::record_text
