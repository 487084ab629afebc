// Tables for a fabric as it is now: which algorithm, and whether they are safe by themselves.
//
// Pure.
#pragma once

#include "controlplane/routes/settings.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/unicast/network.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tributary::routes {

/// What all who look at one snapshot need of it.
struct Fabric {
  /// `planned` without what is avoided, `real` with it: frames of old tables still go there.
  Fabric(topology::Graph planned_graph, const topology::Graph& real_graph);

  [[nodiscard]] std::uint32_t switches() const { return network.switches(); }
  [[nodiscard]] unicast::TableSet empty_tables(std::uint8_t vcs) const;

  topology::Graph graph; ///< the planned one
  unicast::Network network;
  unicast::PortStates planned;
  unicast::PortStates real;
  std::vector<std::uint32_t> endpoints;
  std::vector<std::vector<std::uint32_t>> parts; ///< of endpoints, the largest first
};

struct Candidate {
  std::string algorithm;
  std::string shape;
  std::string why;
  std::string refused; ///< "" when the tables are safe
  unicast::TableSet tables;
  std::uint64_t pairs = 0;
  std::uint32_t most_hops = 0;
  std::uint8_t vcs_used = 0;
  TimeNs computed{};
};

[[nodiscard]] Candidate find_candidate(const Fabric& fabric, const Settings& settings,
                                       const std::function<TimeNs()>& now);

} // namespace tributary::routes
