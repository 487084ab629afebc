// The few frames that the control thread sends and receives itself: hellos and LLDP. They cross
// between it and a worker by copy, on one ring each way per worker and kind: one producer, one
// consumer, no lock, no waiting. Frames that do not fit are dropped: towards the control thread
// `delivery_full` counts them; towards the worker the sender gets false. LLDP has rings of its own,
// so that a flood of it cannot displace hellos. Link state changes found by workers travel beside
// them.
#pragma once

#include "dataplane/liveness/links.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/hello.hpp"

#include <boost/lockfree/spsc_queue.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary::worker {

template <std::size_t longest> struct CopiedFrame {
  std::uint8_t switch_index = 0;
  PortNumber port; ///< ingress port, or the port to leave by
  std::uint16_t length = 0;
  std::array<std::byte, longest> bytes;

  CopiedFrame() = default; // leaves the bytes uninitialised
  /// Keeps as much of a longer frame as fits.
  CopiedFrame(std::size_t switch_number, PortNumber at, std::span<const std::byte> frame)
      : switch_index(static_cast<std::uint8_t>(switch_number)), port(at),
        length(static_cast<std::uint16_t>(std::min(frame.size(), longest))) {
    std::memcpy(bytes.data(), frame.data(), length);
  }
  [[nodiscard]] std::span<const std::byte> view() const { return std::span(bytes).first(length); }
};

using ControlFrame = CopiedFrame<wire::longest_hello_frame_bytes>;
/// The longest frame of a link with the default MTU.
using LldpFrame = CopiedFrame<1514>;

inline constexpr std::size_t control_ring_frames = 512;
using ControlRing =
    boost::lockfree::spsc_queue<ControlFrame, boost::lockfree::capacity<control_ring_frames>>;
/// Room for twice as many frames as a switch has ports.
using LldpRing = boost::lockfree::spsc_queue<LldpFrame, boost::lockfree::capacity<2 * max_ports>>;

/// A link that became unusable, or usable again, according to hellos.
struct LinkEvent {
  std::uint8_t switch_index = 0;
  liveness::Change change;
};
using LinkEventRing =
    boost::lockfree::spsc_queue<LinkEvent, boost::lockfree::capacity<control_ring_frames>>;

/// Rings between the control thread and one worker.
struct alignas(64) ControlRings {
  /// Number of pushes into `to_send` and `lldp_to_send`, incremented after each: a worker reads
  /// this in each iteration, and the rings only when it has changed.
  std::atomic<std::uint64_t> asked_to_send{0};
  /// By the control thread only. False: no room.
  bool ask_to_send(const ControlFrame& frame) { return counted(to_send.push(frame)); }
  bool ask_to_send(const LldpFrame& frame) { return counted(lldp_to_send.push(frame)); }

  ControlRing delivered;     ///< from the worker to the control thread
  LinkEventRing link_events; ///< from the worker to the control thread
  ControlRing to_send;       ///< from the control thread to the worker
  LldpRing lldp_delivered;   ///< from the worker to the control thread
  LldpRing lldp_to_send;     ///< from the control thread to the worker

private:
  bool counted(bool pushed) {
    asked_to_send.store(asked_to_send.load(std::memory_order_relaxed) + (pushed ? 1 : 0),
                        std::memory_order_release);
    return pushed;
  }
};

} // namespace tributary::worker
