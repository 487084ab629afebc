// The few frames that the control thread sends and receives itself: hellos and LLDP. They cross
// between it and a worker by copy, on one ring each way per worker and kind: one producer, one
// consumer, no lock, and nobody waits for anybody. What does not fit is dropped: `delivery_full`
// counts it on its way up; on its way down the sender is told. LLDP has rings of its own, so that
// who sends much of it loses nobody's hellos. Beside them, links that workers found down or good
// again.
#pragma once

#include "dataplane/liveness/links.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/hello.hpp"

#include <boost/lockfree/spsc_queue.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary::worker {

template <std::size_t longest> struct CopiedFrame {
  std::uint8_t switch_index = 0;
  PortNumber port; ///< where the frame came in, or must leave
  std::uint16_t length = 0;
  std::array<std::byte, longest> bytes;

  CopiedFrame() = default; // leaves the bytes as they are
  /// Keeps of a longer frame as much as fits.
  CopiedFrame(std::size_t switch_number, PortNumber at, std::span<const std::byte> frame)
      : switch_index(static_cast<std::uint8_t>(switch_number)), port(at),
        length(static_cast<std::uint16_t>(std::min(frame.size(), longest))) {
    std::memcpy(bytes.data(), frame.data(), length);
  }
  [[nodiscard]] std::span<const std::byte> view() const { return std::span(bytes).first(length); }
};

using ControlFrame = CopiedFrame<wire::longest_hello_frame_bytes>;
/// The longest frame of a link with the usual MTU.
using LldpFrame = CopiedFrame<1514>;

inline constexpr std::size_t control_ring_frames = 512;
using ControlRing =
    boost::lockfree::spsc_queue<ControlFrame, boost::lockfree::capacity<control_ring_frames>>;
/// Twice as many as a switch has ports.
using LldpRing = boost::lockfree::spsc_queue<LldpFrame, boost::lockfree::capacity<2 * max_ports>>;

/// A link that hellos say is down, or good again.
struct LinkEvent {
  std::uint8_t switch_index = 0;
  liveness::Change change;
};
using LinkEventRing =
    boost::lockfree::spsc_queue<LinkEvent, boost::lockfree::capacity<control_ring_frames>>;

/// Between the control thread and one worker.
struct ControlRings {
  ControlRing delivered;     ///< the worker's, to the control thread
  LinkEventRing link_events; ///< the worker's, to the control thread
  ControlRing to_send;       ///< the control thread's, to the worker
  LldpRing lldp_delivered;   ///< the worker's, to the control thread
  LldpRing lldp_to_send;     ///< the control thread's, to the worker
};

} // namespace tributary::worker
