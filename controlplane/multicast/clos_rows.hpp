// Rows of floats for loops over sixteen at a time, whatever registers the processor has.
//
// A row is a multiple of `lanes` long and begins at a cache line. `Lanes` is the vector type of GCC
// and clang: the compiler splits it into registers of the current version (multiversion.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace tributary::multicast {

inline constexpr std::uint32_t lanes = 16;
using Lanes = float __attribute__((vector_size(lanes * sizeof(float))));
/// Alignment for the widest version; `alignof(Lanes)` is the baseline's.
inline constexpr std::align_val_t row_alignment{sizeof(Lanes)};

template <typename T> struct RowAllocator {
  using value_type = T;
  RowAllocator() = default;
  template <typename U> explicit RowAllocator(const RowAllocator<U>&) {}
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), row_alignment));
  }
  void deallocate(T* rows, std::size_t) { ::operator delete(rows, row_alignment); }
  friend bool operator==(const RowAllocator&, const RowAllocator&) = default;
};

using Rows = std::vector<float, RowAllocator<float>>;

/// The length of a row for this many floats.
[[nodiscard]] constexpr std::uint32_t row_length(std::size_t floats) {
  return (static_cast<std::uint32_t>(floats) + lanes - 1) / lanes * lanes;
}

} // namespace tributary::multicast
