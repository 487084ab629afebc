// The manager's planner: one algorithm, the load of every link, and the current graph.
//
//   Planner planner(graph, settings);
//   auto tree = planner.plan(members);            adds the tree's load
//   planner.release(*tree);                       removes it
//   graph.set_up(link, false);
//   planner.topology_changed();                   then planner.intact(tree) finds broken trees
//   auto other = planner.replan(*tree, members);  releases, plans again
//
// Groups are planned one at a time and never moved by others; only `improve` moves some, within its
// limits. The same calls with the same seed give the same trees. The planner keeps a reference to
// the graph. Pure: no clock, no I/O, no threads.
#pragma once

#include "controlplane/multicast/tree.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tributary::multicast {

class Algorithm;
class Distances;

struct PlannerSettings {
  std::uint64_t seed = 1;
  /// Makes another algorithm, for tests and comparisons; empty: PRISM.
  std::function<std::unique_ptr<Algorithm>(Distances&)> make = {};
};

/// Two trees for one group.
struct Twins {
  Tree first;
  Tree second;
  /// Links and switches that both use. Members' own switches are not counted: a host has one link.
  std::vector<LinkId> shared_links;
  std::vector<SwitchId> shared_switches;
  [[nodiscard]] bool disjoint() const { return shared_links.empty() && shared_switches.empty(); }
};

/// Load of the fabric: EFI is the number of trees that cross a link.
struct EfiSummary {
  std::uint32_t max = 0;
  double mean = 0;             ///< over usable links
  std::vector<LinkId> fullest; ///< those at `max`
};

/// A group whose tree may be moved.
struct PlannedGroup {
  std::vector<HostId> members;
  Tree tree;
};

class Planner {
public:
  Planner(const Graph& graph, const PlannerSettings& settings);
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// A tree over these hosts' switches; nothing when they are not connected. `members` may hold any
  /// number of hosts, in any order, several on a switch.
  [[nodiscard]] std::optional<Tree> plan(std::span<const HostId> members);
  /// Two trees that share as little as possible. Adds the load of both.
  [[nodiscard]] std::optional<Twins> plan_twins(std::span<const HostId> members);
  /// Adds the load of a tree that was planned earlier, perhaps by another process.
  void adopt(const Tree& tree);
  void release(const Tree& tree);
  /// Releases all trees. Throws nothing.
  void drop_loads();
  /// Adds the load of a tree again that it had before `drop_loads`.
  void carry(const Tree& tree);
  /// Releases the tree and plans it again; without a path nothing is released.
  [[nodiscard]] std::optional<Tree> replan(const Tree& tree, std::span<const HostId> members);

  /// The same for one of twins, whose sibling stays unchanged: the new one shares as little with it
  /// as possible. Nothing when the members are not connected, or the sibling is broken.
  [[nodiscard]] std::optional<Tree> replan_beside(const Tree& tree, const Tree& sibling,
                                                  std::span<const HostId> members);
  /// Number of elements that two trees of these members share.
  [[nodiscard]] std::size_t shared(const Tree& a, const Tree& b, std::span<const HostId> members);

  /// Moves trees off the fullest links, as long as that helps, with at most `attempts` tries and
  /// `moves` moves: a moved tree must be installed again. Returns the number of moves.
  std::size_t improve(std::span<PlannedGroup> groups, std::uint64_t attempts,
                      std::uint64_t moves = ~std::uint64_t{0});

  /// Call it when switches or links were added, went down or came up.
  void topology_changed();
  /// Whether it has read the graph since; every request for trees does so first.
  [[nodiscard]] bool is_current() const;
  void make_current();
  /// Whether every link and switch of the tree is usable.
  [[nodiscard]] bool intact(const Tree& tree) const;
  /// The parts of the fabric that these hosts are in: one list when they are connected.
  [[nodiscard]] std::vector<std::vector<HostId>> parts(std::span<const HostId> members) const;

  /// Number of trees that cross this link; 0 for a link added since the last plan.
  [[nodiscard]] std::uint32_t efi(LinkId link) const;
  [[nodiscard]] EfiSummary efi() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tributary::multicast
