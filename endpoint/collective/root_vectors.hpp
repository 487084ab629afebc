// Where a root keeps vectors: for each id of the range, by its place, what it gathers, on each
// tree, and the last result, which it sends again to leaves that missed it. So leaves may
// contribute to the next piece of an id while the last one's result is still being asked for.
//
// One area, allocated with the root; pages are touched on first use.
#pragma once

#include "tributary/reduce/wide_kernel.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace tributary::collective {

class RootVectors {
public:
  RootVectors() = default;
  /// `payload`: the longest one, in bytes, a multiple of 64.
  RootVectors(std::size_t slots, std::size_t trees, std::size_t payload)
      : trees_(trees), payload_(payload),
        memory_(static_cast<std::byte*>(
            ::operator new((slots * (2 * trees + 1) + 1) * payload, alignment))) {}

  /// Room for sums in elements twice as wide.
  [[nodiscard]] std::byte* gathered(std::size_t place, std::size_t tree) {
    return of(place) + 2 * tree * payload_;
  }
  [[nodiscard]] std::byte* result(std::size_t place) { return of(place) + 2 * trees_ * payload_; }
  /// For one vector that is assembled and used immediately.
  [[nodiscard]] std::byte* scratch() { return memory_.get(); }

private:
  static constexpr std::align_val_t alignment{reduce::wide_slot_alignment};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };
  [[nodiscard]] std::byte* of(std::size_t place) {
    return memory_.get() + (place * (2 * trees_ + 1) + 1) * payload_;
  }

  std::size_t trees_ = 0;
  std::size_t payload_ = 0;
  std::unique_ptr<std::byte, Free> memory_;
};

} // namespace tributary::collective
