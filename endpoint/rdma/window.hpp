// The sink's window: which frames from WBASE on have arrived.
//
//   PIDX    base   base+1 ... base+W          W + 1 frames, W bits: the first one is known not to
//   bit      -       1/0  ...  1/0            have arrived
//
// A ring: the bit of PIDX p is bit p mod W. The place of `base` itself is free for `base + W`. When
// `base` arrives, the window moves past it and all that follow it without a gap, at most W + 1
// frames in one step. The paper's rule moves it only by the ones that follow (LOC), so that it
// never moves when frames arrive in order; and as a shift of a 128-bit vector, LOC + 1 = 129 is
// undefined. A ring only counts and clears words.
//
// Owns nothing: works on words of the context table. Pure, no allocation.
#pragma once

#include <bit>
#include <cstdint>

namespace tributary::rdma {

enum class Arrival : std::uint8_t {
  placed,    ///< new, with a hole before it
  advanced,  ///< new, and the base has moved
  duplicate, ///< has arrived before
  above,     ///< beyond the end of the window
};

class Window {
public:
  struct Step {
    Arrival arrival;
    std::uint32_t advance; ///< how far the base has moved
  };

  /// `width / 64` words, all zero at first.
  Window(std::uint64_t* words, std::uint32_t width) : words_(words), mask_(width - 1) {}

  /// Takes a frame into a window that begins at `base`. `counts_itself` is off only in tests: the
  /// paper's rule.
  Step take(std::uint32_t base, std::uint32_t pidx, bool counts_itself = true) {
    if (pidx < base) {
      return {Arrival::duplicate, 0};
    }
    const std::uint32_t distance = pidx - base;
    if (distance == 0) {
      const std::uint32_t following = take_run(pidx + 1);
      return {Arrival::advanced, following + (counts_itself ? 1 : 0)};
    }
    if (distance > mask_ + 1) {
      return {Arrival::above, 0};
    }
    std::uint64_t& word = word_of(pidx);
    const std::uint64_t bit = std::uint64_t{1} << (pidx % 64);
    if ((word & bit) != 0) {
      return {Arrival::duplicate, 0};
    }
    word |= bit;
    return {Arrival::placed, 0};
  }

  [[nodiscard]] bool has(std::uint32_t base, std::uint32_t pidx) const {
    return pidx != base && (word_of(pidx) >> (pidx % 64) & 1U) != 0;
  }

  /// Writes which of base + [from, to) have not arrived: bit i of `out` is for base + i, those
  /// outside are 0. `to` is at most the width. Returns their number. `out` has (to + 63) / 64
  /// words.
  std::uint32_t missing(std::uint32_t base, std::uint32_t from, std::uint32_t to,
                        std::uint64_t* out) const {
    std::uint32_t count = 0;
    for (std::uint32_t at = 0; at < to; at += 64) {
      std::uint64_t came = bits_from(base + at);
      if (at == 0) {
        came &= ~std::uint64_t{1}; // the place of base + W
      }
      std::uint64_t wanted = ~std::uint64_t{0};
      if (from > at) {
        wanted = from - at >= 64 ? 0 : wanted << (from - at);
      }
      if (to - at < 64) {
        wanted &= (std::uint64_t{1} << (to - at)) - 1;
      }
      out[at / 64] = ~came & wanted;
      count += static_cast<std::uint32_t>(std::popcount(out[at / 64]));
    }
    return count;
  }

private:
  [[nodiscard]] std::uint64_t& word_of(std::uint32_t pidx) const {
    return words_[(pidx & mask_) / 64];
  }
  /// 64 places of the ring from this one on.
  [[nodiscard]] std::uint64_t bits_from(std::uint32_t pidx) const {
    const unsigned shift = pidx % 64;
    const std::uint64_t low = word_of(pidx) >> shift;
    return shift == 0 ? low : low | word_of(pidx + 64) << (64 - shift);
  }
  /// Clears the ones at `pidx` and directly after it, and counts them.
  std::uint32_t take_run(std::uint32_t pidx) {
    std::uint32_t count = 0;
    for (;;) {
      const unsigned shift = pidx % 64;
      std::uint64_t& word = word_of(pidx);
      const auto ones = static_cast<unsigned>(std::countr_one(word >> shift));
      // Zeros are shifted in from above, so a run ends within the word or with it.
      if (ones == 0) {
        return count;
      }
      const std::uint64_t run =
          ones == 64 ? ~std::uint64_t{0} : ((std::uint64_t{1} << ones) - 1) << shift;
      word &= ~run;
      count += ones;
      pidx += ones;
      if (shift + ones < 64) {
        return count;
      }
    }
  }

  std::uint64_t* words_;
  std::uint32_t mask_;
};

} // namespace tributary::rdma
