#include "mpi/core/arithmetic.hpp"

#include "tributary/reduce/repsum.hpp"
#include "tributary/tributary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tributary::mpi {

namespace {

template <typename T> T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T> void store(std::byte* at, const T& value) {
  std::memcpy(at, &value, sizeof value);
}

// Logical values.

template <typename T> void to_logical(const std::byte* user, std::size_t count, std::byte* frames) {
  for (std::size_t i = 0; i < count; ++i) {
    store<T>(frames + i * sizeof(T), load<T>(user + i * sizeof(T)) != 0 ? T{1} : T{0});
  }
}

// Pairs. Frames compare indices as unsigned numbers, MPI's are ints.

constexpr std::int64_t index_bias = std::int64_t{1} << 31;

std::uint64_t index_to_frame(std::int32_t index) {
  return static_cast<std::uint64_t>(std::int64_t{index} + index_bias);
}
std::int32_t index_from_frame(std::uint64_t index) {
  return static_cast<std::int32_t>(static_cast<std::int64_t>(index) - index_bias);
}

template <typename Value> struct Pair {
  Value value;
  std::int32_t index;
};

template <typename Value, typename Tuple>
void pairs_to_frames(const Plan& plan, const std::byte* user, std::size_t count,
                     std::byte* frames) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const at = user + i * plan.user_bytes;
    const auto value = load<Value>(at);
    const std::uint64_t index =
        index_to_frame(load<std::int32_t>(at + offsetof(Pair<Value>, index)));
    Tuple tuple{};
    tuple.min = value;
    tuple.max = value;
    tuple.min_index = index;
    tuple.max_index = index;
    store(frames + i * sizeof tuple, tuple);
  }
}

template <typename Value, typename Tuple>
void pairs_from_frames(const Plan& plan, const std::byte* frames, std::size_t count,
                       std::byte* user) {
  const bool least = plan.conversion == Conversion::min_pair;
  for (std::size_t i = 0; i < count; ++i) {
    const auto tuple = load<Tuple>(frames + i * sizeof(Tuple));
    std::byte* const at = user + i * plan.user_bytes;
    store<Value>(at, static_cast<Value>(least ? tuple.min : tuple.max));
    store<std::int32_t>(at + offsetof(Pair<Value>, index),
                        index_from_frame(least ? tuple.min_index : tuple.max_index));
  }
}

/// Calls `with` with a value and a tuple of the types of the plan's pairs.
template <typename With> void with_pair(Element element, With&& with) {
  switch (element) {
  case Element::float_int: with(float{}, tributary_minmaxloc_double{}); break;
  case Element::double_int: with(double{}, tributary_minmaxloc_double{}); break;
  case Element::long_int: with(std::int64_t{}, tributary_minmaxloc_int64{}); break;
  case Element::two_int: with(std::int32_t{}, tributary_minmaxloc_int64{}); break;
  case Element::short_int: with(std::int16_t{}, tributary_minmaxloc_int64{}); break;
  default: break;
  }
}

// Reproducible sums.

tributary_repsum_state state_of(const reduce::ReproducibleSum& sum) {
  tributary_repsum_state state{};
  for (std::size_t i = 0; i < 4; ++i) {
    state.limbs[i] = static_cast<std::int64_t>(sum.limbs[i]);
  }
  state.m = sum.m;
  return state;
}
reduce::ReproducibleSum sum_of(const tributary_repsum_state& state) {
  reduce::ReproducibleSum sum;
  for (std::size_t i = 0; i < 4; ++i) {
    sum.limbs[i] = static_cast<std::uint64_t>(state.limbs[i]);
  }
  sum.m = state.m;
  return sum;
}

void combine_states(std::byte* total, const std::byte* part, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const at = total + i * sizeof(tributary_repsum_state);
    const auto mine = sum_of(load<tributary_repsum_state>(at));
    const auto theirs =
        sum_of(load<tributary_repsum_state>(part + i * sizeof(tributary_repsum_state)));
    reduce::Accumulator accumulator;
    accumulator.payload = mine.limbs;
    accumulator.m = mine.m;
    reduce::Contribution contribution;
    contribution.payload = theirs.limbs;
    contribution.m = theirs.m;
    contribution.op = reduce::Opcode::flt_repsum;
    reduce::flt_repsum(accumulator, contribution);
    store(at, state_of({.limbs = accumulator.payload, .m = accumulator.m}));
  }
}

// Numbers.

template <typename T, typename Function>
void for_each(std::byte* total, const std::byte* part, std::size_t count, Function&& function) {
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const at = total + i * sizeof(T);
    store<T>(at, function(load<T>(at), load<T>(part + i * sizeof(T))));
  }
}

template <typename T> T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b))); // wraps
  } else {
    return a + b;
  }
}
/// As frames do: a number beats a NaN, and -0 is less than +0.
template <typename T> T least(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::isnan(a) ? b : a;
    }
    if (a == b) {
      return std::signbit(a) ? a : b;
    }
  }
  return b < a ? b : a;
}
template <typename T> T greatest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::isnan(a) ? b : a;
    }
    if (a == b) {
      return std::signbit(a) ? b : a;
    }
  }
  return a < b ? b : a;
}

template <typename T>
bool combine_numbers(int op, std::byte* total, const std::byte* part, std::size_t count) {
  switch (op) {
  case TRIBUTARY_SUM: for_each<T>(total, part, count, sum<T>); return true;
  case TRIBUTARY_MIN: for_each<T>(total, part, count, least<T>); return true;
  case TRIBUTARY_MAX: for_each<T>(total, part, count, greatest<T>); return true;
  default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    const auto bits = [&](auto&& function) { for_each<T>(total, part, count, function); };
    switch (op) {
    case TRIBUTARY_AND: bits([](T a, T b) { return static_cast<T>(a & b); }); return true;
    case TRIBUTARY_OR: bits([](T a, T b) { return static_cast<T>(a | b); }); return true;
    case TRIBUTARY_XOR: bits([](T a, T b) { return static_cast<T>(a ^ b); }); return true;
    default: break;
    }
  }
  return false;
}

/// Among equal values the lowest index wins; a number beats a NaN.
template <typename Value> bool comes_first(Value a, std::uint64_t ai, Value b, std::uint64_t bi) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (std::isnan(a) != std::isnan(b)) {
      return std::isnan(b);
    }
    if (std::isnan(a)) {
      return ai < bi;
    }
  }
  return a < b || (a == b && ai < bi);
}

template <typename Tuple>
void combine_tuples(std::byte* total, const std::byte* part, std::size_t count) {
  for_each<Tuple>(total, part, count, [](Tuple a, const Tuple& b) {
    if (comes_first(b.min, b.min_index, a.min, a.min_index)) {
      a.min = b.min;
      a.min_index = b.min_index;
    }
    if (comes_first(-b.max, b.max_index, -a.max, a.max_index)) {
      a.max = b.max;
      a.max_index = b.max_index;
    }
    return a;
  });
}
/// Not by the sign: the least integer has no opposite.
template <>
void combine_tuples<tributary_minmaxloc_int64>(std::byte* total, const std::byte* part,
                                               std::size_t count) {
  using Tuple = tributary_minmaxloc_int64;
  for_each<Tuple>(total, part, count, [](Tuple a, const Tuple& b) {
    if (comes_first(b.min, b.min_index, a.min, a.min_index)) {
      a.min = b.min;
      a.min_index = b.min_index;
    }
    if (b.max > a.max || (b.max == a.max && b.max_index < a.max_index)) {
      a.max = b.max;
      a.max_index = b.max_index;
    }
    return a;
  });
}

} // namespace

void to_frames(const Plan& plan, const std::byte* user, std::size_t count, std::byte* frames) {
  switch (plan.conversion) {
  case Conversion::none: std::memcpy(frames, user, count * plan.user_bytes); return;
  case Conversion::logical:
    switch (plan.user_bytes) {
    case 1: to_logical<std::uint8_t>(user, count, frames); return;
    case 2: to_logical<std::uint16_t>(user, count, frames); return;
    case 4: to_logical<std::uint32_t>(user, count, frames); return;
    default: to_logical<std::uint64_t>(user, count, frames); return;
    }
  case Conversion::reproducible:
    for (std::size_t i = 0; i < count; ++i) {
      store(frames + i * sizeof(tributary_repsum_state),
            state_of(reduce::to_reproducible(load<double>(user + i * sizeof(double)))));
    }
    return;
  case Conversion::min_pair:
  case Conversion::max_pair:
    with_pair(plan.element, [&]<typename Value, typename Tuple>(Value, Tuple) {
      pairs_to_frames<Value, Tuple>(plan, user, count, frames);
    });
    return;
  }
}

void from_frames(const Plan& plan, const std::byte* frames, std::size_t count, std::byte* user) {
  switch (plan.conversion) {
  case Conversion::none:
  case Conversion::logical: std::memcpy(user, frames, count * plan.user_bytes); return;
  case Conversion::reproducible:
    for (std::size_t i = 0; i < count; ++i) {
      store(user + i * sizeof(double), reduce::to_double(sum_of(load<tributary_repsum_state>(
                                           frames + i * sizeof(tributary_repsum_state)))));
    }
    return;
  case Conversion::min_pair:
  case Conversion::max_pair:
    with_pair(plan.element, [&]<typename Value, typename Tuple>(Value, Tuple) {
      pairs_from_frames<Value, Tuple>(plan, frames, count, user);
    });
    return;
  }
}

bool combine(int type, int op, std::byte* total, const std::byte* part, std::size_t count) {
  switch (type) {
  case TRIBUTARY_INT8: return combine_numbers<std::int8_t>(op, total, part, count);
  case TRIBUTARY_UINT8: return combine_numbers<std::uint8_t>(op, total, part, count);
  case TRIBUTARY_INT16: return combine_numbers<std::int16_t>(op, total, part, count);
  case TRIBUTARY_UINT16: return combine_numbers<std::uint16_t>(op, total, part, count);
  case TRIBUTARY_INT32: return combine_numbers<std::int32_t>(op, total, part, count);
  case TRIBUTARY_UINT32: return combine_numbers<std::uint32_t>(op, total, part, count);
  case TRIBUTARY_INT64: return combine_numbers<std::int64_t>(op, total, part, count);
  case TRIBUTARY_UINT64: return combine_numbers<std::uint64_t>(op, total, part, count);
  case TRIBUTARY_FLOAT: return combine_numbers<float>(op, total, part, count);
  case TRIBUTARY_DOUBLE: return combine_numbers<double>(op, total, part, count);
  default: break;
  }
  if (type == TRIBUTARY_REPSUM_STATE && op == TRIBUTARY_REPSUM) {
    combine_states(total, part, count);
    return true;
  }
  if (op != TRIBUTARY_MINMAXLOC) {
    return false;
  }
  if (type == TRIBUTARY_MINMAXLOC_INT64) {
    combine_tuples<tributary_minmaxloc_int64>(total, part, count);
    return true;
  }
  if (type == TRIBUTARY_MINMAXLOC_DOUBLE) {
    combine_tuples<tributary_minmaxloc_double>(total, part, count);
    return true;
  }
  return false;
}

void fill_zero(std::byte* at, std::size_t bytes) { std::memset(at, 0, bytes); }

} // namespace tributary::mpi
