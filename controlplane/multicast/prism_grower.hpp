// A cheap tree of shortest paths to a given root switch, on any fabric.
//
// Members join from the farthest to the nearest. Each looks for the cheapest path in the graph of
// its shortest paths to the root switch (arcs that lead one step nearer), until it meets a switch
// that is in the tree already or a member that has still to join, whose path is then shared:
//
//      m1 ---- x ---- m2 ---- y ---- root switch          m1 stops at m2, which continues
//                \    /
//                 m3                                 m3 stops at x or at m2, whichever is cheaper
//
// That is Dijkstra's algorithm with a small bound: after `expansions` switches the path continues
// by the cheapest arc. The search ahead saves links on a torus, which has many shortest paths (21.9
// trees a link without, 18.2 with 64 expansions, 16.8 with 512).
//
// Every switch gets at most one arc towards the root switch and every arc leads one step nearer: no
// loop is possible, and every member has its least distance.
#pragma once

#include "controlplane/multicast/distances.hpp"
#include "controlplane/multicast/prism_costs.hpp"
#include "controlplane/multicast/routing_view.hpp"
#include "controlplane/multicast/tree.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tributary::multicast {

class PrismGrower {
public:
  explicit PrismGrower(const RoutingView& view);

  /// Switches a member examines before it takes the cheapest arcs.
  static constexpr std::uint32_t expansions = 64;

  /// The members of the next trees. The cheapest link of each member gives a lower bound: a tree
  /// that will be too expensive is abandoned early.
  void begin(std::span<const SwitchId> members, const LinkCosts& costs);
  /// Grows a tree over these members to the root switch. False when it would cost `limit` or more;
  /// then there is no result. Requires that the members reach the root switch, that `distances` is
  /// the root switch's row, and that no cost has changed since `begin`.
  [[nodiscard]] bool grow(SwitchId root_switch, const std::uint8_t* distances, float limit);
  /// Cost of the last tree.
  [[nodiscard]] float cost() const { return cost_; }
  [[nodiscard]] const Tree& tree() const { return tree_; }

private:
  enum class State : std::uint8_t { outside, joins_later, inside };
  struct Candidate {
    float cost;
    SwitchId at;
  };
  struct Visit {
    std::uint32_t search = 0;
    float cost = 0;
    SwitchId from;
    LinkId by;
  };

  void mark(SwitchId s, State state) {
    marks_[s.value] = growth_ << 2 | static_cast<std::uint64_t>(state);
  }
  [[nodiscard]] State state(SwitchId s) const {
    const std::uint64_t mark = marks_[s.value];
    return mark >> 2 == growth_ ? static_cast<State>(mark & 3) : State::outside;
  }
  void sort_by_distance(const std::uint8_t* distances);
  void join(SwitchId member, const std::uint8_t* distances);
  [[nodiscard]] Candidate go_straight(Candidate at, const std::uint8_t* distances);

  struct Member {
    SwitchId at;
    float least; ///< cost of its cheapest link
  };

  const RoutingView& view_;
  const LinkCosts* costs_ = nullptr;
  std::vector<Member> members_;
  float least_in_all_ = 0;
  std::vector<std::uint64_t> marks_; ///< by switch: growth number and state
  std::uint64_t growth_ = 0;
  std::vector<Visit> visits_; ///< by switch: of the current search
  std::uint32_t search_ = 0;
  std::vector<Candidate> open_; ///< a heap
  std::vector<Member> order_;   ///< the farthest first
  Tree tree_;
  float cost_ = 0;
};

} // namespace tributary::multicast
