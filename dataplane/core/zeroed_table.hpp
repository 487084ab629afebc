// A large array of all-zero records, aligned to cache lines, whose untouched pages cost nothing.
//
// The core's tables have one record for each reduction key, so that a key is an address and no
// look-up structure is needed. Most switches use a few of them: the memory comes from calloc, which
// maps zero pages, and is never initialised explicitly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace tributary::core {

/// `T` must be meaningful when all its bytes are zero.
template <typename T> class ZeroedTable {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static constexpr std::size_t line_bytes = 64;
  static_assert(alignof(T) <= line_bytes);

public:
  explicit ZeroedTable(std::size_t size) : memory_(std::calloc(size * sizeof(T) + line_bytes, 1)) {
    if (memory_ == nullptr) {
      throw std::bad_alloc();
    }
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    first_ = reinterpret_cast<T*>((address + line_bytes - 1) / line_bytes * line_bytes);
  }

  [[nodiscard]] T& operator[](std::size_t i) { return first_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return first_[i]; }

private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> memory_;
  T* first_;
};

} // namespace tributary::core
