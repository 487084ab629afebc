// A snapshot of the fabric for route planning. Pure.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "controlplane/unicast/network.hpp"
#include "controlplane/unicast/verify.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::route_controller {

/// Sum of the walks of all parts.
struct Walked {
  std::uint64_t pairs = 0;
  std::uint64_t lost = 0; ///< without a route, or with a choice that ends in a drop
  std::uint32_t most_hops = 0;
  std::uint8_t vcs_used = 0;
  std::string circle; ///< a possible deadlock; "" when none is possible
  std::string loses;  ///< one of the lost pairs, and where its frames end
};

/// The snapshot with data that every step of the planning needs.
struct Fabric {
  /// `planned` without avoided elements, `real` with them: frames of old tables still use them.
  Fabric(topology::Graph planned_graph, const topology::Graph& real_graph);

  [[nodiscard]] std::uint32_t switches() const { return network.switches(); }
  [[nodiscard]] unicast::TableSet empty_tables(std::uint8_t vcs) const;
  /// Along one of several spanning trees, whose roots are spread over the fabric; nothing when that
  /// root is unusable.
  [[nodiscard]] std::optional<unicast::TableSet> spanning_tree(std::uint8_t vcs,
                                                               std::uint32_t which) const;
  static constexpr std::uint32_t spanning_trees = 9;
  /// Walks frames between switches of a part, by any of the sets at each switch. Requires sets with
  /// the same number of virtual channels.
  [[nodiscard]] Walked walk(std::span<const unicast::TableSet* const> sets) const;

  topology::Graph graph; ///< the one to plan on
  unicast::Network network;
  unicast::PortStates planned;
  unicast::PortStates real;
  std::vector<std::uint32_t> endpoints;
  std::vector<std::vector<std::uint32_t>> parts; ///< of endpoints, the largest first
};

/// "leaf0, leaf1 and 14 more": at most `most` by name.
[[nodiscard]] std::string some_of(std::span<const std::string> names, std::size_t most = 4);

} // namespace tributary::route_controller
