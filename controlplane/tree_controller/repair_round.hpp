// Visits every group once after each change of the topology, one at a time and in the order of
// their numbers, without a list of them: there may be thousands, and changes come in bursts. A
// change during a round extends it until all groups were visited since. Pure.
#pragma once

#include "controlplane/records/records.hpp"

#include <utility>

namespace tributary::tree_controller {

class RepairRound {
public:
  /// Starts a round over all groups, including those that were already visited in this round.
  void begin() {
    until_ = next_;
    wrapped_ = false;
    active_ = true;
  }

  /// Whether groups are left. True until `next` has found none.
  [[nodiscard]] bool active() const { return active_; }

  /// The next group; nullptr when all were visited. `Groups`: a group::Registry.
  template <typename Groups>
  [[nodiscard]] auto next(const Groups& groups) -> decltype(groups.first_from(records::GroupId{})) {
    while (active_) {
      const auto found = groups.first_from(next_);
      if (found != nullptr && !(wrapped_ && found->id >= until_)) {
        next_ = records::GroupId{found->id.value + 1};
        return found;
      }
      active_ = !std::exchange(wrapped_, true);
      next_ = records::GroupId{};
    }
    return nullptr;
  }

private:
  records::GroupId next_{};
  records::GroupId until_{}; ///< where the round ends after wrapping
  bool wrapped_ = false;
  bool active_ = false;
};

} // namespace tributary::tree_controller
