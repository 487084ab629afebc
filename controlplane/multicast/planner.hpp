// Where the manager gets its trees: one algorithm, the load of every link, and the graph as it is
// now.
//
//   Planner planner(graph, settings);
//   auto tree = planner.plan(members);            takes the tree's load
//   planner.release(*tree);                       gives it back
//   graph.set_up(link, false);
//   planner.topology_changed();                   what broke: planner.intact(tree) says
//   auto other = planner.replan(*tree, members);  releases, plans anew
//
// Groups are planned one at a time and never moved by others; only `improve` moves some, as much as
// it is told to. The same calls with the same seed give the same trees. The planner keeps a
// reference to the graph. Pure: no clock, no I/O, no threads.
#pragma once

#include "controlplane/multicast/tree.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::multicast {

class Algorithm;
class Distances;

struct PlannerSettings {
  /// A name of `algorithm_names()`.
  std::string algorithm = "prism";
  std::uint64_t seed = 1;
  /// Makes another algorithm instead, one of a test say; empty: that of this name.
  std::function<std::unique_ptr<Algorithm>(Distances&)> make = {};
};

/// The names `PlannerSettings::algorithm` and the command line know.
[[nodiscard]] std::span<const std::string_view> algorithm_names();

/// Two trees for one group.
struct Twins {
  Tree first;
  Tree second;
  /// Links and switches that both use. Members' own switches are not counted: a host has one
  /// link.
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
  /// Throws std::invalid_argument for an unknown algorithm.
  Planner(const Graph& graph, const PlannerSettings& settings);
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// A tree over these hosts' switches; nothing when they are not connected. `members` may hold any
  /// number of hosts, in any order, several on a switch.
  [[nodiscard]] std::optional<Tree> plan(std::span<const HostId> members);
  /// Two trees that share as little as possible. Both take load.
  [[nodiscard]] std::optional<Twins> plan_twins(std::span<const HostId> members);
  /// Takes the load of a tree that was planned earlier, by another process perhaps.
  void adopt(const Tree& tree);
  void release(const Tree& tree);
  /// Releases all trees. Throws nothing.
  void drop_loads();
  /// Takes the load of a tree that it had before `drop_loads`.
  void carry(const Tree& tree);
  /// Releases and plans anew; when there is no path now, nothing is released.
  [[nodiscard]] std::optional<Tree> replan(const Tree& tree, std::span<const HostId> members);

  /// The same for one of twins, whose sibling stays as it is: the new one shares as little with it
  /// as may be. Nothing when the members are not connected, or the sibling is not whole.
  [[nodiscard]] std::optional<Tree> replan_beside(const Tree& tree, const Tree& sibling,
                                                  std::span<const HostId> members);
  /// What two trees of these members share.
  [[nodiscard]] std::size_t shared(const Tree& a, const Tree& b, std::span<const HostId> members);

  /// Moves trees off the fullest links, as long as that helps, tries at most so often, and moves
  /// at most so many: a tree that moved must be installed anew. Returns how many did.
  std::size_t improve(std::span<PlannedGroup> groups, std::uint64_t attempts,
                      std::uint64_t moves = ~std::uint64_t{0});

  /// To be called when switches or links were added, went down or came up.
  void topology_changed();
  /// Whether it has looked at the graph since; whatever asks for trees makes it do so.
  [[nodiscard]] bool is_current() const;
  void make_current();
  /// Whether every link and switch of the tree is usable.
  [[nodiscard]] bool intact(const Tree& tree) const;
  /// Which parts of the fabric these hosts are in: one list when they are connected.
  [[nodiscard]] std::vector<std::vector<HostId>> parts(std::span<const HostId> members) const;

  /// Trees that cross this link; 0 for one that was added since the last plan.
  [[nodiscard]] std::uint32_t efi(LinkId link) const;
  [[nodiscard]] EfiSummary efi() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tributary::multicast
