#include "dataplane/management/impairment_json.hpp"

#include "dataplane/management/inspector.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tributary::management {
namespace {

namespace json = boost::json;

json::string_view json_text(std::string_view s) { return {s.data(), s.size()}; }

json::object all_settings(const impairment::Settings& settings) {
  json::object out;
  for_each_key(settings, [&](std::string_view key, auto value) { out[json_text(key)] = value; });
  return out;
}

json::object settings_json(const impairment::Settings& settings) {
  json::object out = all_settings(settings);
  for (const auto& member : all_settings({})) {
    if (out.at(member.key()) == member.value()) {
      out.erase(member.key());
    }
  }
  if (settings.kinds != impairment::KindSet::all()) {
    json::array kinds;
    settings.kinds.for_each([&](impairment::Kind k) { kinds.emplace_back(json_text(name_of(k))); });
    out["kinds"] = std::move(kinds);
  }
  return out;
}

json::object impairment_json(const ImpairmentReport& i) {
  json::object out{{"switch", i.switch_name},
                   {"port", i.port},
                   {"direction", json_text(impairment::name_of(i.direction))},
                   {"on", i.on}};
  if (i.on) {
    out["settings"] = settings_json(i.settings);
    out["seed"] = i.seed;
  }
  out["held"] = i.held;
  i.counts.for_each([&](const char* name, std::uint64_t value) { out[name] = value; });
  return out;
}

bool is_key(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

} // namespace

json::value to_json(const std::vector<ImpairmentReport>& impairments) {
  json::array all;
  for (const ImpairmentReport& one : impairments) {
    all.push_back(impairment_json(one));
  }
  return all;
}

void add_flat(json::object& out, const ImpairmentReport& i) {
  const std::string prefix =
      fmt::format("{}.impairment.{}.{}", i.switch_name, i.port, impairment::name_of(i.direction));
  out[prefix + ".held"] = i.held;
  i.counts.for_each([&](const char* name, std::uint64_t value) {
    out[fmt::format("{}.{}", prefix, name)] = value;
  });
}

std::string settings_as_toml(const json::object& settings) {
  std::string lines;
  for (const auto& member : settings) {
    const std::string_view key(member.key().data(), member.key().size());
    if (!is_key(key)) {
      throw RequestError(
          fmt::format("\"{}\" is not a setting of an impairment; they are the keys of "
                      "[switch.port.impairment]",
                      key));
    }
    if (member.value().is_null() || member.value().is_object()) {
      throw RequestError(fmt::format("the setting \"{}\" needs a number, a text or a list", key));
    }
    // Other JSON values are valid TOML, too.
    lines += fmt::format("{} = {}\n", key, json::serialize(member.value()));
  }
  return lines;
}

} // namespace tributary::management
