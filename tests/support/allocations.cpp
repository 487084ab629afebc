#include "tests/support/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {
std::size_t count = 0;
} // namespace

std::size_t tributary::test::allocations() { return count; }

// Those that do not throw, too: a sanitizer's own would not match this delete.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(size);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
