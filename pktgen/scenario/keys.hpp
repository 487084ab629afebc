// The keys of a scenario, as tables: the file reader, the command line, the printed scenario and
// the user guide all read them (lib/configuration/schema.hpp).
//
//   [run]          how long, how often, from which seed
//   [generator] its identity: cores, addresses, the switch it asks for its counters
//   [[port]]       what it sends through; or
//   [in_process]   a switch of its own, hosted in the generator's process
//   [search]       for the highest rate
//   [[traffic]]    what it sends; several of them run concurrently, by their shares
#pragma once

#include "lib/configuration/schema.hpp"
#include "pktgen/scenario/scenario.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace tributary::pktgen::scenario {

enum class Section : std::uint8_t { run, generator, port, in_process, search, traffic };

[[nodiscard]] configuration::Schema scenario_schema();
[[nodiscard]] const configuration::SectionSpec& section_spec(Section section);

/// What [run] and [generator] fill.
struct General {
  std::uint64_t seed = 0;
  Phases phases;
  std::vector<unsigned> cores;
  bool busy = false;
  std::uint32_t first_nid = 0x10000;
  std::uint16_t ethertype = wire::default_ethertype;
  std::string switch_socket;
};
struct RunKeys : General {};
struct GeneratorKeys : General {};

// Found by SectionReader through the type of the target.
void assign(std::size_t index, const configuration::Value& value, RunKeys& target);
void assign(std::size_t index, const configuration::Value& value, GeneratorKeys& target);
void assign(std::size_t index, const configuration::Value& value, PortSpec& target);
void assign(std::size_t index, const configuration::Value& value, Hosted& target);
void assign(std::size_t index, const configuration::Value& value, Search& target);
void assign(std::size_t index, const configuration::Value& value, Part& target);

constexpr std::string_view name_of(Kind k) {
  switch (k) {
  case Kind::reduce: return "reduce";
  case Kind::multicast: return "multicast";
  case Kind::unicast: return "unicast";
  case Kind::rdma: return "rdma";
  case Kind::replay: return "replay";
  case Kind::mixed: return "mixed";
  }
  return "unknown";
}

/// The tables of the user guide, as Markdown.
[[nodiscard]] std::string scenario_keys_markdown();

} // namespace tributary::pktgen::scenario
