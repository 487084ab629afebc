// What a port's queues need of frames, and of the device that sends them; port_queues.hpp describes
// the use.
#pragma once

#include "dataplane/egress/drop_reason.hpp"
#include "tributary/types.hpp"

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tributary::egress {

/// Requirements on frames.
template <typename F>
concept FrameAccess = std::is_trivially_copyable_v<typename F::Handle> &&
    requires(const F& frames, typename F::Handle handle) {
  { frames.length(handle) } -> std::convertible_to<std::uint32_t>;
};

/// Frames of which some can be trimmed.
template <typename F>
concept TrimsFrames = FrameAccess<F> && requires(const F& frames, typename F::Handle handle) {
  { frames.trim(handle) } -> std::same_as<bool>; // may change the handle, too
  { frames.was_trimmed(handle) } -> std::same_as<bool>;
};

/// Requirements on a device.
template <typename D, typename Handle>
concept DeviceFor = requires(D& device, Handle* frames, std::uint16_t count, TrafficClass c,
                             DropReason why) {
  { device.transmit(frames, count, c) } -> std::convertible_to<std::uint16_t>;
  device.drop(frames, count, c, why);
};

} // namespace tributary::egress
