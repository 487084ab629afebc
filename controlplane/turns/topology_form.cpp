#include "controlplane/turns/topology_form.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace tributary::turns {

using topology::Attachment;
using topology::Graph;
using topology::SwitchId;

namespace {

records::NumberedPort stored(Attachment end) { return {end.at.value, end.port}; }
Attachment found(const records::NumberedPort& port) { return {SwitchId{port.at}, port.port}; }

void expect_number(const char* what, std::uint32_t number, std::size_t expected) {
  if (number != expected) {
    throw std::runtime_error(
        fmt::format("the stored topology has {} {} where {} should be", what, number, expected));
  }
}

} // namespace

Graph stored_graph(const records::Snapshot& past) {
  if (past.topology_is_damaged) {
    throw std::runtime_error("records of it cannot be read");
  }
  Graph graph;
  for (const records::SwitchRecord& s : past.switches) {
    expect_number("switch", s.number, graph.switches().size());
    graph.add_switch({.name = s.name, .guid = s.guid, .ports = s.ports, .up = s.up});
  }
  for (const records::LinkRecord& c : past.links) {
    expect_number("link", c.number, graph.links().size());
    graph.add_link({.ends = {found(c.a), found(c.b)},
                    .speed_mbps = c.speed_mbps,
                    .up = c.up,
                    .plugged = c.plugged});
  }
  for (const records::HostRecord& h : past.hosts) {
    graph.add_host(
        {.name = h.name, .nid = h.nid, .at = found(h.at), .up = h.up, .plugged = h.plugged});
  }
  return graph;
}

std::vector<records::Change> changes_of(const Graph& graph, const topology::Touched& touched) {
  std::vector<records::Change> changes;
  changes.reserve(touched.switches.size() + touched.links.size() + touched.hosts.size());
  for (const SwitchId id : touched.switches) {
    const topology::Switch& s = graph[id];
    changes.emplace_back(records::SwitchRecord{id.value, s.name, s.guid, s.ports, s.up});
  }
  for (const topology::LinkId id : touched.links) {
    const topology::Link& c = graph[id];
    changes.emplace_back(records::LinkRecord{id.value, stored(c.ends[0]), stored(c.ends[1]),
                                             c.speed_mbps, c.up, c.plugged});
  }
  for (const Nid nid : touched.hosts) {
    if (const auto id = graph.find_host(nid)) {
      const topology::Host& h = graph[*id];
      changes.emplace_back(records::HostRecord{nid, h.name, stored(h.at), h.up, h.plugged});
    } else {
      changes.emplace_back(records::EraseHost{nid});
    }
  }
  return changes;
}

} // namespace tributary::turns
