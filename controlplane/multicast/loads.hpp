// Loads of the trees in force: for each link the number of trees that cross it (its EFI), for each
// switch the number of trees with their root switch there and of those through it.
// `add` and `remove` touch the links of that one tree. The sums balance: when all trees are
// removed, everything is 0; `remove` of a tree that was not added is a caller's error, and
// asserted.
#pragma once

#include "controlplane/multicast/routing_view.hpp"
#include "controlplane/multicast/tree.hpp"

#include <cstdint>
#include <vector>

namespace tributary::multicast {

class Loads {
public:
  explicit Loads(const RoutingView& view);

  /// Switches to this view of the same graph, which may have grown: loads stay.
  void rebind(const RoutingView& view);

  void add(const Tree& tree);
  void remove(const Tree& tree);
  /// Removes all trees. Throws nothing.
  void clear();

  /// The link's EFI.
  [[nodiscard]] std::uint32_t operator[](LinkId c) const { return links_[c.value]; }
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }
  /// Trees with their root switch here.
  [[nodiscard]] std::uint32_t rooted(SwitchId s) const { return rooted_[s.value]; }
  /// Trees with a link here, or with their root switch here.
  [[nodiscard]] std::uint32_t through(SwitchId s) const { return through_[s.value]; }

  /// The largest EFI of any link.
  [[nodiscard]] std::uint32_t max() const { return max_; }
  /// Links with this EFI.
  [[nodiscard]] std::uint32_t count_at(std::uint32_t efi) const {
    return efi < count_at_.size() ? count_at_[efi] : 0;
  }
  /// The sum of all EFI: links of all trees.
  [[nodiscard]] std::uint64_t total() const { return total_; }

  /// Changes of EFI are numbered from 0 on, and the last ones can be looked up: so derived data,
  /// such as costs, can be updated incrementally.
  static constexpr std::size_t remembered_changes = 4096;
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  /// The link of one of the last `remembered_changes` changes.
  [[nodiscard]] LinkId changed(std::uint64_t change) const {
    return changed_[change % remembered_changes];
  }

private:
  template <typename Visit> void for_each_switch(const Tree& tree, Visit visit);
  void move(LinkId c, std::uint32_t to);

  const RoutingView* view_;
  std::vector<std::uint32_t> links_;
  std::vector<std::uint32_t> rooted_;
  std::vector<std::uint32_t> through_;
  std::vector<std::uint32_t> count_at_; ///< by EFI
  std::vector<std::uint32_t> seen_;     ///< by switch: the last tree it was visited for
  std::vector<LinkId> changed_;         ///< a ring
  std::uint64_t changes_ = 0;
  std::uint32_t visits_ = 0;
  std::uint32_t max_ = 0;
  std::uint64_t total_ = 0;
};

} // namespace tributary::multicast
