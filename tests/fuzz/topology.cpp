// Any text as a topology file. The first byte says in which format.
//
//   1  a refusal has locations and a message
//   2  an accepted topology can be written in every format, and reads the same again
//   3  a fabric matches its own cabling

#include "controlplane/topology/cabling.hpp"
#include "controlplane/topology/dot_file.hpp"
#include "controlplane/topology/netlist_file.hpp"
#include "controlplane/topology/toml_file.hpp"
#include "lib/configuration/diagnostic.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>
#include <string>

namespace tributary::fuzz {
namespace {

using topology::Graph;

void check_graph(const Graph& graph) {
  const std::string toml = topology::write_toml(graph);
  const Graph from_toml = topology::read_toml(toml, "again");
  TRIBUTARY_REQUIRE(topology::write_toml(from_toml) == toml);
  const std::string netlist = topology::write_netlist(graph);
  TRIBUTARY_REQUIRE(topology::write_netlist(topology::read_netlist(netlist, "again")) == netlist);
  TRIBUTARY_REQUIRE(topology::write_dot(graph).ends_with("}\n"));
  bool whole = true;
  for (const auto& s : graph.switches()) {
    whole = whole && s.up;
  }
  for (const auto& link : graph.links()) {
    whole = whole && (link.up || !link.plugged);
  }
  for (const auto& host : graph.hosts()) {
    whole = whole && (host.up || !host.plugged);
  }
  TRIBUTARY_REQUIRE(!whole || topology::check_cabling(graph, from_toml).empty());
}

void run(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return;
  }
  const std::string text(data + 1, data + size);
  try {
    check_graph(data[0] % 2 == 0 ? topology::read_toml(text, "fuzz")
                                 : topology::read_netlist(text, "fuzz"));
  } catch (const configuration::ConfigError& error) {
    TRIBUTARY_REQUIRE(error.file() == "fuzz");
    TRIBUTARY_REQUIRE(!error.findings().empty());
    for (const auto& finding : error.findings()) {
      TRIBUTARY_REQUIRE(finding.line > 0 && !finding.text.empty());
    }
  }
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::run(data, size);
  return 0;
}
