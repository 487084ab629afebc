// A directed graph without cycles: edges are added one at a time, and refused where they would
// close one.
//
// Keeps a topological order of the nodes. An edge that agrees with the order costs nothing. For any
// other, a search runs forward from its head and back from its tail, only over nodes between the
// two in the order, and reorders those; if the forward search reaches the tail, the edge would
// close a cycle, and nothing changes.
//
// Source: Pearce and Kelly, A dynamic topological sort algorithm for directed acyclic graphs, 2006.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tributary::unicast {

class AcyclicGraph {
public:
  explicit AcyclicGraph(std::uint32_t nodes);

  /// False, with no effect, if the edge would close a cycle. Adding an existing edge is free.
  bool add(std::uint32_t from, std::uint32_t to);
  /// Requires that the edge exists.
  void remove(std::uint32_t from, std::uint32_t to);
  [[nodiscard]] bool has(std::uint32_t from, std::uint32_t to) const;

private:
  [[nodiscard]] bool search_forward(std::uint32_t from, std::uint32_t tail);
  void search_back(std::uint32_t from, std::uint32_t lowest);
  void reorder();

  std::vector<std::vector<std::uint32_t>> next_;     ///< by node
  std::vector<std::vector<std::uint32_t>> previous_; ///< by node
  std::vector<std::uint32_t> order_;                 ///< by node: its place
  std::vector<bool> seen_;                           ///< by node; false between calls
  std::vector<std::uint32_t> ahead_;
  std::vector<std::uint32_t> behind_;
  std::vector<std::uint32_t> places_;
};

} // namespace tributary::unicast
