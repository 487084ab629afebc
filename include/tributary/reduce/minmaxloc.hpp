// INT_MINMAXLOC, FLT_MINMAXLOC, FLT_MINMAXNUMLOC: one tuple {minimum, its index, maximum, its
// index} in a frame (wire-format.md, 2.3 and 4.3 to 4.5).
//
// A rank decides each half of the tuple: the operand with the smaller rank survives, with its
// index; if ranks are equal the lower index survives, compared unsigned, for the minimum and for
// the maximum. Ranks of the maximum are those of the minimum inverted.
//
//   FLT_MINMAXLOC                signalling NaN, quiet NaN, then numbers
//   FLT_MINMAXNUMLOC             numbers, then NaNs of either kind
//   FLT_MINMAXNUMLOC, IEEE mode  the same; but a signalling NaN precedes a number
//
// The two zeros have equal ranks, so that the index decides; the value is nevertheless -0 for the
// minimum and +0 for the maximum, whichever operand the index came from.
//
// A signalling NaN must keep its precedence over quiet ones although an engine sends only the
// canonical quiet NaN. In the accumulator `signalling_lanes` records it; between engines
// flt_invalid does: a NaN in a FLT_MINMAXLOC frame whose code is flt_invalid counts as signalling.
// As hosts put one value into both halves, this is exact, and the index depends on neither order
// nor tree.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/floating.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tributary::reduce {

namespace detail {

enum class Extreme : bool { minimum, maximum };

template <Extreme extreme> constexpr std::int64_t ranked(std::int64_t minimum_rank) {
  return extreme == Extreme::minimum ? minimum_rank : ~minimum_rank;
}
/// The surviving index of two ranked operands.
constexpr std::uint64_t surviving_index(std::int64_t rank_a, std::uint64_t index_a,
                                        std::int64_t rank_b, std::uint64_t index_b) {
  const std::uint64_t tied = std::min(index_a, index_b);
  const std::uint64_t untied = rank_b < rank_a ? index_b : index_a;
  return rank_a == rank_b ? tied : untied;
}

/// One half of a tuple of integers, at words `at` and `at + 1`.
template <Extreme extreme>
inline void int_half(wire::Payload& acc, const wire::Payload& in, std::size_t at) noexcept {
  const auto a = static_cast<std::int64_t>(acc[at]);
  const auto b = static_cast<std::int64_t>(in[at]);
  acc[at + 1] = surviving_index(ranked<extreme>(a), acc[at + 1], ranked<extreme>(b), in[at + 1]);
  acc[at] =
      static_cast<std::uint64_t>(extreme == Extreme::minimum ? std::min(a, b) : std::max(a, b));
}

/// The rank of a number: its position in the order of doubles, with one position for both zeros.
template <Extreme extreme> constexpr std::int64_t number_rank(std::uint64_t bits) {
  const std::int64_t order = order_of(bits);
  return ranked<extreme>(order - (order >> 63));
}
inline constexpr std::int64_t first_rank = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t second_rank = first_rank + 1;
inline constexpr std::int64_t last_rank = std::numeric_limits<std::int64_t>::max();

template <Extreme extreme>
constexpr std::uint64_t extreme_number(std::uint64_t a, std::uint64_t b) {
  const bool b_first =
      extreme == Extreme::minimum ? order_of(b) < order_of(a) : order_of(b) > order_of(a);
  return b_first ? b : a;
}

/// One half of FLT_MINMAXLOC; `a_signals`, `b_signals` say that a NaN is a signalling one.
template <Extreme extreme>
inline void nan_wins_half(Accumulator& acc, const wire::Payload& in, std::size_t at,
                          bool b_signals) noexcept {
  const std::uint64_t a = acc.payload[at];
  const std::uint64_t b = in[at];
  const auto lane = static_cast<std::uint8_t>(1U << at);
  const bool a_nan = a == canonical_nan;
  const bool b_nan = is_nan(b);
  const bool a_signals = (acc.signalling_lanes & lane) != 0;
  const auto rank = [](std::uint64_t bits, bool nan, bool signals) {
    const std::int64_t nan_rank = signals ? first_rank : second_rank;
    return nan ? nan_rank : number_rank<extreme>(bits);
  };
  acc.payload[at + 1] = surviving_index(rank(a, a_nan, a_signals), acc.payload[at + 1],
                                        rank(b, b_nan, b_signals), in[at + 1]);
  acc.payload[at] = a_nan || b_nan ? canonical_nan : extreme_number<extreme>(a, b);
  if (b_nan && b_signals) {
    acc.signalling_lanes |= lane;
  }
}

/// One half of FLT_MINMAXNUMLOC.
template <Extreme extreme>
inline void number_wins_half(Accumulator& acc, const wire::Payload& in, std::size_t at,
                             NanMode mode) noexcept {
  const std::uint64_t a = acc.payload[at];
  const std::uint64_t b = in[at];
  const bool a_nan = a == canonical_nan;
  const bool b_nan = is_nan(b);
  std::int64_t rank_a = a_nan ? last_rank : number_rank<extreme>(a);
  std::int64_t rank_b = b_nan ? last_rank : number_rank<extreme>(b);
  bool nan = a_nan && b_nan;
  if (mode == NanMode::ieee && a_nan != b_nan) {
    const bool a_signals = (acc.signalling_lanes >> at & 1) != 0;
    const bool b_signals = is_signalling_nan(b);
    rank_a = a_signals ? first_rank : rank_a;
    rank_b = b_signals ? first_rank : rank_b;
    nan = a_signals || b_signals;
  }
  const std::uint64_t number = a_nan ? b : b_nan ? a : extreme_number<extreme>(a, b);
  acc.payload[at + 1] = surviving_index(rank_a, acc.payload[at + 1], rank_b, in[at + 1]);
  acc.payload[at] = nan ? canonical_nan : number;
}

} // namespace detail

template <> struct Kernel<Opcode::int_minmaxloc> {
  static void combine(Accumulator& acc, const Contribution& in, NanMode) noexcept {
    detail::int_half<detail::Extreme::minimum>(acc.payload, in.payload, 0);
    detail::int_half<detail::Extreme::maximum>(acc.payload, in.payload, 2);
  }
};

/// Records what a first contribution's code says: that its NaNs came from signalling ones.
inline void remember_combined_signalling(Accumulator& acc, const Contribution& in) noexcept {
  if (in.rc == ResultCode::flt_invalid) [[unlikely]] {
    acc.signalling_lanes = static_cast<std::uint8_t>((acc.payload[0] == canonical_nan ? 1U : 0U) |
                                                     (acc.payload[2] == canonical_nan ? 4U : 0U));
  }
}

template <> struct Kernel<Opcode::flt_minmaxloc> {
  static void combine(Accumulator& acc, const Contribution& in, NanMode) noexcept {
    const bool min_signals = is_signalling_nan(in.payload[0]);
    const bool max_signals = is_signalling_nan(in.payload[2]);
    const bool combined_from_signalling = in.rc == ResultCode::flt_invalid;
    if (min_signals || max_signals) {
      acc.rc = worse(acc.rc, ResultCode::flt_invalid);
    }
    detail::nan_wins_half<detail::Extreme::minimum>(acc, in.payload, 0,
                                                    min_signals || combined_from_signalling);
    detail::nan_wins_half<detail::Extreme::maximum>(acc, in.payload, 2,
                                                    max_signals || combined_from_signalling);
  }
};

template <> struct Kernel<Opcode::flt_minmaxnumloc> {
  static void combine(Accumulator& acc, const Contribution& in, NanMode mode) noexcept {
    if (is_signalling_nan(in.payload[0]) || is_signalling_nan(in.payload[2])) {
      acc.rc = worse(acc.rc, ResultCode::flt_invalid);
    }
    detail::number_wins_half<detail::Extreme::minimum>(acc, in.payload, 0, mode);
    detail::number_wins_half<detail::Extreme::maximum>(acc, in.payload, 2, mode);
    acc.signalling_lanes = 0;
  }
};

} // namespace tributary::reduce
