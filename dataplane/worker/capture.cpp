#include "dataplane/worker/capture.hpp"

#include "tributary/wire/portals.hpp"
#include "tributary/wire/reduction.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::worker {

CaptureTap::CaptureTap(const CaptureFilter& filter, const CaptureLimits& limits)
    : filter_(filter), frame_bytes_(std::clamp<std::uint32_t>(limits.frame_bytes, 64, 2048)),
      slots_(std::max<std::uint32_t>(limits.frames, 1)), bytes_(slots_.size() * frame_bytes_),
      free_(slots_.size()), filled_(slots_.size()) {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    free_.push(i);
  }
}

bool CaptureTap::wants(std::size_t switch_index, PortNumber port, Direction direction,
                       const std::byte* frame, std::uint32_t length) const {
  if ((filter_.switch_index && *filter_.switch_index != switch_index) ||
      (filter_.port && *filter_.port != port) ||
      (filter_.direction && *filter_.direction != direction)) {
    return false;
  }
  const bool reads_header = filter_.tree || filter_.vni || filter_.cookie;
  if (!reads_header && !filter_.kind) {
    return true;
  }
  const wire::Packet packet = wire::packet_of({frame, length});
  const wire::FrameKind kind = wire::kind_of(packet);
  if (filter_.kind && *filter_.kind != kind) {
    return false;
  }
  if (!reads_header) {
    return true;
  }
  if (!wire::has_fabric_header(packet) ||
      (filter_.vni && wire::vni_of(packet.bytes.data()) != *filter_.vni)) {
    return false;
  }
  if (filter_.tree) {
    const wire::FabricAddress address = wire::dfa_of(packet.bytes.data());
    if (!address.is_multicast() || address.tree() != *filter_.tree) {
      return false;
    }
  }
  return !filter_.cookie ||
         (wire::has_cookie(kind) && packet.bytes.size() >= wire::reduction_offset::word &&
          wire::cookie_of(packet.bytes.data()) == *filter_.cookie);
}

void CaptureTap::offer(TimeNs now, std::size_t switch_index, PortNumber port, Direction direction,
                       const std::byte* frame, std::uint32_t contiguous, std::uint32_t length) {
  if (!wants(switch_index, port, direction, frame, contiguous)) {
    return;
  }
  std::uint32_t index = 0;
  if (!free_.pop(index)) {
    missed_.store(missed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return;
  }
  Slot& slot = slots_[index];
  slot = {.time = now,
          .switch_index = static_cast<std::uint32_t>(switch_index),
          .length = length,
          .kept = std::min(contiguous, frame_bytes_),
          .port = port,
          .direction = direction};
  std::memcpy(bytes_.data() + std::size_t{index} * frame_bytes_, frame, slot.kept);
  filled_.push(index);
}

std::size_t CaptureTap::drain(const std::function<void(const CapturedFrame&)>& f) {
  std::size_t count = 0;
  // Limited to the slots filled at the beginning: a busy port must not hold the caller.
  for (std::uint32_t index = 0; count < slots_.size() && filled_.pop(index); ++count) {
    const Slot& slot = slots_[index];
    f({.time = slot.time,
       .switch_index = slot.switch_index,
       .port = slot.port,
       .direction = slot.direction,
       .original_length = slot.length,
       .bytes = {bytes_.data() + std::size_t{index} * frame_bytes_, slot.kept}});
    free_.push(index);
  }
  return count;
}

std::size_t Capture::drain(const std::function<void(const CapturedFrame&)>& f) {
  std::size_t count = 0;
  for (auto& tap : taps_) {
    count += tap->drain(f);
  }
  return count;
}

std::uint64_t Capture::missed() const {
  std::uint64_t sum = 0;
  for (const auto& tap : taps_) {
    sum += tap->missed();
  }
  return sum;
}

} // namespace tributary::worker
