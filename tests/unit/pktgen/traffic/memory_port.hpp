// A port of the generator that leads only to the test.
#pragma once

#include "lib/link/port.hpp"
#include "pktgen/scenario/port_index.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace tributary::pktgen::traffic::test {

using Bytes = std::vector<std::byte>;

class MemoryPort : public link::Port {
public:
  explicit MemoryPort(std::uint8_t number = 0, std::uint32_t longest = 9000)
      : number_(number), longest_(longest) {
    for (auto& buffer : buffers_) {
      buffer.resize(longest);
      free_.push_back(buffer.data());
    }
  }

  [[nodiscard]] std::uint32_t longest_frame() const override { return longest_; }
  [[nodiscard]] wire::MacAddress address() const override { return {0x06, 0, 0, 0, 0, number_}; }
  [[nodiscard]] std::string description() const override { return "memory"; }

  /// Frames the device takes from now on before it is full.
  std::size_t takes = ~std::size_t{0};
  /// Whether sent frames are kept; they are counted in any case.
  bool keeps = true;
  std::vector<Bytes> sent;

  [[nodiscard]] std::vector<Bytes> take_sent() { return std::exchange(sent, {}); }

private:
  std::size_t transmit(std::span<Slot> slots) override {
    const std::size_t count = std::min(takes, slots.size());
    takes -= count;
    for (const Slot& slot : slots.first(count)) {
      if (keeps) {
        sent.emplace_back(slot.data, slot.data + slot.length);
      }
      free_.push_back(slot.data);
    }
    return count;
  }
  std::size_t replenish(std::span<Slot> slots) override {
    for (Slot& slot : slots) {
      slot.data = free_.back();
      free_.pop_back();
    }
    return slots.size();
  }
  std::size_t take(std::span<FrameView>) override { return 0; }

  std::uint8_t number_;
  std::uint32_t longest_;
  std::array<Bytes, 2 * burst> buffers_;
  std::vector<std::byte*> free_;
};

} // namespace tributary::pktgen::traffic::test
