// Payloads of frames that wait: for an answer, or for the frames before them. Fixed number and
// length; memory that was never used costs nothing.
#pragma once

#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tributary::streams {

struct WaitingFrame {
  TimeNs sent_at;
  std::uint16_t length = 0;
  bool resent = false;
  bool lost = false; ///< to be sent again
};

class FramePool {
public:
  static constexpr std::uint16_t none = 0xFFFF;

  FramePool(std::size_t count, std::size_t payload)
      : frames_(count), stride_(payload),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(count * payload)) {
    free_.reserve(count);
    for (std::size_t i = count; i-- > 0;) {
      free_.push_back(static_cast<std::uint16_t>(i));
    }
  }

  [[nodiscard]] std::size_t free() const { return free_.size(); }
  /// One that has much gets more only while more is free than that: something is left for others.
  [[nodiscard]] bool has_share(std::size_t held) const { return held < 2 * free_.size(); }
  /// Requires that one is free.
  std::uint16_t take() {
    const std::uint16_t i = free_.back();
    free_.pop_back();
    frames_[i] = {};
    return i;
  }
  void give_back(std::uint16_t i) { free_.push_back(i); }

  [[nodiscard]] WaitingFrame& operator[](std::uint16_t i) { return frames_[i]; }
  [[nodiscard]] std::byte* bytes_of(std::uint16_t i) { return &bytes_[i * stride_]; }
  [[nodiscard]] std::span<const std::byte> payload_of(std::uint16_t i) const {
    return {&bytes_[i * stride_], frames_[i].length};
  }

private:
  std::vector<WaitingFrame> frames_;
  std::size_t stride_;
  std::unique_ptr<std::byte[]> bytes_;
  std::vector<std::uint16_t> free_;
};

} // namespace tributary::streams
