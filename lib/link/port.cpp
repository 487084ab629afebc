#include "lib/link/port.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::link {

std::byte* Port::make_room() {
  if (used_ == burst_) {
    flush();
  }
  if (used_ == ready_ && ready_ < burst_) {
    ready_ += replenish(std::span(slots_).subspan(ready_, burst_ - ready_));
  }
  return used_ < ready_ ? slots_[used_].data : nullptr;
}

void Port::push(std::uint32_t length, std::span<const std::byte> rest) {
  Slot& slot = slots_[used_];
  if (rest.empty()) {
    // The frame is contiguous already.
  } else if (gathers_ && tap_ == nullptr) { // a tap sees whole frames
    slot.rest = rest;
    refers_ = true;
  } else {
    std::memcpy(slot.data + length, rest.data(), rest.size());
  }
  push(length + static_cast<std::uint32_t>(rest.size()));
}

void Port::keep_unsent() noexcept {
  if (!refers_) {
    return;
  }
  refers_ = false;
  for (std::size_t i = 0; i < used_; ++i) {
    Slot& slot = slots_[i];
    if (!slot.rest.empty()) {
      std::memcpy(slot.data + (slot.length - slot.rest.size()), slot.rest.data(), slot.rest.size());
      slot.rest = {};
    }
  }
}

void Port::flush() {
  if (pending() == 0) {
    return;
  }
  if (tap_ != nullptr) {
    // Before they leave: afterwards their buffers belong to the device.
    taps_ahead();
  }
  const std::size_t sent = transmit(std::span(slots_).first(used_));
  for (std::size_t i = 0; i < sent; ++i) {
    counts_.sent_bytes += slots_[i].length;
    slots_[i].rest = {};
  }
  counts_.sent_frames += sent;
  counts_.send_refusals += sent < used_ ? 1 : 0;
  tapped_ -= std::min(tapped_, sent);
  close_up(sent);
}

/// Moves buffers to the front, in place of sent ones.
void Port::close_up(std::size_t sent) {
  const auto begin = slots_.begin();
  const auto at = [&](std::size_t slot) { return begin + static_cast<std::ptrdiff_t>(slot); };
  if (sent == used_) {
    // Only spare ones are left, whose order does not matter: take the last of them, as many as are
    // missing.
    const std::size_t moved = std::min(sent, ready_ - used_);
    std::copy(at(ready_ - moved), at(ready_), begin);
  } else {
    std::rotate(begin, at(sent), at(ready_));
  }
  used_ -= sent;
  ready_ -= sent;
}

void Port::taps_ahead() {
  for (; tapped_ < used_; ++tapped_) {
    tap_->sent(*this, {slots_[tapped_].data, slots_[tapped_].length});
  }
}

std::span<const FrameView> Port::receive() {
  const std::size_t count = take(std::span(views_).first(burst_));
  for (std::size_t i = 0; i < count; ++i) {
    counts_.received_bytes += views_[i].length;
    if (tap_ != nullptr) {
      tap_->received(*this, {views_[i].data, views_[i].length});
    }
  }
  counts_.received_frames += count;
  return std::span(views_).first(count);
}

} // namespace tributary::link
