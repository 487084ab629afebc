#include "tests/fabric/reference.hpp"

#include "tributary/wire/opcode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::fabric {

namespace {

using collective::Operand;
using wire::Opcode;
using wire::ResultCode;
using Operands = std::span<const Operand>;
__extension__ using Int128 = __int128;

constexpr std::uint64_t canonical_nan = 0x7FF8000000000000;
constexpr std::uint64_t quiet_bit = std::uint64_t{1} << 51;

struct Expected {
  wire::Payload payload{};
  ResultCode rc = ResultCode::success;
  std::int8_t m = 0;
};

double as_double(std::uint64_t v) { return std::bit_cast<double>(v); }
bool is_nan(std::uint64_t v) { return std::isnan(as_double(v)); }
bool is_signalling(std::uint64_t v) { return is_nan(v) && (v & quiet_bit) == 0; }

template <typename F> wire::Payload fold_lanes(Operands all, F&& combine) {
  wire::Payload result = all[0].payload;
  for (const Operand& o : all.subspan(1)) {
    for (std::size_t lane = 0; lane < result.size(); ++lane) {
      result[lane] = combine(result[lane], o.payload[lane]);
    }
  }
  return result;
}

std::uint64_t signed_less(std::uint64_t a, std::uint64_t b, bool want_less) {
  const bool less = std::bit_cast<std::int64_t>(a) < std::bit_cast<std::int64_t>(b);
  return less == want_less ? a : b;
}

/// The extreme of a set of doubles, and its index. `nan_wins` distinguishes the two families.
struct Extreme {
  std::uint64_t value = 0;
  std::uint64_t index = 0;
  bool signalling = false;
};
Extreme extreme(Operands all, std::size_t value_word, std::optional<std::size_t> index_word,
                bool minimum, bool nan_wins) {
  Extreme e;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> numbers;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> nans;
  for (const Operand& o : all) {
    const std::uint64_t v = o.payload[value_word];
    (is_nan(v) ? nans : numbers).emplace_back(v, index_word ? o.payload[*index_word] : 0);
    e.signalling = e.signalling || is_signalling(v);
  }
  const auto lowest_index = [](const auto& candidates) {
    return std::ranges::min(candidates, {}, [](const auto& c) { return c.second; }).second;
  };
  if (numbers.empty() || (nan_wins && !nans.empty())) {
    e.value = canonical_nan;
    e.index = lowest_index(nans);
    return e;
  }
  double best = as_double(numbers[0].first);
  for (const auto& [v, index] : numbers) {
    best = minimum ? std::min(best, as_double(v)) : std::max(best, as_double(v));
  }
  std::erase_if(numbers, [&](const auto& n) { return as_double(n.first) != best; });
  e.index = lowest_index(numbers);
  e.value = std::bit_cast<std::uint64_t>(best);
  if (best == 0) {
    // The two zeros are equal; the minimum's is the negative one, the maximum's the positive one.
    const auto negative = [](const auto& n) { return std::signbit(as_double(n.first)); };
    const bool is_negative =
        minimum ? std::ranges::any_of(numbers, negative) : std::ranges::all_of(numbers, negative);
    e.value = std::bit_cast<std::uint64_t>(is_negative ? -0.0 : 0.0);
  }
  return e;
}

Expected float_extremes(Operands all, bool minimum, bool nan_wins) {
  Expected expected;
  for (std::size_t lane = 0; lane < expected.payload.size(); ++lane) {
    const Extreme e = extreme(all, lane, {}, minimum, nan_wins);
    expected.payload[lane] = e.value;
    expected.rc = e.signalling ? ResultCode::flt_invalid : expected.rc;
  }
  return expected;
}

Expected float_locations(Operands all, bool nan_wins) {
  const Extreme lowest = extreme(all, 0, 1, true, nan_wins);
  const Extreme highest = extreme(all, 2, 3, false, nan_wins);
  return {{lowest.value, lowest.index, highest.value, highest.index},
          lowest.signalling ? ResultCode::flt_invalid : ResultCode::success,
          0};
}

Expected integer_locations(Operands all) {
  const auto value = [](const Operand& o) { return std::bit_cast<std::int64_t>(o.payload[0]); };
  const auto lowest = std::ranges::min(
      all, {}, [&](const Operand& o) { return std::pair(value(o), o.payload[1]); });
  const auto highest = std::ranges::min(all, {}, [&](const Operand& o) {
    return std::pair(~value(o), o.payload[3]); // ~ turns the order round and cannot overflow
  });
  return {{lowest.payload[0], lowest.payload[1], highest.payload[2], highest.payload[3]},
          ResultCode::success,
          0};
}

Expected integer_sums(Operands all) {
  Expected expected;
  expected.payload = fold_lanes(all, std::plus<std::uint64_t>{});
  for (std::size_t lane = 0; lane < expected.payload.size(); ++lane) {
    Int128 exact = 0;
    for (const Operand& o : all) {
      exact += std::bit_cast<std::int64_t>(o.payload[lane]);
    }
    if (exact != Int128{std::bit_cast<std::int64_t>(expected.payload[lane])}) {
      expected.rc = ResultCode::int_overflow;
    }
  }
  // Numbers that wrap pairwise may add up to one that fits; Workload's large ones always wrap.
  if (std::bit_cast<std::int64_t>(all[0].payload[0]) >= std::int64_t{1} << 62) {
    expected.rc = ResultCode::int_overflow;
  }
  return expected;
}

std::string fault_of_float_sum(Operands all, const collective::Completion& result) {
  const auto rounding = wire::rounding_of(result.op);
  ResultCode least = ResultCode::success;
  bool may_round = false;
  for (std::size_t lane = 0; lane < result.payload.size(); ++lane) {
    Int128 exact = 0;
    bool invalid = false;
    for (const Operand& o : all) {
      const double v = as_double(o.payload[lane]);
      invalid = invalid || !std::isfinite(v); // one infinity of each sign, see Workload
      exact += invalid ? 0 : static_cast<Int128>(v);
    }
    const double got = as_double(result.payload[lane]);
    if (invalid) {
      least = ResultCode::flt_invalid;
      if (result.payload[lane] != canonical_nan) {
        return fmt::format("lane {} is {:016x} instead of the canonical NaN", lane,
                           result.payload[lane]);
      }
      continue;
    }
    if (!std::isfinite(got)) {
      return fmt::format("lane {} is {}", lane, got);
    }
    const Int128 error = static_cast<Int128>(got) - exact;
    const Int128 magnitude = exact < 0 ? -exact : exact;
    // Below 2^53 everything is exact; above, each addition may be wrong by the last place of the
    // largest intermediate sum, which is at most twice the exact one.
    const bool rounds = magnitude >= Int128{1} << 53;
    const Int128 last_place = rounds ? magnitude >> 51 : 0;
    may_round = may_round || rounds;
    const Int128 allowed = last_place * static_cast<Int128>(all.size());
    if (error > allowed || error < -allowed) {
      return fmt::format("lane {} is {:.17g}, too far from the exact sum {:.17g}", lane, got,
                         static_cast<double>(exact));
    }
    if ((rounding == wire::Rounding::upward && error < 0) ||
        ((rounding == wire::Rounding::downward || rounding == wire::Rounding::toward_zero) &&
         error > 0)) {
      return fmt::format("lane {} is {:.17g}, on the wrong side of the exact sum {:.17g}", lane,
                         got, static_cast<double>(exact));
    }
    if (exact == 0 && std::signbit(got) != (rounding == wire::Rounding::downward)) {
      return fmt::format("lane {} is a zero of the wrong sign", lane);
    }
    least = error != 0 ? wire::worse(least, ResultCode::flt_inexact) : least;
  }
  const ResultCode most = may_round ? wire::worse(least, ResultCode::flt_inexact) : least;
  return result.rc < least || result.rc > most
             ? fmt::format("result code {} instead of {} to {}", name_of(result.rc), name_of(least),
                           name_of(most))
             : "";
}

/// The limbs of all contributions, added at the place the largest M gives them.
struct ReproducibleSum {
  Expected expected;
  bool dropped_something = false;
  /// The dropped parts at one place do not sum to zero, in whatever order and portions they are
  /// dropped: at least one portion is not zero.
  bool dropped_for_certain = false;
};
ReproducibleSum reproducible_sum(Operands all) {
  ReproducibleSum sum;
  Expected& expected = sum.expected;
  expected.m = std::ranges::max(all, {}, [](const Operand& o) { return o.m; }).m;
  std::map<int, Int128> dropped; // by the limb's place
  for (const Operand& o : all) {
    const auto distance = static_cast<std::size_t>(expected.m - o.m);
    for (std::size_t limb = 0; limb < o.payload.size(); ++limb) {
      if (limb >= distance) {
        expected.payload[limb - distance] += o.payload[limb];
      } else {
        sum.dropped_something = sum.dropped_something || o.payload[limb] != 0;
        dropped[o.m + static_cast<int>(limb)] += std::bit_cast<std::int64_t>(o.payload[limb]);
      }
    }
  }
  sum.dropped_for_certain =
      std::ranges::any_of(dropped, [](const auto& place) { return place.second != 0; });
  return sum;
}

std::string compare(const Expected& expected, const collective::Completion& result) {
  if (result.payload != expected.payload) {
    return fmt::format("data {:x},{:x},{:x},{:x} instead of {:x},{:x},{:x},{:x}", result.payload[0],
                       result.payload[1], result.payload[2], result.payload[3], expected.payload[0],
                       expected.payload[1], expected.payload[2], expected.payload[3]);
  }
  if (result.m != expected.m) {
    return fmt::format("M {} instead of {}", result.m, expected.m);
  }
  return result.rc != expected.rc
             ? fmt::format("result code {} instead of {}", name_of(result.rc), name_of(expected.rc))
             : "";
}

} // namespace

std::string fault_of_result(Operands all, const collective::Completion& result) {
  const Opcode op = all[0].op;
  if (result.op != op) {
    return fmt::format("operator {} instead of {}", name_of(result.op), name_of(op));
  }
  if (result.count != all.size()) {
    return fmt::format("counts {} contributions instead of {}", result.count, all.size());
  }
  switch (op) {
  case Opcode::barrier: return compare({}, result);
  case Opcode::bit_and: return compare({fold_lanes(all, std::bit_and<std::uint64_t>{})}, result);
  case Opcode::bit_or: return compare({fold_lanes(all, std::bit_or<std::uint64_t>{})}, result);
  case Opcode::bit_xor: return compare({fold_lanes(all, std::bit_xor<std::uint64_t>{})}, result);
  case Opcode::int_min:
    return compare({fold_lanes(all, [](auto a, auto b) { return signed_less(a, b, true); })},
                   result);
  case Opcode::int_max:
    return compare({fold_lanes(all, [](auto a, auto b) { return signed_less(a, b, false); })},
                   result);
  case Opcode::int_minmaxloc: return compare(integer_locations(all), result);
  case Opcode::int_sum: return compare(integer_sums(all), result);
  case Opcode::flt_min: return compare(float_extremes(all, true, true), result);
  case Opcode::flt_max: return compare(float_extremes(all, false, true), result);
  case Opcode::flt_minnum: return compare(float_extremes(all, true, false), result);
  case Opcode::flt_maxnum: return compare(float_extremes(all, false, false), result);
  case Opcode::flt_minmaxloc: return compare(float_locations(all, true), result);
  case Opcode::flt_minmaxnumloc: return compare(float_locations(all, false), result);
  case Opcode::flt_repsum: {
    ReproducibleSum sum = reproducible_sum(all);
    // Limbs that cancel before they are dropped leave no trace: then the flag may be missing.
    if (sum.dropped_for_certain ||
        (sum.dropped_something && result.rc == ResultCode::repsum_inexact)) {
      sum.expected.rc = ResultCode::repsum_inexact;
    }
    return compare(sum.expected, result);
  }
  default: return fault_of_float_sum(all, result);
  }
}

} // namespace tributary::fabric
