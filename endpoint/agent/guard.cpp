#include "endpoint/agent/guard.hpp"

#include "endpoint/agent/marks.hpp"
#include "tributary/wire/portals.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace tributary::host_agent {

namespace {

namespace json = boost::json;

constexpr unsigned in_bits = 8;
constexpr std::size_t source_offset = 6;
constexpr std::size_t ethertype_offset = 12;

constexpr unsigned bit_of(std::size_t byte) { return static_cast<unsigned>(byte) * in_bits; }
constexpr unsigned bit_of_fabric(std::size_t byte) {
  return bit_of(wire::ethernet_header_bytes + byte);
}

/// Raw expressions, so that nft adds no condition of its own.
std::string field(unsigned bit, unsigned bits) { return fmt::format("@ll,{},{}", bit, bits); }

const std::string& vni_field() {
  static const std::string text = field(bit_of_fabric(wire::portals_offset::vni), 16);
  return text;
}

std::uint64_t number_of(const wire::MacAddress& address) {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : address) {
    number = number << in_bits | byte;
  }
  return number;
}

std::string element(const Allowance& allowance) {
  return fmt::format("{:#x} . {}", allowance.mark.value, allowance.vni.value);
}

std::string elements(std::span<const Allowance> allowances) {
  std::string text;
  for (const Allowance& each : allowances) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", element(each));
  }
  return text;
}

/// A condition that a right frame of a socket meets, and what counts the frames that do not.
struct Condition {
  std::string right;
  std::string wrong;
  GuardCounter counter;
};
Condition is(const std::string& what, std::uint64_t value, GuardCounter counter) {
  return {fmt::format("{} {:#x}", what, value), fmt::format("{} != {:#x}", what, value), counter};
}

/// Source addresses of the host's frames: the interface's own, and the one that its NID makes,
/// which frames of RDMA have.
std::vector<std::uint64_t> sources_of(const Guarded& guarded) {
  std::vector<std::uint64_t> sources = {number_of(guarded.address),
                                        number_of(wire::host_mac(guarded.nid))};
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return sources;
}

/// All but the source.
std::vector<Condition> conditions(const Guarded& guarded) {
  constexpr unsigned nid_bits = 20;
  return {is(field(bit_of(ethertype_offset), 16), guarded.ethertype, GuardCounter::wrong_ethertype),
          is(field(bit_of_fabric(wire::portals_offset::version_ihl), 8), wire::portals_version_ihl,
             GuardCounter::wrong_header),
          is(field(bit_of_fabric(wire::portals_offset::sfa), nid_bits), guarded.nid.value,
             GuardCounter::wrong_nid),
          {fmt::format("meta mark . {} @allowed", vni_field()),
           fmt::format("meta mark . {} != @allowed", vni_field()), GuardCounter::wrong_vni}};
}

std::string count(GuardCounter counter) { return fmt::format("counter name {}", name_of(counter)); }

std::vector<std::string> fabric_rules(const Guarded& guarded) {
  const std::string source = field(bit_of(source_offset), 48);
  const std::vector<Condition> others = conditions(guarded);
  std::string right;
  for (const Condition& each : others) {
    right += each.right + ' ';
  }
  std::vector<std::string> rules = {
      fmt::format("meta mark & {:#x} != {:#x} accept", Marks::prefix_mask, guarded.prefix.value)};
  std::string no_source;
  for (const std::uint64_t each : sources_of(guarded)) {
    rules.push_back(
        fmt::format("{} {:#x} {}{} accept", source, each, right, count(GuardCounter::passed)));
    no_source += fmt::format("{} != {:#x} ", source, each);
  }
  // From here on everything is dropped; the rules only say why.
  rules.push_back(no_source + count(GuardCounter::wrong_source) + " drop");
  for (const Condition& each : others) {
    rules.push_back(fmt::format("{} {} drop", each.wrong, count(each.counter)));
  }
  rules.push_back(count(GuardCounter::unreadable) + " drop");
  return rules;
}

std::string chain(std::string_view name, const std::string& interface,
                  const std::vector<std::string>& rules) {
  std::string text =
      fmt::format("  chain {} {{\n    type filter hook egress device \"{}\" priority "
                  "0; policy accept;\n",
                  name, interface);
  for (const std::string& rule : rules) {
    text += "    " + rule + '\n';
  }
  return text + "  }\n";
}

std::uint64_t number_in(const json::object& object, std::string_view field) {
  const json::value* value = object.if_contains(field);
  json::error_code error;
  const auto number = value == nullptr ? 0 : value->to_number<std::uint64_t>(error);
  return error ? 0 : number;
}

std::string text_in(const json::object& object, std::string_view field) {
  const json::value* value = object.if_contains(field);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

void read_counter(const json::object& counter, GuardState& state) {
  const std::string name = text_in(counter, "name");
  for (std::size_t i = 0; i < guard_counters; ++i) {
    if (name == name_of(static_cast<GuardCounter>(i))) {
      state.counts[i] = {number_in(counter, "packets"), number_in(counter, "bytes")};
    }
  }
}

void read_set(const json::object& set, GuardState& state) {
  const json::value* value = set.if_contains("elem");
  const json::array* all = value == nullptr ? nullptr : value->if_array();
  if (all == nullptr) {
    return;
  }
  const std::string name = text_in(set, "name");
  if (name == "allowed") {
    state.allowed = all->size();
  }
  if (name == "highest" && !all->empty()) {
    json::error_code error;
    const auto mark = all->front().to_number<std::uint32_t>(error);
    state.highest = error ? std::nullopt : std::optional(Mark{mark});
  }
}

} // namespace

bool can_guard(std::string_view interface) {
  return !interface.empty() && std::ranges::all_of(interface, [](char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '\\' && c != '*';
  });
}

std::string guard_text(const Guarded& guarded, std::span<const Allowance> allowed, Mark highest,
                       const GuardCounts& carried) {
  // To delete a table that is not there would be an error, so it is added first.
  std::string text = fmt::format("add table netdev {0}\ndelete table netdev {0}\n"
                                 "table netdev {0} {{\n",
                                 guard_table);
  for (std::size_t i = 0; i < guard_counters; ++i) {
    text +=
        fmt::format("  counter {} {{ packets {} bytes {} }}\n",
                    name_of(static_cast<GuardCounter>(i)), carried[i].packets, carried[i].bytes);
  }
  text +=
      fmt::format("  set allowed {{ typeof meta mark . {};{} }}\n", vni_field(),
                  allowed.empty() ? "" : fmt::format(" elements = {{ {} }};", elements(allowed)));
  text += fmt::format("  set highest {{ type mark; elements = {{ {:#x} }}; }}\n", highest.value);
  const std::string ours =
      fmt::format("meta mark & {:#x} == {:#x}", Marks::prefix_mask, guarded.prefix.value);
  if (!guarded.interface.empty()) {
    text += chain("fabric", guarded.interface, fabric_rules(guarded));
  }
  for (std::size_t i = 0; i < guarded.others.size(); ++i) {
    text += chain(fmt::format("other_{}", i), guarded.others[i],
                  {fmt::format("{} {} drop", ours, count(GuardCounter::other_interface))});
  }
  return text + "}\n";
}

std::string allow_text(const Allowance& allowance, Mark previous_highest, Mark highest) {
  std::string text =
      fmt::format("add element netdev {} allowed {{ {} }}\n", guard_table, element(allowance));
  if (previous_highest != highest) {
    text += fmt::format("add element netdev {0} highest {{ {2:#x} }}\n"
                        "delete element netdev {0} highest {{ {1:#x} }}\n",
                        guard_table, previous_highest.value, highest.value);
  }
  return text;
}

std::string forbid_text(std::span<const Allowance> allowances) {
  return allowances.empty() ? std::string()
                            : fmt::format("delete element netdev {} allowed {{ {} }}\n",
                                          guard_table, elements(allowances));
}

std::optional<GuardState> guard_state(std::string_view text) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  const json::object* root = error ? nullptr : value.if_object();
  const json::value* list = root == nullptr ? nullptr : root->if_contains("nftables");
  if (list == nullptr || !list->is_array()) {
    return std::nullopt;
  }
  GuardState state;
  for (const json::value& entry : list->get_array()) {
    const json::object* object = entry.if_object();
    if (object == nullptr || object->empty()) {
      continue;
    }
    const auto& [kind, body] = *object->begin();
    const json::object* fields = body.if_object();
    if (fields == nullptr || (kind != "metainfo" && text_in(*fields, "table") != guard_table)) {
      continue;
    }
    if (kind == "counter") {
      read_counter(*fields, state);
    } else if (kind == "set") {
      read_set(*fields, state);
    } else if (kind == "chain") {
      ++state.chains;
    }
  }
  return state;
}

} // namespace tributary::host_agent
