// Is a set of tables safe to install? Walks it, whatever made it.
//
//   const Verification v = verify(network, {&tables}, up, endpoints);
//   if (!v.safe()) { log(v.describe(network)); }
//
// For every destination it follows every frame from every source through every choice that the
// tables leave, with the very code that switches decide with (dataplane/forwarding_table), and no knowledge
// of shapes or algorithms. What comes out:
//
//   stranded    pairs without any way: no choice leads to the destination
//   at risk     pairs that some choice leads to a drop, and others to the destination. With tables
//               that know all faults there must be none; between a fault and the new tables these
//               are the ones that a transport has to resend
//   cycle       the channel dependency graph: a frame that holds channel a (a link in one
//               direction, with a virtual channel) and may ask for channel b is an edge from a to
//               b, over all destinations. A cycle is a possible deadlock; the shortest is shown
//               (Dally and Seitz, 1987: none, no deadlock)
//   loops       destinations for which a frame may go round for ever
//
// Several table sets at once are a change in progress: each switch may have any of them at any
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

/// A pair without a way, or one at risk, and one way its frames may end.
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
  std::uint32_t most_hops = 0;  ///< links of the longest way; 0 when there are loops
  std::uint8_t vcs_used = 0;    ///< the highest that any frame must use, plus one
  std::vector<Channel> cycle;   ///< a shortest one; empty: there is none
  std::optional<LostPair> lost; ///< a stranded pair, or else one at risk

  [[nodiscard]] bool acyclic() const { return cycle.empty(); }
  /// Every pair gets through by every choice, and nothing can wait in a circle.
  [[nodiscard]] bool safe() const { return acyclic() && stranded == 0 && at_risk == 0; }
  /// For a person: "12 of 240 pairs have no route: leaf0.0 to leaf2.2, by leaf0.0 port 0 vc 0, ...,
  /// ends in leaf0.2 with no_vc".
  [[nodiscard]] std::string describe(const Network& network) const;
};

/// Endpoints are switches with hosts, distinct: sources and destinations. Requires tables of one
/// number of virtual channels, made for this network.
[[nodiscard]] Verification verify(const Network& network, std::span<const TableSet* const> sets,
                                  const PortStates& up, std::span<const std::uint32_t> endpoints);

/// "leaf0.1 port 3 vc 0"
[[nodiscard]] std::string describe(const Network& network, const Channel& channel);

} // namespace tributary::unicast
