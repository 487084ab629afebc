// The one table of the switch's configuration keys, see lib/configuration/schema.hpp.
#pragma once

#include "dataplane/config/config.hpp"
#include "lib/configuration/schema.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::config {

enum class Section : std::uint8_t {
  process,
  manager,
  switches,
  switch_class,
  port,
  impairment,
  received_impairment,
  sent_impairment,
  port_class,
  tree,
  route,
};

/// In the order of `Section`.
[[nodiscard]] configuration::Schema switch_schema();
[[nodiscard]] inline const configuration::SectionSpec& spec_of(Section section) {
  return switch_schema()[static_cast<std::size_t>(section)];
}

constexpr configuration::KindMask mask_of(PortKind k) {
  return configuration::KindMask{1} << static_cast<unsigned>(k);
}

inline constexpr std::string_view port_kind_names[] = {"af_xdp", "af_packet", "pci", "memif",
                                                       "ring",   "pcap",      "null"};
constexpr std::string_view name_of(PortKind k) {
  return port_kind_names[static_cast<std::size_t>(k)];
}

// Intermediate form of the sections, before names are resolved.
struct TreeDraft {
  std::int64_t number = 0;
  std::int64_t wait_count = 0;
  std::string parent;
  std::vector<std::string> children;
  core::SlotDemand slots;
  bool shared = false;
};
struct ClassDraft {
  std::int64_t number = 0;
  egress::ClassSettings queue;
  egress::PauseLimits pause;
};
struct RouteDraft {
  std::int64_t nid = 0;
  std::string port;
};

/// Stores the value of key number `index` of the section in `target`; the value has the key's type.
void assign(std::size_t index, const configuration::Value& value, Process& target);
void assign(std::size_t index, const configuration::Value& value, Manager& target);
void assign(std::size_t index, const configuration::Value& value, Switch& target);
void assign(std::size_t index, const configuration::Value& value, Port& target);
void assign(std::size_t index, const configuration::Value& value, Impairment& target);
void assign(std::size_t index, const configuration::Value& value, ClassDraft& target);
void assign(std::size_t index, const configuration::Value& value, TreeDraft& target);
void assign(std::size_t index, const configuration::Value& value, RouteDraft& target);

} // namespace tributary::config
