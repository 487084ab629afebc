// Finished pieces in the order in which they finished, until their owner takes them. At most one
// per reduction id waits here: an id is free for its next piece only once the last one's completion
// was taken.
#pragma once

#include "endpoint/collective/per_reduction.hpp"
#include "endpoint/collective/piece.hpp"

#include <cstddef>
#include <optional>

namespace tributary::collective {

class CompletionQueue {
public:
  /// `reductions`: reductions in flight, a power of two.
  explicit CompletionQueue(std::size_t reductions)
      : reductions_(reductions), completions_(reductions), waiting_(reductions) {}

  /// Requires that no completion of the same reduction id waits.
  void push(const Completion& completion) {
    waiting_[place_of(completion)] = true;
    completions_[(first_ + size_++) & mask()] = completion;
  }
  std::optional<Completion> take() {
    if (size_ == 0) {
      return std::nullopt;
    }
    const Completion taken = oldest();
    pop();
    return taken;
  }
  /// The one that `take` would return. Requires that one waits.
  [[nodiscard]] const Completion& oldest() const { return completions_[first_]; }
  void pop() {
    waiting_[place_of(oldest())] = false;
    first_ = (first_ + 1) & mask();
    --size_;
  }
  /// Whether the completion of the id at this place of the range waits.
  [[nodiscard]] bool holds(std::size_t place) const { return waiting_[place]; }
  /// Fewer reductions from now on. Requires that no completion waits.
  void resize(std::size_t reductions) {
    reductions_ = reductions;
    first_ = 0;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }

private:
  [[nodiscard]] std::size_t place_of(const Completion& completion) const {
    return completion.piece & mask();
  }
  [[nodiscard]] std::size_t mask() const { return reductions_ - 1; }

  std::size_t reductions_;
  PerReduction<Completion> completions_;
  PerReduction<bool> waiting_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

} // namespace tributary::collective
