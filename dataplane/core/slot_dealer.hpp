// Assigns places in slot memory to the trees of a snapshot.
//
//     SlotDealer dealer(bytes of a core's area);
//     std::string problem = dealer.add(tree, demand);       "" or why there is no room, in numbers
//     dealer.keep(tree, the place that it had before);      if its demand is unchanged
//     dealer.remove(tree);
//     dealer.deal();                                        every tree has a place now
//     dealer.place(tree)
//
//   1. A tree is accepted as long as the sum of all demands fits. A demand is a whole number of
//      lines, and places are contiguous, so a demand that fits by its sum also fits in a row.
//   2. A tree that had a place before and has the same demand keeps it, with the data it
//      holds. New ones get the first gap that is large enough.
//   3. Where the gaps are too small for a new tree, all are placed again, in a row. Those that
//      move are trees that changed: the data they hold is emitted when the snapshot is adopted.
//
// Pure; for the control side. Assigning is quadratic in the number of trees with places; 64 MiB
// hold a few hundred.
#pragma once

#include "dataplane/core/slot_place.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tributary::core {

class SlotDealer {
public:
  explicit SlotDealer(std::uint64_t bytes) : bytes_(bytes / slot_line_bytes * slot_line_bytes) {}

  /// Returns what keeps the tree from having a place: an invalid demand, or no room, with the space
  /// needed, the space free, and the largest user; nothing has changed then. A tree without a
  /// demand is never refused. Requires that the tree has none yet.
  [[nodiscard]] std::string add(TreeNumber tree, const SlotDemand& demand);
  /// Gives the tree this place if possible. Ignored if its demand differs.
  void keep(TreeNumber tree, const SlotPlace& place);
  /// No tree keeps its place, unless `keep` is called again.
  void forget_places();
  void remove(TreeNumber tree);

  void deal();
  /// After `deal`; a place without slots for a tree without a demand.
  [[nodiscard]] SlotPlace place(TreeNumber tree) const;
  /// Number of trees with a place.
  [[nodiscard]] std::size_t size() const { return wanted_.size(); }
  [[nodiscard]] std::uint64_t free_bytes() const { return bytes_ - used_bytes_; }

private:
  struct Wanted {
    SlotDemand demand;
    std::optional<std::uint64_t> line; ///< of its current or previous place
  };

  [[nodiscard]] std::string no_room(TreeNumber tree, const SlotDemand& demand) const;
  [[nodiscard]] bool deal_into_gaps();
  void deal_in_a_row();

  std::uint64_t bytes_;
  std::uint64_t used_bytes_ = 0;
  std::map<TreeNumber, Wanted> wanted_;
};

} // namespace tributary::core
