// A second tree beside a first one, for groups that reduce on two at once.
//
// Cutting any one link or switch must leave one of the two whole. So they should share no link
// and no switch, members' own switches excepted: a host has only one link.
//
//   1. What the first tree uses is taken out, and a tree of least height is grown in what is left,
//      as PRISM-MC does (prism_grower.hpp).
//   2. Where what is left does not connect the members, the second tree is joined from cheapest
//      paths, member by member (twins_steiner.hpp), what the first tree uses being dearer than any
//      detour.
//   3. If they share something still, the first tree may be what is in the way: it is made anew
//      beside the second, and so on by turns, as long as that helps.
//
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

/// What two trees have in common, both ascending.
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

  /// A tree beside `first`, which is changed, too, if that lets them share less. Requires that the
  /// first tree spans the members and is usable. None of the two needs be booked.
  [[nodiscard]] Tree find(Tree& first, std::span<const SwitchId> members, const Loads& loads);

  /// The same with the other tree left as it is.
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
