#include "lib/workload/operands.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace tributary::workload {

std::int64_t int_operand(const Place& place, std::uint32_t rank) {
  return static_cast<std::int64_t>(place.bits(rank)) >> 24;
}

std::int64_t tie_operand(const Place& place, std::uint32_t rank) {
  return static_cast<std::int64_t>(place.bits(rank) % 7) - 3;
}

std::uint64_t index_operand(const Place& place, std::uint32_t rank) {
  // Distinct, in an order other than that of the ranks, and huge as signed numbers now and then.
  return place.common_bits(1) ^ rank;
}

double special_operand(const Place& place, std::uint32_t rank) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double quiet = std::bit_cast<double>(std::uint64_t{0xFFF8000000000123});
  const double signalling = std::bit_cast<double>(std::uint64_t{0x7FF0000000000001});
  const std::array<double, 8> values = {0.0, -0.0, 1.5, -1.5, inf, -inf, quiet, signalling};
  // Most elements have no NaN, else the NaN-propagating operators would see nothing else.
  const std::uint64_t choices = place.common_bits(2) % 4 == 0 ? values.size() : 6;
  return values[place.bits(rank) % choices];
}

double unsignalled_operand(const Place& place, std::uint32_t rank) {
  const double value = special_operand(place, rank);
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

float small_operand(const Place& place, std::uint32_t rank) {
  return static_cast<float>(static_cast<int>(place.bits(rank) % 17) - 8);
}

std::uint16_t binary16_of(float value) {
  if (value == 0) {
    return std::signbit(value) ? 0x8000 : 0;
  }
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent); // 0.5 up to 1
  const auto digits = static_cast<unsigned>(std::ldexp(fraction, 11)) & 0x3FFU;
  return static_cast<std::uint16_t>((std::signbit(value) ? 0x8000U : 0U) |
                                    static_cast<unsigned>(exponent - 1 + 15) << 10 | digits);
}

std::uint16_t bfloat16_of(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

TwoRanks rounded_ranks(const Place& place) {
  if (place.size() < 2 || place.common_bits(3) % 2 == 0) {
    return {0, 0};
  }
  const auto first = static_cast<std::uint32_t>(place.common_bits(4) % place.size());
  const auto step = static_cast<std::uint32_t>(1 + place.common_bits(5) % (place.size() - 1));
  return {first, (first + step) % place.size()};
}

double sum_operand(const Place& place, std::uint32_t rank, bool downward) {
  const auto [first, second] = rounded_ranks(place);
  if (first == second) {
    return static_cast<double>(static_cast<std::int64_t>(place.bits(rank)) >> 40);
  }
  if (rank != first && rank != second) {
    return downward ? 0.0 : -0.0;
  }
  const std::uint64_t fraction = place.bits(rank) >> 12;
  const bool subnormal_sum = place.common_bits(6) % 3 == 0;
  if (subnormal_sum) {
    // Two numbers just above the smallest normal one, of opposite sign.
    const double value = std::bit_cast<double>(std::uint64_t{1} << 52 | fraction);
    return rank == first ? value : -value;
  }
  const auto exponent = static_cast<int>(place.bits(rank) % 100) - 50;
  const double value = std::ldexp(1.0 + std::ldexp(static_cast<double>(fraction), -52), exponent);
  return (place.common_bits(7) >> (rank == first ? 0 : 1)) % 2 == 0 ? value : -value;
}

std::int64_t repsum_units(const Place& place, std::uint32_t rank) {
  const auto [plus, minus] = rounded_ranks(place);
  return plus != minus && (rank == plus || rank == minus) ? 0 : int_operand(place, rank);
}

double repsum_operand(const Place& place, std::uint32_t rank) {
  const auto [plus, minus] = rounded_ranks(place);
  if (plus != minus && (rank == plus || rank == minus)) {
    return std::ldexp(rank == plus ? 1.0 : -1.0, 60);
  }
  return std::ldexp(static_cast<double>(repsum_units(place, rank)), -30);
}

} // namespace tributary::workload
