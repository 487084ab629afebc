#include "tools/tributaryctl/fabric/topology_graph.hpp"

#include "controlplane/topology/dot_file.hpp"
#include "controlplane/topology/netlist_file.hpp"
#include "controlplane/topology/toml_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tributary::cli {

using topology::Attachment;
using topology::Graph;

namespace {

topology::Port port_of(const Entry& entry) {
  return static_cast<topology::Port>(entry.number("port"));
}

Attachment attachment(const Graph& graph, const Entry& entry) {
  const std::string name = entry.text("switch");
  const auto at = graph.find_switch(name);
  if (!at) {
    throw topology::GraphError(fmt::format("switch \"{}\" is named, but does not exist", name));
  }
  return {*at, port_of(entry)};
}

bool is_free(const Graph& graph, Attachment at) { return !graph.link_at(at) && !graph.host_at(at); }

/// The number of ports of each switch that the answer mentions.
std::map<std::string, topology::Port> ports_of(const Entry& topology) {
  std::map<std::string, topology::Port> ports;
  const auto note = [&ports](const std::string& name, topology::Port port) {
    topology::Port& needed = ports[name];
    needed = std::max(needed, static_cast<topology::Port>(port + 1));
  };
  for (const Entry& sw : topology.entries("switches")) {
    for (const Entry& port : sw.entries("ports")) {
      note(sw.text("name"), port_of(port));
    }
  }
  for (const Entry& link : topology.entries("links")) {
    for (const char* end : {"a", "b"}) {
      note(link.entry(end).text("switch"), port_of(link.entry(end)));
    }
  }
  for (const Entry& host : topology.entries("hosts")) {
    note(host.text("switch"), port_of(host));
  }
  return ports;
}

} // namespace

Graph graph_of(const Entry& topology) {
  Graph graph;
  const auto ports = ports_of(topology);
  for (const Entry& sw : topology.entries("switches")) {
    const std::string name = sw.text("name");
    const auto needed = ports.find(name);
    graph.add_switch({.name = name,
                      .guid = std::strtoull(sw.text("guid").c_str(), nullptr, 16),
                      .ports = needed == ports.end() ? topology::Port{0} : needed->second,
                      .up = sw.flag("up")});
  }
  for (const bool up : {true, false}) {
    for (const Entry& link : topology.entries("links")) {
      const Attachment a = attachment(graph, link.entry("a"));
      const Attachment b = attachment(graph, link.entry("b"));
      if (link.flag("up") == up && is_free(graph, a) && is_free(graph, b)) {
        graph.add_link({.ends = {a, b},
                        .speed_mbps = static_cast<std::uint32_t>(link.number("speed_mbps")),
                        .up = up});
      }
    }
    for (const Entry& host : topology.entries("hosts")) {
      const Attachment at = attachment(graph, host);
      if (host.flag("up") == up && is_free(graph, at)) {
        graph.add_host({.name = host.text("name"),
                        .nid = Nid{static_cast<std::uint32_t>(host.number("nid"))},
                        .at = at,
                        .up = up});
      }
    }
  }
  return graph;
}

std::string topology_text(const Graph& graph, std::string_view format) {
  return format == "netlist" ? topology::write_netlist(graph)
         : format == "dot"   ? topology::write_dot(graph)
                             : topology::write_toml(graph);
}

} // namespace tributary::cli
