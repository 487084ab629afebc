#pragma once

#include "controlplane/topology/graph.hpp"

#include <set>
#include <span>
#include <vector>

namespace tributary::multicast {

/// The switches that `hosts` are connected to, each once.
inline std::vector<topology::SwitchId> switches_of(const topology::Graph& graph,
                                                   std::span<const topology::HostId> hosts) {
  std::set<topology::SwitchId> switches;
  for (const topology::HostId h : hosts) {
    switches.insert(graph[h].at.at);
  }
  return {switches.begin(), switches.end()};
}

} // namespace tributary::multicast
