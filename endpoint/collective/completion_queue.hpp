// Finished pieces in the order in which they finished, until their owner takes them. At most one
// of each reduction id can wait here: an id is only free for its next piece once the last one's
// completion was taken.
#pragma once

#include "endpoint/collective/per_reduction.hpp"
#include "endpoint/collective/piece.hpp"

#include <cstddef>
#include <optional>

namespace tributary::collective {

class CompletionQueue {
public:
  /// `reductions`: how many the group has in flight.
  explicit CompletionQueue(std::size_t reductions)
      : completions_(reductions), waiting_(reductions) {}

  /// Requires that no completion of the same reduction id waits.
  void push(const Completion& completion) {
    waiting_[id_of(completion)] = true;
    completions_[(first_ + size_++) % completions_.size()] = completion;
  }
  std::optional<Completion> take() {
    if (size_ == 0) {
      return std::nullopt;
    }
    const Completion& oldest = completions_[first_];
    first_ = (first_ + 1) % completions_.size();
    --size_;
    waiting_[id_of(oldest)] = false;
    return oldest;
  }
  [[nodiscard]] bool holds(ReductionId id) const { return waiting_[id.value]; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

private:
  [[nodiscard]] std::size_t id_of(const Completion& completion) const {
    return completion.piece % completions_.size();
  }

  PerReduction<Completion> completions_;
  PerReduction<bool> waiting_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

} // namespace tributary::collective
