// The part of a transfer that is not in its receive context: what a read asks for, and what its
// owner gets at the end; the same for a write with immediate data.
#pragma once

#include "endpoint/rdma/regions.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::rdma {

struct Work {
  std::uint64_t user = 0; ///< for a read the owner's value; for a write the immediate data
  RegionKey key{};
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t busy = 0; ///< for a read: how often the peer was busy
};

class Works {
public:
  explicit Works(std::size_t count) : works_(count) {
    free_.reserve(count);
    for (std::size_t i = count; i-- > 0;) {
      free_.push_back(static_cast<std::uint16_t>(i));
    }
  }
  [[nodiscard]] Work& operator[](std::size_t i) { return works_[i]; }
  [[nodiscard]] std::optional<std::uint16_t> allocate(const Work& work) {
    if (free_.empty()) {
      return std::nullopt;
    }
    const std::uint16_t i = free_.back();
    free_.pop_back();
    works_[i] = work;
    return i;
  }
  void free(std::uint16_t i) { free_.push_back(i); }
  [[nodiscard]] bool full() const { return free_.empty(); }

private:
  std::vector<Work> works_;
  std::vector<std::uint16_t> free_;
};

} // namespace tributary::rdma
