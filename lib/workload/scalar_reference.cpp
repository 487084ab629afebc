// Compiled with -frounding-math: additions here obey the current rounding mode.
#include "lib/workload/scalar_reference.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

namespace tributary::workload {

namespace {

template <typename T> std::vector<T> elements(std::span<const std::byte> column) {
  std::vector<T> values(column.size() / sizeof(T));
  std::memcpy(values.data(), column.data(), column.size());
  return values;
}
template <typename T> void write(std::byte* out, const T& value) {
  std::memcpy(out, &value, sizeof value);
}

constexpr std::uint64_t canonical_nan = 0x7FF8000000000000;
bool is_signalling(double v) {
  return std::isnan(v) && (std::bit_cast<std::uint64_t>(v) >> 51 & 1U) == 0;
}

void reduce_bits(tributary_op op, std::span<const std::byte> column, std::size_t width,
                 std::byte* out) {
  for (std::size_t byte = 0; byte < width; ++byte) {
    std::byte result = column[byte];
    for (std::size_t at = byte + width; at < column.size(); at += width) {
      result = op == TRIBUTARY_AND  ? result & column[at]
               : op == TRIBUTARY_OR ? result | column[at]
                                    : result ^ column[at];
    }
    out[byte] = result;
  }
}

/// The least of the numbers by `less`, where -0 precedes +0; NaN beats or is beaten by numbers.
double extremum(const std::vector<double>& values, bool minimum, bool nan_wins) {
  bool found = false;
  bool any_nan = false;
  double best = 0;
  for (const double v : values) {
    if (std::isnan(v)) {
      any_nan = true;
      continue;
    }
    const bool zeros = v == 0 && best == 0;
    const bool better = zeros ? std::signbit(v) == minimum : minimum ? v < best : v > best;
    if (!found || better) {
      best = v;
      found = true;
    }
  }
  const bool nan = nan_wins ? any_nan : !found;
  return nan ? std::bit_cast<double>(canonical_nan) : best;
}

struct Candidate {
  double value;
  std::uint64_t index;
};

/// The lowest index among the operands that can be the result.
std::uint64_t place_of(const std::vector<Candidate>& candidates, double result, bool nan_wins,
                       bool wide) {
  const bool nan = std::isnan(result);
  const bool any_signalling =
      std::any_of(candidates.begin(), candidates.end(),
                  [](const Candidate& c) { return is_signalling(c.value); });
  std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
  for (const Candidate& c : candidates) {
    // Where a NaN wins over numbers, a signalling one precedes a quiet one; not so in wide frames.
    const bool named = nan ? std::isnan(c.value) &&
                                 (wide || !nan_wins || !any_signalling || is_signalling(c.value))
                           : c.value == result;
    if (named) {
      lowest = std::min(lowest, c.index);
    }
  }
  return lowest;
}

int rounding_of(tributary_op op) {
  switch (op) {
  case TRIBUTARY_SUM_UPWARD:
  case TRIBUTARY_SUM_FTZ_UPWARD: return FE_UPWARD;
  case TRIBUTARY_SUM_DOWNWARD:
  case TRIBUTARY_SUM_FTZ_DOWNWARD: return FE_DOWNWARD;
  case TRIBUTARY_SUM_TOWARD_ZERO:
  case TRIBUTARY_SUM_FTZ_TOWARD_ZERO: return FE_TOWARDZERO;
  default: return FE_TONEAREST;
  }
}

int sum_doubles(tributary_op op, const std::vector<double>& values, std::byte* out) {
  const bool flush = op >= TRIBUTARY_SUM_FTZ && op <= TRIBUTARY_SUM_FTZ_TOWARD_ZERO;
  std::fenv_t before;
  std::feholdexcept(&before);
  std::fesetround(rounding_of(op));
  bool flushed = false;
  volatile double total = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) {
    total = total + values[i];
    if (flush && std::fpclassify(total) == FP_SUBNORMAL) {
      flushed = true;
      total = std::copysign(0.0, total);
    }
  }
  const bool inexact = std::fetestexcept(FE_INEXACT) != 0;
  std::fesetenv(&before);
  write(out, static_cast<double>(total));
  return flushed || inexact ? TRIBUTARY_INEXACT : TRIBUTARY_EXACT;
}

int reduce_tuples(const Kind& kind, std::span<const std::byte> column, bool wide, std::byte* out) {
  if (kind.type == TRIBUTARY_MINMAXLOC_INT64) {
    auto best = elements<tributary_minmaxloc_int64>(column)[0];
    for (const auto& t : elements<tributary_minmaxloc_int64>(column)) {
      if (t.min < best.min || (t.min == best.min && t.min_index < best.min_index)) {
        best.min = t.min;
        best.min_index = t.min_index;
      }
      if (t.max > best.max || (t.max == best.max && t.max_index < best.max_index)) {
        best.max = t.max;
        best.max_index = t.max_index;
      }
    }
    write(out, best);
    return TRIBUTARY_EXACT;
  }
  std::vector<double> values;
  std::vector<Candidate> candidates;
  bool signalling = false;
  for (const auto& t : elements<tributary_minmaxloc_double>(column)) {
    values.push_back(t.min);
    candidates.push_back({t.min, t.min_index});
    signalling |= is_signalling(t.min);
  }
  const bool nan_wins = kind.op == TRIBUTARY_MINMAXLOC_NAN;
  tributary_minmaxloc_double best{};
  best.min = extremum(values, true, nan_wins);
  best.max = extremum(values, false, nan_wins);
  best.min_index = place_of(candidates, best.min, nan_wins, wide);
  best.max_index = place_of(candidates, best.max, nan_wins, wide);
  write(out, best);
  return signalling ? TRIBUTARY_INVALID : TRIBUTARY_EXACT;
}

int reduce_doubles(const Kind& kind, const std::vector<double>& values, const Place& place,
                   std::byte* out) {
  switch (kind.op) {
  case TRIBUTARY_MIN:
  case TRIBUTARY_MAX:
  case TRIBUTARY_MIN_NAN:
  case TRIBUTARY_MAX_NAN: {
    const bool minimum = kind.op == TRIBUTARY_MIN || kind.op == TRIBUTARY_MIN_NAN;
    const bool nan_wins = kind.op == TRIBUTARY_MIN_NAN || kind.op == TRIBUTARY_MAX_NAN;
    write(out, extremum(values, minimum, nan_wins));
    const bool signalling = std::any_of(values.begin(), values.end(), is_signalling);
    return signalling ? TRIBUTARY_INVALID : TRIBUTARY_EXACT;
  }
  case TRIBUTARY_REPSUM: {
    std::int64_t units = 0;
    for (std::uint32_t rank = 0; rank < place.size(); ++rank) {
      units += repsum_units(place, rank);
    }
    write(out, std::ldexp(static_cast<double>(units), -30));
    return TRIBUTARY_EXACT;
  }
  default: return sum_doubles(kind.op, values, out);
  }
}

int reduce_integers(tributary_op op, const std::vector<std::int64_t>& values, std::byte* out) {
  std::int64_t result = 0;
  switch (op) {
  case TRIBUTARY_MIN: result = *std::min_element(values.begin(), values.end()); break;
  case TRIBUTARY_MAX: result = *std::max_element(values.begin(), values.end()); break;
  default:
    for (const std::int64_t v : values) {
      result += v;
    }
  }
  write(out, result);
  return TRIBUTARY_EXACT;
}

/// Adds in a type that holds all sums, or takes the minimum or maximum.
template <typename T, typename Sum = T>
void reduce_plain(tributary_op op, std::span<const std::byte> column, std::byte* out) {
  const std::vector<T> values = elements<T>(column);
  Sum sum{};
  for (const T value : values) {
    sum = static_cast<Sum>(sum + value);
  }
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  write(out, op == TRIBUTARY_MIN ? *least : op == TRIBUTARY_MAX ? *greatest : static_cast<T>(sum));
}

float number_of(std::uint16_t bits, tributary_type type) {
  if (type == TRIBUTARY_BFLOAT16) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
  if ((bits & 0x7FFFU) == 0) {
    return (bits & 0x8000U) != 0 ? -0.0F : 0.0F;
  }
  const float value =
      std::ldexp(1.0F + static_cast<float>(bits & 0x3FFU) / 1024.0F, (bits >> 10 & 0x1F) - 15);
  return (bits & 0x8000U) != 0 ? -value : value;
}

/// The types that only wide frames carry. Their operands have exact sums.
int reduce_narrow(const Kind& kind, std::span<const std::byte> column, std::byte* out) {
  switch (kind.type) {
  case TRIBUTARY_INT8: reduce_plain<std::int8_t, int>(kind.op, column, out); break;
  case TRIBUTARY_UINT8: reduce_plain<std::uint8_t, unsigned>(kind.op, column, out); break;
  case TRIBUTARY_INT16: reduce_plain<std::int16_t, int>(kind.op, column, out); break;
  case TRIBUTARY_UINT16: reduce_plain<std::uint16_t, unsigned>(kind.op, column, out); break;
  case TRIBUTARY_INT32: reduce_plain<std::int32_t, std::int64_t>(kind.op, column, out); break;
  case TRIBUTARY_UINT32: reduce_plain<std::uint32_t>(kind.op, column, out); break;
  case TRIBUTARY_UINT64: reduce_plain<std::uint64_t>(kind.op, column, out); break;
  case TRIBUTARY_FLOAT:
    if (kind.op == TRIBUTARY_SUM) {
      reduce_plain<float>(kind.op, column, out);
    } else {
      std::vector<double> values;
      for (const float value : elements<float>(column)) {
        values.push_back(value);
      }
      write(out, static_cast<float>(
                     extremum(values, kind.op == TRIBUTARY_MIN, kind.op == TRIBUTARY_MAX_NAN)));
    }
    break;
  default: {
    float sum = 0;
    for (const std::uint16_t bits : elements<std::uint16_t>(column)) {
      sum += number_of(bits, kind.type);
    }
    write(out, kind.type == TRIBUTARY_FLOAT16 ? binary16_of(sum) : bfloat16_of(sum));
  }
  }
  return TRIBUTARY_EXACT;
}

} // namespace

int reduce_column(const Kind& kind, std::span<const std::byte> column, const Place& place,
                  bool wide, std::byte* out) {
  if (kind.one_rank_only) {
    const std::size_t width = bytes_of(kind.type);
    std::memcpy(out, &column[owner_of(place) * width], width);
    return TRIBUTARY_EXACT;
  }
  if (kind.op == TRIBUTARY_AND || kind.op == TRIBUTARY_OR || kind.op == TRIBUTARY_XOR) {
    reduce_bits(kind.op, column, bytes_of(kind.type), out);
    return TRIBUTARY_EXACT;
  }
  if (kind.op == TRIBUTARY_MINMAXLOC || kind.op == TRIBUTARY_MINMAXLOC_NAN) {
    return reduce_tuples(kind, column, wide, out);
  }
  if (kind.type != TRIBUTARY_INT64 && kind.type != TRIBUTARY_DOUBLE) {
    return reduce_narrow(kind, column, out);
  }
  if (kind.type == TRIBUTARY_INT64) {
    return reduce_integers(kind.op, elements<std::int64_t>(column), out);
  }
  return reduce_doubles(kind, elements<double>(column), place, out);
}

} // namespace tributary::workload
