// Deals out places in slot memory to the trees of a snapshot.
//
//     SlotDealer dealer(bytes of a core's area);
//     std::string problem = dealer.add(tree, demand);       "" or why there is no room, in numbers
//     dealer.keep(tree, the place that it had before);      where it asks for the same again
//     dealer.remove(tree);
//     dealer.deal();                                        every tree has a place now
//     dealer.place(tree)
//
//   1. A tree is taken on as long as the sum of all demands fits. A demand is a whole number of
//      lines, and nothing else is between places, so what fits by its sum also fits in a row.
//   2. A tree that had a place before and asks for the same keeps it: it loses nothing of what it
//      holds. New ones get the first gap that is large enough.
//   3. Where the gaps are too small for a new tree, all are laid out anew, in a row. Those that
//      move are trees that changed: what they hold is emitted when the snapshot is adopted.
//
// Pure; for the control side. Dealing takes the square of the number of trees with places, of which
// 64 MiB hold a few hundred.
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

  /// Says what keeps the tree from having a place: a demand that cannot be, or no room, with what
  /// is needed, what is free, and who has most. Nothing has changed then. A tree that asks for none
  /// is never refused. Requires that the tree has none yet.
  [[nodiscard]] std::string add(TreeNumber tree, const SlotDemand& demand);
  /// The tree shall have this place if it can. Nothing happens where its demand is another one.
  void keep(TreeNumber tree, const SlotPlace& place);
  /// No tree keeps a place, unless `keep` says so again.
  void forget_places();
  void remove(TreeNumber tree);

  void deal();
  /// After `deal`; one without slots for a tree that asked for none.
  [[nodiscard]] SlotPlace place(TreeNumber tree) const;
  /// How many trees have a place.
  [[nodiscard]] std::size_t size() const { return wanted_.size(); }
  [[nodiscard]] std::uint64_t free_bytes() const { return bytes_ - used_bytes_; }

private:
  struct Wanted {
    SlotDemand demand;
    std::optional<std::uint64_t> line; ///< of the place it has, or had before
  };

  [[nodiscard]] std::string no_room(TreeNumber tree, const SlotDemand& demand) const;
  [[nodiscard]] bool deal_into_gaps();
  void deal_in_a_row();

  std::uint64_t bytes_;
  std::uint64_t used_bytes_ = 0;
  std::map<TreeNumber, Wanted> wanted_;
};

} // namespace tributary::core
