// A spanning tree over the links that are up, as an escape route that is always available
// (general.hpp).
//
// Found by breadth-first search from a central switch: of 64 candidates, the one with the smallest
// distance to its farthest endpoint.
#pragma once

#include "controlplane/unicast/network.hpp"
#include "tributary/optional_number.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tributary::unicast {

class EscapeTree {
public:
  /// Throws RouteError when endpoints are in several parts, or a root is in none of them.
  EscapeTree(const Network& network, const PortStates& up, std::span<const std::uint32_t> endpoints,
             std::optional<std::uint32_t> root = std::nullopt);

  [[nodiscard]] std::uint32_t root() const { return order_.front(); }
  [[nodiscard]] bool contains(std::uint32_t s) const { return static_cast<bool>(first_[s]); }
  /// Whether either direction of the link belongs to the tree.
  [[nodiscard]] bool is_along(std::uint32_t link) const {
    const Network::End there = *network_.peer(link);
    return parent_[network_.end(link).at] == link || parent_[there.at] == network_.link(there);
  }

  /// The link from a switch along the tree's path to another one. Requires both in the tree, and
  /// distinct; otherwise throws std::logic_error.
  [[nodiscard]] std::uint32_t next(std::uint32_t from, std::uint32_t to) const;

  /// Calls `f(link, link)` for each step of the paths between endpoints: a link into a switch, and
  /// the next link.
  template <typename F> void for_each_step(F&& f) const {
    for (const std::uint32_t s : order_) {
      for (const std::uint32_t in : around_[s]) {
        for (const std::uint32_t out : around_[s]) {
          if (in != out && behind(in) != 0 && behind(out) != 0) {
            f(network_.link(*network_.peer(in)), out);
          }
        }
      }
    }
  }

private:
  void grow(const PortStates& up, std::uint32_t root);
  [[nodiscard]] std::uint32_t middle(const PortStates& up,
                                     std::span<const std::uint32_t> endpoints);
  void require_connected(std::span<const std::uint32_t> endpoints) const;
  /// Number of endpoints beyond a link of the tree.
  [[nodiscard]] std::uint32_t behind(std::uint32_t link) const;

  const Network& network_;
  std::vector<std::uint32_t> order_;     ///< switches by depth
  std::vector<OptionalNumber<>> parent_; ///< by switch: the link towards the root; none for the
                                         ///< root
  std::vector<OptionalNumber<>> depth_;  ///< by switch; none: not in the tree
  std::vector<OptionalNumber<>> first_;  ///< by switch: its preorder number
  std::vector<std::uint32_t> last_;      ///< by switch: the highest number below it
  std::vector<std::uint32_t> below_;     ///< by switch: endpoints in its subtree
  std::vector<std::vector<std::uint32_t>> around_; ///< by switch: links of the tree that leave it
};

} // namespace tributary::unicast
