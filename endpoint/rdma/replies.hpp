// Frames that belong to no context, or to one that is gone: DONE, NOCTX, refusals. Fixed room; one
// that finds none is counted, and generated again when the peer repeats its request.
#pragma once

#include "tributary/wire/rdma.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::rdma {

struct Reply {
  static constexpr std::uint16_t no_single = 0xFFFF;
  wire::RdmaHeader header;
  std::uint16_t single = no_single; ///< in a RESEND: the one frame it asks for, from WBASE on
};

class Replies {
public:
  static constexpr std::size_t capacity = 1024;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const Reply& front() const { return ring_[first_]; }
  [[nodiscard]] bool push(const Reply& reply) {
    if (size_ == capacity) {
      return false;
    }
    ring_[(first_ + size_++) % capacity] = reply;
    return true;
  }
  void pop() {
    first_ = (first_ + 1) % capacity;
    --size_;
  }

private:
  std::vector<Reply> ring_ = std::vector<Reply>(capacity);
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

} // namespace tributary::rdma
