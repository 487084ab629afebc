#include "endpoint/library/repsum_states.hpp"

#include "tributary/reduce/repsum.hpp"
#include "tributary/reduce/sum_environment.hpp"
#include "tributary/tributary.h"

#include <cstdint>
#include <cstring>

namespace tributary::library {

namespace {

template <typename T> T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

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

template <typename T> void make(const std::byte* numbers, std::size_t count, std::byte* states) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto state = state_of(reduce::to_reproducible(load<T>(numbers + i * sizeof(T))));
    std::memcpy(states + i * sizeof state, &state, sizeof state);
  }
}
template <typename T> void read(const std::byte* states, std::size_t count, std::byte* numbers) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto state = load<tributary_repsum_state>(states + i * sizeof(tributary_repsum_state));
    const auto number = static_cast<T>(reduce::to_double(sum_of(state)));
    std::memcpy(numbers + i * sizeof number, &number, sizeof number);
  }
}

} // namespace

void make_states(const std::byte* numbers, std::size_t number_bytes, std::size_t count,
                 std::byte* states) {
  if (number_bytes == sizeof(float)) {
    reduce::with_floats_as_in_switches([&] { make<float>(numbers, count, states); });
  } else {
    make<double>(numbers, count, states);
  }
}

std::size_t add_states(std::byte* total, const std::byte* part, std::size_t count) {
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
    if (accumulator.repsum_overflow) {
      return i;
    }
    const auto sum = state_of({.limbs = accumulator.payload, .m = accumulator.m});
    std::memcpy(at, &sum, sizeof sum);
  }
  return count;
}

void read_states(const std::byte* states, std::size_t count, std::size_t number_bytes,
                 std::byte* numbers) {
  if (number_bytes == sizeof(float)) {
    reduce::with_floats_as_in_switches([&] { read<float>(states, count, numbers); });
  } else {
    read<double>(states, count, numbers);
  }
}

} // namespace tributary::library
