// One frame port for all programs except switches: sends and receives frames. The implementation
// decides on the device: a raw socket, a DPDK device, a ring to a switch in the same process, or
// memory. For a device with several queues it is one queue pair: several Ports share the device,
// each with a thread of its own.
//
// How to use it (one thread at a time):
//
//   sending     std::byte* frame = port.room();           null: the port takes nothing at present
//               ...write up to port.longest_frame() bytes...
//               port.push(length);                        sent with the burst it belongs to
//               port.flush();                             pushed frames leave
//               port.push(length, rest);                  for a frame whose end is elsewhere, and
//                                                         stays there until
//               port.keep_unsent();                            frames that have not left are copied
//   receiving   for (const FrameView& f : port.receive()) ...            valid until the next call
//   waiting     wait(port.fd(), timeout_ns, port.pending() > 0)          wait.hpp
//
// flush, push, receive and, if all slots are taken, room throw if the device is down or gone: a
// runtime_error whose text says what to do. Pushed frames stay. A full device is not an error.
//
// Received frames may be shared with other ports (one multicast, several ports): they are
// read-only.
//
// A frame counts as sent when the device or the kernel has taken it; refused frames stay in the
// burst and are offered again. Frames are Ethernet frames without their FCS; their contents do not
// matter here.
//
// `room` and `push` access arrays only; virtual calls are made once per burst. Nothing is allocated
// after construction.
#pragma once

#include "tributary/frame_view.hpp"
#include "tributary/wire/ethernet.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tributary::link {

class FrameTap;

/// Counters of one port since it was opened. Bytes without the FCS.
struct PortCounts {
  std::uint64_t sent_frames = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_frames = 0;
  std::uint64_t received_bytes = 0;
  /// Frames that the kernel or the device dropped before we could take them.
  std::uint64_t receive_drops = 0;
  /// Received frames longer than their buffer: cut, and counted among the received.
  std::uint64_t received_cut = 0;
  /// Number of times that a burst was not taken completely: the device or the kernel was full.
  std::uint64_t send_refusals = 0;
};

class Port {
public:
  /// Frames sent or received per call, unless the port was made with another number.
  static constexpr std::size_t burst = 32;
  static constexpr std::size_t longest_burst = 64;

  virtual ~Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  /// Where the next frame may be written; null if the port takes no more at present.
  [[nodiscard]] std::byte* room() { return used_ < ready_ ? slots_[used_].data : make_room(); }
  /// The frame last written to `room()` is complete.
  void push(std::uint32_t length) {
    slots_[used_++].length = length;
    if (used_ == burst_) {
      flush();
    }
  }
  /// The same for a frame that continues with `rest` after the `length` bytes in `room()`; room for
  /// both is required. Some ports send the rest in place, so it must not change until
  /// `keep_unsent`.
  void push(std::uint32_t length, std::span<const std::byte> rest);
  /// Offers pushed frames to the device.
  void flush();
  /// From now on pushed frames need no memory but the port's.
  void keep_unsent() noexcept;
  /// Frames the device has taken since the port was opened.
  [[nodiscard]] std::uint64_t sent_frames() const { return counts_.sent_frames; }
  /// Pushed, and not sent yet: the device has not taken them, or must be called again.
  [[nodiscard]] std::size_t pending() const { return used_ + held_; }

  /// Whether `receive` may have frames or an error. For polling callers; a port that cannot know
  /// returns true.
  [[nodiscard]] virtual bool may_receive() { return true; }
  /// The waiting frames, at most `frames_at_once()` of them.
  [[nodiscard]] std::span<const FrameView> receive();
  [[nodiscard]] std::size_t frames_at_once() const { return burst_; }

  /// Becomes readable when frames or an error wait; negative if the port has no descriptor and must
  /// be polled.
  [[nodiscard]] virtual int fd() const { return -1; }
  [[nodiscard]] virtual std::uint32_t longest_frame() const = 0;
  /// Bytes that fit after an Ethernet header.
  [[nodiscard]] std::uint32_t mtu() const {
    return longest_frame() - static_cast<std::uint32_t>(wire::ethernet_header_bytes);
  }
  /// Allows frames of this length from now on, as far as the device does, and requests this buffer
  /// size for received frames that wait. For ports that were opened for short frames. Cold:
  /// allocates. Requires that nothing is pending; frames from `receive` become invalid.
  virtual void enlarge(std::uint32_t /*longest_frame*/, std::size_t /*receive_buffer_bytes*/) {}
  /// Unicast frames of other end points need not be received from now on. Cold.
  virtual void filter_end_point(std::uint16_t /*number*/) {}
  /// Number of the longest frames that may wait before one is dropped.
  [[nodiscard]] virtual std::size_t receive_room() const { return burst_; }
  /// The source address for frames of this port.
  [[nodiscard]] virtual wire::MacAddress address() const = 0;
  /// For operators: "raw socket on veth0", "ring leaf0.p1".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Updates the device's own counters, and returns all. Cold.
  [[nodiscard]] virtual const PortCounts& counts() { return counts_; }
  /// Why no frame can pass, as text; empty if no reason is known. Cold: queries the kernel or the
  /// device.
  [[nodiscard]] virtual std::string error() { return {}; }
  [[nodiscard]] bool up() { return error().empty(); }
  /// 0 if unknown. Cold.
  [[nodiscard]] virtual std::uint32_t speed_mbps() const { return 0; }
  /// Copies all frames, sent and received, to this tap; null ends that. The tap is not owned.
  void set_tap(FrameTap* tap) { tap_ = tap; }

protected:
  struct Slot {
    std::byte* data = nullptr;
    void* handle = nullptr; ///< owned by the implementation
    std::uint32_t length = 0;
    /// The end of the frame, instead of after `data`; for gathering ports. `length` includes both.
    std::span<const std::byte> rest{};
  };
  /// Whether `transmit` sends a slot's `rest` in place. Other ports never get one.
  enum class Gathers : bool { no, yes };
  Port() = default;
  /// `frames_at_once` is at most `longest_burst`.
  explicit Port(std::size_t frames_at_once, Gathers gathers = Gathers::no)
      : burst_(frames_at_once), gathers_(gathers == Gathers::yes) {}

  /// The slots that have a buffer. An implementation that does not own its buffers returns them at
  /// its end.
  [[nodiscard]] std::span<Slot> stocked() { return std::span(slots_).first(ready_); }

  /// Sends the first of these slots and returns how many; the device then owns their buffers.
  /// `slots` is empty only if frames are held back. Throws, without having sent anything, if the
  /// device cannot send and an operator has to act.
  virtual std::size_t transmit(std::span<Slot> slots) = 0;
  /// Gives each of these slots a buffer; returns how many got one.
  virtual std::size_t replenish(std::span<Slot> slots) = 0;
  /// Fills `views`, returns how many. They stay valid until the next call.
  virtual std::size_t take(std::span<FrameView> views) = 0;

  /// Drops the buffers without pushed frames. Requires that nothing is pending.
  void forget_buffers() { ready_ = 0; }

  PortCounts counts_;
  /// Frames that the device has taken, and will not send unless `transmit` is called again,
  /// possibly without slots.
  std::size_t held_ = 0;

private:
  std::byte* make_room();
  void taps_ahead();
  void close_up(std::size_t sent);

  std::array<Slot, longest_burst> slots_{};
  std::size_t burst_ = burst;
  std::size_t used_ = 0;   ///< pushed
  std::size_t ready_ = 0;  ///< slots with a buffer, including pushed ones
  std::size_t tapped_ = 0; ///< pushed ones that the tap has seen
  bool gathers_ = false;
  bool refers_ = false; ///< some slots have a rest, or had
  std::array<FrameView, longest_burst> views_{};
  FrameTap* tap_ = nullptr;
};

/// Receives a copy of every frame that passes a port: --pcap.
class FrameTap {
public:
  virtual ~FrameTap() = default;
  virtual void sent(const Port& port, std::span<const std::byte> frame) = 0;
  virtual void received(const Port& port, std::span<const std::byte> frame) = 0;
};

} // namespace tributary::link
