// The contribution signature: rank and piece of a contribution, as a number that can be summed.
//
// A count does not distinguish a duplicate contribution from a missing one. So every member sends,
// in the 56-bit remote offset that reductions leave unused,
//
//   signature(rank, piece) = base(cookie, rank) + piece * step    mod 2^56
//
// Engines add signatures as they add counts; the root knows the sum over all members:
//
//   expected(piece) = sum of base over all ranks + size * piece * step
//
// Where members mark calls, the mark of the piece's call (call_mark.hpp) is added by each member,
// and so `size` times to the expected sum.
//
// With base a hash of rank and cookie, a sum that is right by accident has probability 2^-56.
// Duplicates, contributions to another piece, and foreign hosts all change it. And a sum that lacks
// exactly one contribution shows whose. (docs/decisions/contribution-checks.md)
#pragma once

#include "endpoint/collective/piece.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstdint>

namespace tributary::collective {

/// Any odd number does; this one is 2^56 over the golden ratio, so that nearby pieces lie far
/// apart.
inline constexpr std::uint64_t signature_step = 0x9E3779B97F4A7D;

/// A bijection of 64-bit numbers without any visible order (the finaliser of SplitMix64).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

/// Never zero: zero on the wire means "no signature".
constexpr std::uint64_t signature_base(Cookie cookie, std::uint32_t rank) {
  const std::uint64_t base = mix64(std::uint64_t{cookie.value} << 32 | rank) & wire::signature_mask;
  return base == 0 ? 1 : base;
}

constexpr std::uint64_t signature_of_piece(std::uint64_t base, PieceNumber piece) {
  return (base + piece * signature_step) & wire::signature_mask;
}

/// The expected sum of the signatures of a whole group.
class SignatureSum {
public:
  SignatureSum() = default;
  /// Takes time in proportion to the size of the group.
  SignatureSum(Cookie cookie, std::uint32_t size) : size_(size) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      base_ += signature_base(cookie, rank);
    }
  }
  [[nodiscard]] std::uint64_t expected(PieceNumber piece, std::uint64_t mark = 0) const {
    return (base_ + size_ * (piece * signature_step + mark)) & wire::signature_mask;
  }

  /// Whether a sum includes every member once. Members that send no mark are accepted: the sum
  /// lacks it once for each of them, of whom there may be `unmarked`. Takes time in proportion to
  /// them when the answer is no.
  [[nodiscard]] bool includes_all(std::uint64_t sum, PieceNumber piece, std::uint64_t mark,
                                  std::uint64_t unmarked) const {
    for (std::uint64_t i = 0;; ++i) {
      if (sum == expected(piece, mark)) {
        return true;
      }
      if (mark == 0 || i == unmarked) {
        return false;
      }
      sum = (sum + mark) & wire::signature_mask;
    }
  }

private:
  std::uint64_t base_ = 0;
  std::uint64_t size_ = 0;
};

} // namespace tributary::collective
