#include "endpoint/mpi/model/arithmetic.hpp"

#include "endpoint/library/operators.hpp"
#include "endpoint/library/repsum_states.hpp"
#include "tributary/reduce/float_format.hpp"
#include "tributary/reduce/integer.hpp"
#include "tributary/reduce/sum_environment.hpp"
#include "tributary/reduce/wide_extreme.hpp"
#include "tributary/reduce/wide_tuple.hpp"
#include "tributary/tributary.h"
#include "tributary/wire/opcode.hpp"

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

// Numbers.

template <typename T, typename Function>
void for_each(std::byte* total, const std::byte* part, std::size_t count, Function&& function) {
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const at = total + i * sizeof(T);
    store<T>(at, function(load<T>(at), load<T>(part + i * sizeof(T))));
  }
}

/// By the code for wide frames, which compares bits.
template <typename Format>
void combine_extremes(reduce::Opcode op, std::byte* total, const std::byte* part,
                      std::size_t count) {
  using Bits = typename Format::Bits;
  const reduce::WideExtreme<Format, reduce::NanMode::associative> extreme({.op = op});
  Bits noted{}; // signalling NaNs, which make no difference here
  for_each<Bits>(total, part, count, [&](Bits a, Bits b) {
    return extreme.narrow(extreme.combine(extreme.widen(a, noted), b, noted), noted);
  });
}

/// By the functions of the switches' kernels, on the program's own type, which may be unsigned.
template <typename T>
bool combine_integers(reduce::Opcode op, std::byte* total, const std::byte* part,
                      std::size_t count) {
  bool known = false;
  wire::with_opcode(op, [&]<reduce::Opcode code>() {
    if constexpr (wire::is_integer(wire::operands_of(code))) {
      T overflowed{}; // not reported by MPI
      for_each<T>(total, part, count, [&](T a, T b) {
        return reduce::Kernel<code>::Function::combine(a, b, overflowed);
      });
      known = true;
    }
  });
  return known;
}

/// Sums to nearest, minima and maxima.
template <typename T, typename Format>
bool combine_floats(reduce::Opcode op, std::byte* total, const std::byte* part, std::size_t count) {
  if (op == reduce::Opcode::flt_sum_nearest) {
    reduce::with_floats_as_in_switches(
        [&] { for_each<T>(total, part, count, [](T a, T b) { return a + b; }); });
    return true;
  }
  const wire::Operator& row = wire::operator_of(op);
  if (row.operands != wire::Operands::floats || row.order != wire::Order::any) {
    return false;
  }
  combine_extremes<Format>(op, total, part, count);
  return true;
}

bool combine_tuples(reduce::Opcode op, std::byte* total, const std::byte* part, std::size_t count) {
  wire::with_opcode(op, [&]<reduce::Opcode code>() {
    if constexpr (wire::is_minmaxloc(code)) {
      reduce::WideTuple<code>::add(total, part, count * sizeof(tributary_minmaxloc_int64),
                                   {.op = code});
    }
  });
  return true;
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
  case Conversion::reproducible: library::make_states(user, plan.user_bytes, count, frames); return;
  case Conversion::min_pair:
  case Conversion::max_pair:
    reduce::with_floats_as_in_switches([&] {
      with_pair(plan.element, [&]<typename Value, typename Tuple>(Value, Tuple) {
        pairs_to_frames<Value, Tuple>(plan, user, count, frames);
      });
    });
    return;
  }
}

void from_frames(const Plan& plan, const std::byte* frames, std::size_t count, std::byte* user) {
  switch (plan.conversion) {
  case Conversion::none:
  case Conversion::logical: std::memcpy(user, frames, count * plan.user_bytes); return;
  case Conversion::reproducible: library::read_states(frames, count, plan.user_bytes, user); return;
  case Conversion::min_pair:
  case Conversion::max_pair:
    reduce::with_floats_as_in_switches([&] {
      with_pair(plan.element, [&]<typename Value, typename Tuple>(Value, Tuple) {
        pairs_from_frames<Value, Tuple>(plan, frames, count, user);
      });
    });
    return;
  }
}

bool combine(int type, int op, std::byte* total, const std::byte* part, std::size_t count) {
  const auto element = library::element_type(type);
  const auto code = element ? library::opcode_for(op, *element, true) : std::nullopt;
  if (!code) {
    return false;
  }
  switch (type) {
  case TRIBUTARY_INT8: return combine_integers<std::int8_t>(*code, total, part, count);
  case TRIBUTARY_UINT8: return combine_integers<std::uint8_t>(*code, total, part, count);
  case TRIBUTARY_INT16: return combine_integers<std::int16_t>(*code, total, part, count);
  case TRIBUTARY_UINT16: return combine_integers<std::uint16_t>(*code, total, part, count);
  case TRIBUTARY_INT32: return combine_integers<std::int32_t>(*code, total, part, count);
  case TRIBUTARY_UINT32: return combine_integers<std::uint32_t>(*code, total, part, count);
  case TRIBUTARY_INT64: return combine_integers<std::int64_t>(*code, total, part, count);
  case TRIBUTARY_UINT64: return combine_integers<std::uint64_t>(*code, total, part, count);
  case TRIBUTARY_FLOAT: return combine_floats<float, reduce::Binary32>(*code, total, part, count);
  case TRIBUTARY_DOUBLE: return combine_floats<double, reduce::Binary64>(*code, total, part, count);
  case TRIBUTARY_MINMAXLOC_INT64:
  case TRIBUTARY_MINMAXLOC_DOUBLE: return combine_tuples(*code, total, part, count);
  case TRIBUTARY_REPSUM_STATE: // no job has 2^23 ranks
    return library::add_states(total, part, count) == count;
  default: return false;
  }
}

void fill_zero(std::byte* at, std::size_t bytes) { std::memset(at, 0, bytes); }

} // namespace tributary::mpi
