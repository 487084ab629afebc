// Finished pieces in the order in which they finished, until their owner takes them. At most one
// of each reduction id can wait here: an id is only free for its next piece once the last one's
// completion was taken.
#pragma once

#include "endpoint/collective/piece.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace tributary::collective {

class CompletionQueue {
public:
  /// Requires that no completion of the same reduction id waits.
  void push(const Completion& completion) {
    waiting_[reduction_of(completion.piece).value] = true;
    completions_[(first_ + size_++) % completions_.size()] = completion;
  }
  std::optional<Completion> take() {
    if (size_ == 0) {
      return std::nullopt;
    }
    const Completion& oldest = completions_[first_];
    first_ = (first_ + 1) % completions_.size();
    --size_;
    waiting_[reduction_of(oldest.piece).value] = false;
    return oldest;
  }
  [[nodiscard]] bool holds(ReductionId id) const { return waiting_[id.value]; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

private:
  std::array<Completion, reductions_per_tree> completions_{};
  std::array<bool, reductions_per_tree> waiting_{};
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

} // namespace tributary::collective
