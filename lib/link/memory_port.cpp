#include "lib/link/memory_port.hpp"

#include <algorithm>

namespace tributary::link {
namespace {

constexpr std::size_t cache_line = 64;

} // namespace

FrameBuffers::FrameBuffers(std::size_t count, std::uint32_t longest_frame)
    : longest_frame_(longest_frame) {
  const std::size_t stride = (longest_frame + cache_line - 1) / cache_line * cache_line;
  // Uninitialised: unused buffers take no memory.
  bytes_ = std::make_unique_for_overwrite<std::byte[]>(count * stride);
  free_.reserve(count);
  for (std::size_t i = count; i > 0; --i) {
    free_.push_back(&bytes_[(i - 1) * stride]);
  }
}

std::byte* FrameBuffers::take() {
  if (free_.empty()) {
    return nullptr;
  }
  std::byte* buffer = free_.back();
  free_.pop_back();
  return buffer;
}

std::pair<std::unique_ptr<MemoryPort>, std::unique_ptr<MemoryPort>>
MemoryPort::joined(std::uint32_t longest_frame, const wire::MacAddress& address) {
  // Both queues full, and at both ports a burst to send and a received one.
  auto buffers =
      std::make_shared<FrameBuffers>(2 * FrameQueue::capacity + 4 * burst, longest_frame);
  auto there = std::make_shared<FrameQueue>();
  auto back = std::make_shared<FrameQueue>();
  return {std::unique_ptr<MemoryPort>(new MemoryPort(buffers, there, back, address)),
          std::unique_ptr<MemoryPort>(new MemoryPort(buffers, back, there, address))};
}

std::size_t MemoryPort::transmit(std::span<Slot> slots) {
  const std::size_t count = std::min(slots.size(), FrameQueue::capacity - out_->size());
  for (const Slot& slot : slots.first(count)) {
    out_->push({slot.data, slot.length});
  }
  return count;
}

std::size_t MemoryPort::replenish(std::span<Slot> slots) {
  std::size_t count = 0;
  for (Slot& slot : slots) {
    slot.data = buffers_->take();
    if (slot.data == nullptr) {
      break;
    }
    ++count;
  }
  return count;
}

std::size_t MemoryPort::take(std::span<FrameView> views) {
  for (std::size_t i = 0; i < taken_count_; ++i) {
    buffers_->give_back(taken_[i]);
  }
  taken_count_ = std::min(views.size(), in_->size());
  for (std::size_t i = 0; i < taken_count_; ++i) {
    views[i] = in_->pop();
    taken_[i] = views[i].data;
  }
  return taken_count_;
}

} // namespace tributary::link
