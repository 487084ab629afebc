// Two ports joined in memory: each receives the other's frames, in order, immediately. Frames that
// do not fit are refused, none is lost. One thread uses both.
#pragma once

#include "lib/link/port.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tributary::link {

/// The buffers that two joined ports share. The last one returned is taken first.
class FrameBuffers {
public:
  FrameBuffers(std::size_t count, std::uint32_t longest_frame);
  /// Null if all are in use.
  [[nodiscard]] std::byte* take();
  void give_back(std::byte* buffer) { free_.push_back(buffer); }
  [[nodiscard]] std::uint32_t longest_frame() const { return longest_frame_; }

private:
  std::uint32_t longest_frame_;
  std::unique_ptr<std::byte[]> bytes_;
  std::vector<std::byte*> free_;
};

/// Frames on their way from one port to the other.
class FrameQueue {
public:
  static constexpr std::size_t capacity = 256;

  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  void push(FrameView frame) { frames_[end_++ % capacity] = frame; }
  [[nodiscard]] FrameView pop() { return frames_[begin_++ % capacity]; }

private:
  std::array<FrameView, capacity> frames_{};
  std::size_t begin_ = 0; ///< both only grow
  std::size_t end_ = 0;
};

class MemoryPort final : public Port {
public:
  [[nodiscard]] static std::pair<std::unique_ptr<MemoryPort>, std::unique_ptr<MemoryPort>>
  joined(std::uint32_t longest_frame, const wire::MacAddress& address);

  [[nodiscard]] std::uint32_t longest_frame() const override { return buffers_->longest_frame(); }
  [[nodiscard]] wire::MacAddress address() const override { return address_; }
  [[nodiscard]] std::string description() const override { return "memory"; }

private:
  MemoryPort(std::shared_ptr<FrameBuffers> buffers, std::shared_ptr<FrameQueue> out,
             std::shared_ptr<FrameQueue> in, const wire::MacAddress& address)
      : buffers_(std::move(buffers)), out_(std::move(out)), in_(std::move(in)), address_(address) {}
  std::size_t transmit(std::span<Slot> slots) override;
  std::size_t replenish(std::span<Slot> slots) override;
  std::size_t take(std::span<FrameView> views) override;

  std::shared_ptr<FrameBuffers> buffers_;
  std::shared_ptr<FrameQueue> out_;
  std::shared_ptr<FrameQueue> in_;
  wire::MacAddress address_;
  std::array<std::byte*, burst> taken_{};
  std::size_t taken_count_ = 0;
};

} // namespace tributary::link
