// A set of small numbers that is walked in order: a round of the engine visits the protocols that
// do not rest, and costs little for those that do.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::engine {

class SlotSet {
public:
  /// Allocates for a number that is higher than all before.
  void insert(std::size_t slot) {
    if (slot / bits >= words_.size()) {
      words_.resize(slot / bits + 1);
    }
    words_[slot / bits] |= std::uint64_t{1} << slot % bits;
  }
  void erase(std::size_t slot) {
    if (slot / bits < words_.size()) {
      words_[slot / bits] &= ~(std::uint64_t{1} << slot % bits);
    }
  }
  /// The lowest one that is not below `slot`; `none` without any. Others may be inserted and erased
  /// between two calls.
  [[nodiscard]] std::size_t next(std::size_t slot) const {
    std::size_t at = slot / bits;
    if (at >= words_.size()) {
      return none;
    }
    std::uint64_t word = words_[at] & ~std::uint64_t{0} << slot % bits;
    while (word == 0) {
      if (++at == words_.size()) {
        return none;
      }
      word = words_[at];
    }
    return at * bits + static_cast<std::size_t>(std::countr_zero(word));
  }
  static constexpr std::size_t none = ~std::size_t{0};

private:
  static constexpr std::size_t bits = 64;

  std::vector<std::uint64_t> words_;
};

} // namespace tributary::engine
