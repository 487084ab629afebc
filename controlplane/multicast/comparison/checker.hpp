// Checks trees independently. Shares no code with the algorithms: it uses only the graph, with its
// own search and counts.
//
//   Checker checker(graph);
//   if (const auto wrong = checker.find_fault(members, tree, Height::least)) ...
//
// A tree is valid when its links are usable and distinct, form one connected piece without a loop
// that holds its root switch and all members' switches, have a member at every end, and when its
// stated height is right. `Height::least`: and no switch of the fabric would give a smaller one.
#pragma once

#include "controlplane/multicast/tree.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::multicast::comparison {

enum class Height { any, least };

/// EFI, counted independently from the trees.
struct CountedLoads {
  std::uint32_t max = 0;
  double mean = 0; ///< over usable links
};

class Checker {
public:
  /// The graph must outlive it, unchanged.
  explicit Checker(const Graph& graph) : graph_(&graph), rows_(graph.switches().size()) {}

  /// The fault of a tree over these switches; nothing if it is valid.
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
  std::vector<std::vector<std::uint16_t>> rows_; ///< made on request
};

} // namespace tributary::multicast::comparison
