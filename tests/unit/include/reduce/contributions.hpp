// Short ways to write contributions and to combine them.
#pragma once

#include "tributary/reduce/reducer.hpp"

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace tributary::test {

using reduce::Accumulator;
using reduce::Contribution;
using reduce::NanMode;
using wire::Opcode;
using wire::ResultCode;

inline constexpr std::uint64_t quiet_nan = 0x7FF8000000000000;
inline constexpr std::uint64_t other_quiet_nan = 0xFFFC000000000123;
inline constexpr std::uint64_t signalling_nan = 0x7FF0000000000001;
inline constexpr std::uint64_t other_signalling_nan = 0xFFF7000000000001;
inline constexpr std::uint64_t positive_infinity = 0x7FF0000000000000;
inline constexpr std::uint64_t negative_infinity = 0xFFF0000000000000;
inline constexpr std::uint64_t minus_zero = 0x8000000000000000;
inline constexpr std::uint64_t all_ones = ~std::uint64_t{0};

constexpr std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }
constexpr std::uint64_t word(std::int64_t v) { return static_cast<std::uint64_t>(v); }

constexpr Contribution contribution(Opcode op, const wire::Payload& payload,
                                    ResultCode rc = ResultCode::success) {
  Contribution c;
  c.op = op;
  c.payload = payload;
  c.rc = rc;
  return c;
}
/// The same word in all four lanes.
constexpr Contribution in_all_lanes(Opcode op, std::uint64_t w) {
  return contribution(op, {w, w, w, w});
}
/// A reproducible sum of one double.
constexpr Contribution repsum_of(double v) {
  const auto sum = reduce::to_reproducible(v);
  Contribution c = contribution(Opcode::flt_repsum, sum.limbs);
  c.m = sum.m;
  return c;
}

inline Accumulator reduced(std::span<const Contribution> operands,
                           NanMode mode = NanMode::associative) {
  Accumulator acc;
  reduce::start(acc, operands.front());
  for (const Contribution& c : operands.subspan(1)) {
    reduce::combine(acc, c, mode);
  }
  return acc;
}
inline Accumulator reduced(std::initializer_list<Contribution> operands,
                           NanMode mode = NanMode::associative) {
  return reduced(std::span(operands.begin(), operands.size()), mode);
}
/// The frame that an engine sends for an accumulator, as the next engine or the root receives it.
inline Contribution sent(const Accumulator& acc) {
  return {.payload = acc.payload,
          .op = acc.op,
          .rc = acc.result_code(),
          .m = acc.m,
          .overflow_id = acc.overflow_id,
          .source = acc.source};
}
inline reduce::ReproducibleSum sum_of(const Accumulator& acc) { return {acc.payload, acc.m}; }

} // namespace tributary::test
