// Drawings of a multicast tree from the manager's answer: as text, for Graphviz, and as SVG.
//
// The picture hangs from the root's host:
//
//      h0                     text            dot, SVG
//      |                      h0  root          h0
//    leaf0                    └─ leaf0           |
//    /   \                       ├─ h1         leaf0
//   h1  spine                    └─ spine      /   \ ...
//
// Pure.
#pragma once

#include "tools/tributaryctl/entry.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::cli {

struct DrawnTree {
  struct Node {
    std::string name;
    bool is_switch = false;
    std::string port_above; ///< port of the node above, on the path here
    std::string port_here;  ///< port of a switch, on the way up
    std::uint64_t wait_count = 0;
    std::vector<std::size_t> children; ///< in the order of their ports
  };
  std::string title;
  /// The first one is the root's host; empty when the answer was not a tree.
  std::vector<Node> nodes;
  /// Switches of the tree that are not connected to the root: it is being changed, or broken.
  std::vector<std::string> apart;
};

/// From an element of /api/v1/trees.
[[nodiscard]] DrawnTree drawn_tree(const Entry& answer);

[[nodiscard]] std::string tree_text(const DrawnTree& tree);
[[nodiscard]] std::string tree_dot(const DrawnTree& tree);
[[nodiscard]] std::string tree_svg(const DrawnTree& tree);

} // namespace tributary::cli
