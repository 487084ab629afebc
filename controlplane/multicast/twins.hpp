// A second tree for groups that reduce on two at the same time.
//
// Any one failed link or switch must leave one of the two intact. So they should share no link and
// no switch, except members' own switches: a host has only one link.
//
//   1. The elements of the first tree are removed, and a tree of least height is grown in the rest,
//      as in PRISM-MC (prism_grower.hpp).
//   2. If the rest does not connect the members, the second tree is joined from cheapest paths,
//      member by member (twins_steiner.hpp), with elements of the first tree more expensive than
//      any detour.
//   3. If they still share something, the first tree may be in the way: it is computed again with
//      the second fixed, and so on alternately, as long as that helps.
// Steps 2 and 3 are heuristics: the least overlap of two trees is a hard problem. Where the fabric
// has two spines or more and all leaves see them, step 1 always succeeds.
#pragma once

#include "controlplane/multicast/loads.hpp"
#include "controlplane/multicast/prism_costs.hpp"
#include "controlplane/multicast/prism_grower.hpp"
#include "controlplane/multicast/routing_view.hpp"
#include "controlplane/multicast/tree.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tributary::multicast {

/// Elements that two trees share, both ascending.
struct Overlap {
  std::vector<LinkId> links;
  std::vector<SwitchId> switches; ///< without the members' own
  [[nodiscard]] std::size_t size() const { return links.size() + switches.size(); }
};

/// `members` as for `Algorithm::route`.
[[nodiscard]] Overlap overlap(const RoutingView& view, const Tree& a, const Tree& b,
                              std::span<const SwitchId> members);

class TwinSearch {
public:
  explicit TwinSearch(const RoutingView& view);

  /// A tree disjoint from `first` as far as possible; changes `first`, too, if that reduces
  /// sharing. Requires that the first tree spans the members and is usable. Neither needs to be in
  /// the loads.
  [[nodiscard]] Tree find(Tree& first, std::span<const SwitchId> members, const Loads& loads);

  /// The same without changing the other tree.
  [[nodiscard]] Tree beside(const Tree& other, std::span<const SwitchId> members,
                            const Loads& loads);

private:
  void take_out(const Tree& tree, std::span<const SwitchId> members);
  void put_back(const Loads& loads);
  [[nodiscard]] std::optional<Tree> grow_in_the_rest(std::span<const SwitchId> members);
  void search_distances(SwitchId from);
  [[nodiscard]] Tree join_by_least_cost_paths(std::span<const SwitchId> members,
                                              const Loads& loads);

  const RoutingView& view_;
  LinkCosts book_;
  PrismGrower grower_;
  std::vector<std::uint8_t> link_out_;   ///< by link
  std::vector<std::uint8_t> switch_out_; ///< by switch
  std::vector<LinkId> links_out_;
  std::vector<SwitchId> switches_out_;
  std::vector<std::uint8_t> distances_;      ///< by switch, from the last one searched from
  std::vector<std::uint8_t> eccentricities_; ///< by switch
  std::vector<SwitchId> queue_;
};

} // namespace tributary::multicast
