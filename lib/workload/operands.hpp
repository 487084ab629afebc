// The operands of the stress worker: a deterministic value for each (seed, iteration, element,
// rank). See workload.hpp.
#pragma once

#include "lib/workload/workload.hpp"

#include <cstdint>

namespace tributary::workload {

/// The position of an element of an operand, and its random bits.
class Place {
public:
  Place(std::uint64_t seed, std::uint64_t iteration, std::size_t element, std::uint32_t size)
      : state_(mix(mix(seed, iteration), element)), size_(size) {}

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// The same for all ranks.
  [[nodiscard]] std::uint64_t common_bits(std::uint64_t salt) const {
    return mix(state_, salt ^ 0x5A5A);
  }
  [[nodiscard]] std::uint64_t bits(std::uint32_t rank) const { return mix(state_, rank + 1ULL); }

private:
  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    // SplitMix64's finaliser: each output bit depends on each input bit.
    std::uint64_t x = a * 0x9E3779B97F4A7C15 + b + 0x632BE59BD9B4E019;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
  }
  std::uint64_t state_;
  std::uint32_t size_;
};

/// Signed whole numbers of 40 bits: sums of a million of them do not wrap.
[[nodiscard]] std::int64_t int_operand(const Place& place, std::uint32_t rank);
/// Few values, so that ties occur.
[[nodiscard]] std::int64_t tie_operand(const Place& place, std::uint32_t rank);
[[nodiscard]] std::uint64_t index_operand(const Place& place, std::uint32_t rank);
/// Few values, among them both zeros, infinities and NaNs of both kinds.
[[nodiscard]] double special_operand(const Place& place, std::uint32_t rank);
/// For a sum: either whole numbers at every rank; or one number at each of two ranks, whose sum is
/// rounded once, and the neutral zero at all others.
[[nodiscard]] double sum_operand(const Place& place, std::uint32_t rank, bool downward);
/// The two ranks of such a sum, or the same rank twice when all have whole numbers.
struct TwoRanks {
  std::uint32_t first;
  std::uint32_t second;
};
[[nodiscard]] TwoRanks rounded_ranks(const Place& place);
/// The same without signalling NaNs.
[[nodiscard]] double unsignalled_operand(const Place& place, std::uint32_t rank);
/// For a sum of a type with few digits: whole numbers whose sums over sixteen members are exact in
/// that type, in any order.
[[nodiscard]] float small_operand(const Place& place, std::uint32_t rank);
/// The bits of a number that the type represents exactly.
[[nodiscard]] std::uint16_t binary16_of(float value);
[[nodiscard]] std::uint16_t bfloat16_of(float value);
/// For a reproducible sum: multiples of 2^-30; or, at two ranks, 2^60 and -2^60, with which a plain
/// sum would lose all the others.
[[nodiscard]] double repsum_operand(const Place& place, std::uint32_t rank);
/// The remainder after the two have cancelled, in units of 2^-30.
[[nodiscard]] std::int64_t repsum_units(const Place& place, std::uint32_t rank);

} // namespace tributary::workload
