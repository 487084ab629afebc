#include "endpoint/messages/atomics.hpp"

#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tributary::messages {

namespace {

using Op = wire::AtomicOperation;
using wire::AtomicType;

template <typename T> T load(const std::byte* from, std::size_t i) {
  T value{};
  if (from != nullptr) {
    std::memcpy(&value, from + i * sizeof value, sizeof value);
  }
  return value;
}

/// `f(old value, operand, compared with)` is the new value.
template <typename T, typename F> void each(const Atomically& a, const F& f) {
  for (std::size_t i = 0; i < a.count; ++i) {
    const T before = load<T>(a.memory, i);
    const T after = f(before, load<T>(a.operand, i), load<T>(a.compare, i));
    std::memcpy(a.memory + i * sizeof after, &after, sizeof after);
    if (a.old != nullptr) {
      std::memcpy(a.old + i * sizeof before, &before, sizeof before);
    }
  }
}

// Integers wrap, whatever their sign.

template <typename T> T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename T> T product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
}

template <typename T> bool is_true(T value) { return value != T{}; }
template <typename T> T of_truth(bool truth) { return truth ? T{1} : T{}; }

template <typename T> void apply_to_bits(const Atomically& a) {
  switch (a.operation) {
  case Op::bit_or: return each<T>(a, [](T v, T o, T) { return static_cast<T>(v | o); });
  case Op::bit_and: return each<T>(a, [](T v, T o, T) { return static_cast<T>(v & o); });
  case Op::bit_xor: return each<T>(a, [](T v, T o, T) { return static_cast<T>(v ^ o); });
  case Op::swap_bits:
    return each<T>(a, [](T v, T o, T c) { return static_cast<T>((o & c) | (v & ~c)); });
  default: return;
  }
}

template <typename T> void apply_to_ordered(const Atomically& a) {
  switch (a.operation) {
  case Op::minimum: return each<T>(a, [](T v, T o, T) { return o < v ? o : v; });
  case Op::maximum: return each<T>(a, [](T v, T o, T) { return v < o ? o : v; });
  case Op::swap_if_at_most: return each<T>(a, [](T v, T o, T c) { return c <= v ? o : v; });
  case Op::swap_if_less: return each<T>(a, [](T v, T o, T c) { return c < v ? o : v; });
  case Op::swap_if_at_least: return each<T>(a, [](T v, T o, T c) { return c >= v ? o : v; });
  case Op::swap_if_greater: return each<T>(a, [](T v, T o, T c) { return c > v ? o : v; });
  default:
    if constexpr (std::is_integral_v<T>) {
      apply_to_bits<T>(a);
    }
  }
}

template <typename T> void apply_as(const Atomically& a) {
  switch (a.operation) {
  case Op::sum: return each<T>(a, [](T v, T o, T) { return sum(v, o); });
  case Op::product: return each<T>(a, [](T v, T o, T) { return product(v, o); });
  case Op::logical_or:
    return each<T>(a, [](T v, T o, T) { return of_truth<T>(is_true(v) || is_true(o)); });
  case Op::logical_and:
    return each<T>(a, [](T v, T o, T) { return of_truth<T>(is_true(v) && is_true(o)); });
  case Op::logical_xor:
    return each<T>(a, [](T v, T o, T) { return of_truth<T>(is_true(v) != is_true(o)); });
  case Op::read: return each<T>(a, [](T v, T, T) { return v; });
  case Op::write: return each<T>(a, [](T, T o, T) { return o; });
  case Op::swap_if_equal: return each<T>(a, [](T v, T o, T c) { return c == v ? o : v; });
  case Op::swap_if_different: return each<T>(a, [](T v, T o, T c) { return c != v ? o : v; });
  default:
    if constexpr (std::is_arithmetic_v<T>) {
      apply_to_ordered<T>(a);
    }
  }
}

} // namespace

void apply(const Atomically& a) {
  switch (a.type) {
  case AtomicType::int8: return apply_as<std::int8_t>(a);
  case AtomicType::uint8: return apply_as<std::uint8_t>(a);
  case AtomicType::int16: return apply_as<std::int16_t>(a);
  case AtomicType::uint16: return apply_as<std::uint16_t>(a);
  case AtomicType::int32: return apply_as<std::int32_t>(a);
  case AtomicType::uint32: return apply_as<std::uint32_t>(a);
  case AtomicType::int64: return apply_as<std::int64_t>(a);
  case AtomicType::uint64: return apply_as<std::uint64_t>(a);
  case AtomicType::float32: return apply_as<float>(a);
  case AtomicType::float64: return apply_as<double>(a);
  case AtomicType::complex32: return apply_as<std::complex<float>>(a);
  case AtomicType::complex64: return apply_as<std::complex<double>>(a);
  }
}

} // namespace tributary::messages
