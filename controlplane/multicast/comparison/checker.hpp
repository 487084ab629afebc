// Whether trees are what they should be. Shares no code with what makes them: it looks at the graph
// only, searches by itself and counts again.
//
//   Checker checker(graph);
//   if (const auto wrong = checker.find_fault(members, tree, Height::least)) ...
//
// A tree is right when its links are usable and distinct, connect to one piece without a loop that
// holds its root switch and all members' switches, have a member at every end, and when its height
// is what it says. `Height::least`: and no switch of the fabric would give a smaller one.
#pragma once

#include "controlplane/multicast/tree.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::multicast::comparison {

enum class Height { any, least };

/// EFI counted again, from the trees.
struct CountedLoads {
  std::uint32_t max = 0;
  double mean = 0; ///< over usable links
};

class Checker {
public:
  /// The graph must stay and not change.
  explicit Checker(const Graph& graph) : graph_(&graph), rows_(graph.switches().size()) {}

  /// What is wrong with a tree over these switches.
  [[nodiscard]] std::optional<std::string> find_fault(std::span<const SwitchId> members,
                                                      const Tree& tree, Height height);
  /// Whether usable links connect these switches.
  [[nodiscard]] bool connected(std::span<const SwitchId> members);
  /// The smallest height of any tree over these switches. Requires that they are connected.
  [[nodiscard]] std::uint32_t least_height(std::span<const SwitchId> members);
  [[nodiscard]] CountedLoads count(std::span<const Tree> trees) const;

private:
  [[nodiscard]] std::span<const std::uint16_t> hops_from(SwitchId from);

  const Graph* graph_;
  std::vector<std::vector<std::uint16_t>> rows_; ///< made when asked for
};

} // namespace tributary::multicast::comparison
