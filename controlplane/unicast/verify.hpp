// Checks whether a set of tables is safe to install, independently of its algorithm.
//
//   const Verification v = verify(network, {&tables}, up, endpoints);
//   if (!v.safe()) { log(v.describe(network)); }
//
// For every destination it follows every frame from every source through every choice of the
// tables, with the same code that switches use (dataplane/forwarding_table), and no knowledge of
// shapes or algorithms. Results:
//
//   stranded    pairs without any path: no choice leads to the destination
//   at risk     pairs with some choices that lead to a drop, and others to the destination. Tables
//               that know all faults must have none; between a fault and the new tables these are
//               the ones that a transport has to resend
//   cycle       the channel dependency graph: a frame that holds channel a (a link in one
//               direction, with a virtual channel) and may ask for channel b is an edge from a to
//               b, over all destinations. A cycle is a possible deadlock; the shortest is shown
//               (Dally and Seitz, 1987: without cycles, no deadlock)
//   loops       destinations for which a frame may loop forever
//
// Several table sets together are a change in progress: each switch may have any of them at any
// moment, so every choice of every set counts. Port states are the real ones, whatever faults the
// tables know.
//
// Time: destinations x channels x choices; memory: channels x ports.
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "controlplane/unicast/network.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::unicast {

/// A direction of a link, with a virtual channel.
struct Channel {
  std::uint32_t link = 0; ///< of the network
  std::uint8_t vc = 0;
  friend bool operator==(const Channel&, const Channel&) = default;
};

/// A pair without a path, or one at risk, and one possible course of its frames.
struct LostPair {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::vector<Channel> path;
  forwarding_table::Outcome reason = forwarding_table::Outcome::no_route;
};

struct Verification {
  std::uint64_t pairs = 0; ///< of different endpoints, ordered
  std::uint64_t stranded = 0;
  std::uint64_t at_risk = 0;
  std::uint32_t loops = 0;
  std::uint32_t most_hops = 0;  ///< links of the longest path; 0 with loops
  std::uint8_t vcs_used = 0;    ///< highest one that any frame must use, plus one
  std::vector<Channel> cycle;   ///< a shortest one; empty: no cycle
  std::optional<LostPair> lost; ///< a stranded pair, or else one at risk

  [[nodiscard]] bool acyclic() const { return cycle.empty(); }
  /// Every pair is connected by every choice, and no deadlock is possible.
  [[nodiscard]] bool safe() const { return acyclic() && stranded == 0 && at_risk == 0; }
  /// For a person: "12 of 240 pairs have no route: leaf0.0 to leaf2.2, by leaf0.0 port 0 vc 0, ...,
  /// ends in leaf0.2 with no_vc".
  [[nodiscard]] std::string describe(const Network& network) const;
};

/// Endpoints are switches with hosts, distinct: sources and destinations. Requires tables with the
/// same number of virtual channels, made for this network.
[[nodiscard]] Verification verify(const Network& network, std::span<const TableSet* const> sets,
                                  const PortStates& up, std::span<const std::uint32_t> endpoints);

/// "leaf0.1 port 3 vc 0"
[[nodiscard]] std::string describe(const Network& network, const Channel& channel);

} // namespace tributary::unicast
