// One frame port for everybody who is not a switch: frames out, frames in. What lies behind it is
// the shell's affair: a raw socket, a DPDK device, a ring to a switch in the same process, or
// memory. Of a device with several queues it is one lane: as many Ports share the device, each with
// a thread of its own.
//
// How to use it (one thread at a time):
//
//   sending     std::byte* frame = port.room();           null: the port takes nothing right now
//               ...write up to port.longest_frame() bytes...
//               port.push(length);                        sent with the burst it belongs to
//               port.flush();                             what was pushed and not yet sent leaves
//               port.push(length, rest);                  of a frame whose end lies elsewhere, and
//                                                         stays there until
//               port.settle();                            what has not left by then is copied
//   receiving   for (const FrameView& f : port.receive()) ...            valid until the next call
//   waiting     wait(port.fd(), timeout_ns, port.pending() > 0)          wait.hpp
//
// flush, push, receive and, when all slots are taken, room throw when the device is down or gone: a
// runtime_error whose text says what to do. What was pushed stays. Full is no error.
//
// What is received may be shared with other ports (one multicast, several of them): it is only
// read.
//
// A frame counts as sent when the device or the kernel has taken it; what it refuses stays in the
// burst and is offered again. Frames are Ethernet frames without their FCS, and nothing more is
// known of them here.
//
// `room` and `push` touch arrays alone; the virtual calls come once a burst. Nothing is allocated
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

/// What went over one port since it was opened. Bytes without the FCS.
struct PortCounts {
  std::uint64_t sent_frames = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_frames = 0;
  std::uint64_t received_bytes = 0;
  /// Frames the kernel or the device says it had to drop before we could take them.
  std::uint64_t receive_drops = 0;
  /// Received frames that were longer than their room: cut to it, and counted among the received.
  std::uint64_t received_cut = 0;
  /// Times a burst was not taken whole: the device or the kernel was full.
  std::uint64_t send_refusals = 0;
};

class Port {
public:
  /// Frames that leave or come at once, unless the port was made with another number.
  static constexpr std::size_t burst = 32;
  static constexpr std::size_t longest_burst = 64;

  virtual ~Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  /// Where the next frame may be written; null when the port takes no more right now.
  [[nodiscard]] std::byte* room() { return used_ < ready_ ? slots_[used_].data : make_room(); }
  /// The frame last written to `room()` is complete.
  void push(std::uint32_t length) {
    slots_[used_++].length = length;
    if (used_ == burst_) {
      flush();
    }
  }
  /// The same of a frame that goes on with `rest` behind the `length` bytes in `room()`; room for
  /// both is required. Some ports send the rest from where it lies, so it must stay as it is until
  /// `settle`.
  void push(std::uint32_t length, std::span<const std::byte> rest);
  /// Offers what was pushed to the device.
  void flush();
  /// From now on no frame that was pushed needs any memory but the port's.
  void settle() noexcept;
  /// Frames the device has taken since the port was opened.
  [[nodiscard]] std::uint64_t sent_frames() const { return counts_.sent_frames; }
  /// Pushed, and not on their way yet: the device has not taken them, or wants to be asked again.
  [[nodiscard]] std::size_t pending() const { return used_ + held_; }

  /// Whether `receive` may have something to give, frames or an error. For those who look again and
  /// again; a port that cannot tell says yes.
  [[nodiscard]] virtual bool may_receive() { return true; }
  /// The frames that wait, at most `frames_at_once()` of them.
  [[nodiscard]] std::span<const FrameView> receive();
  [[nodiscard]] std::size_t frames_at_once() const { return burst_; }

  /// Becomes readable when frames or an error wait; negative where there is nothing to wait on and
  /// one has to look.
  [[nodiscard]] virtual int fd() const { return -1; }
  [[nodiscard]] virtual std::uint32_t longest_frame() const = 0;
  /// What fits behind an Ethernet header.
  [[nodiscard]] std::uint32_t mtu() const {
    return longest_frame() - static_cast<std::uint32_t>(wire::ethernet_header_bytes);
  }
  /// Lets frames be so long from now on, as far as the device allows, and asks for so much room for
  /// those that wait to be taken. For ports that were opened for short frames. Cold: allocates.
  /// Requires that nothing is pending; what `receive` gave is gone.
  virtual void enlarge(std::uint32_t /*longest_frame*/, std::size_t /*receive_buffer_bytes*/) {}
  /// How many of the longest frames may wait to be taken before one is dropped.
  [[nodiscard]] virtual std::size_t receive_room() const { return burst_; }
  /// The address frames of this port should bear as their source.
  [[nodiscard]] virtual wire::MacAddress address() const = 0;
  /// For a person: "raw socket on veth0", "ring leaf0.p1".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Refreshes what the device itself counts, and gives all. Cold.
  [[nodiscard]] virtual const PortCounts& counts() { return counts_; }
  /// Why nothing can get through, for a person; empty when nothing speaks against it. Cold: asks
  /// the kernel or the device.
  [[nodiscard]] virtual std::string error() { return {}; }
  [[nodiscard]] bool up() { return error().empty(); }
  /// 0 when nobody knows. Cold.
  [[nodiscard]] virtual std::uint32_t speed_mbps() const { return 0; }
  /// Copies of all frames go to this one, sent and received; null ends that. The tap is not owned.
  void set_tap(FrameTap* tap) { tap_ = tap; }

protected:
  struct Slot {
    std::byte* data = nullptr;
    void* handle = nullptr; ///< the shell's
    std::uint32_t length = 0;
    /// The end of the frame lies there, and not behind `data`; of ports that gather. `length` is
    /// that of both.
    std::span<const std::byte> rest{};
  };
  /// Whether `transmit` sends a slot's `rest` from where it is. Other ports are never given one.
  enum class Gathers : bool { no, yes };
  Port() = default;
  /// `frames_at_once` is at most `longest_burst`.
  explicit Port(std::size_t frames_at_once, Gathers gathers = Gathers::no)
      : burst_(frames_at_once), gathers_(gathers == Gathers::yes) {}

  /// The slots that have a buffer. A shell whose buffers are not its own gives them back at its
  /// end.
  [[nodiscard]] std::span<Slot> stocked() { return std::span(slots_).first(ready_); }

  /// Sends the first of these slots and says how many; their buffers are the device's then. There
  /// are none only where it holds some back. Throws
  /// when the device can send no more and a person has to do something about it; then nothing was
  /// sent.
  virtual std::size_t transmit(std::span<Slot> slots) = 0;
  /// Gives each of these slots a buffer; says how many got one.
  virtual std::size_t replenish(std::span<Slot> slots) = 0;
  /// Fills `views`, says how many. They stay valid until the next call.
  virtual std::size_t take(std::span<FrameView> views) = 0;

  /// Forgets the buffers that nothing was pushed into. Requires that nothing is pending.
  void forget_buffers() { ready_ = 0; }

  PortCounts counts_;
  /// Frames that the device has taken, and will not send unless `transmit` is called again, be it
  /// without slots.
  std::size_t held_ = 0;

private:
  std::byte* make_room();
  void taps_ahead();
  void close_up(std::size_t sent);

  std::array<Slot, longest_burst> slots_{};
  std::size_t burst_ = burst;
  std::size_t used_ = 0;   ///< pushed
  std::size_t ready_ = 0;  ///< slots with a buffer, pushed ones included
  std::size_t tapped_ = 0; ///< pushed ones that the tap has seen
  bool gathers_ = false;
  bool refers_ = false; ///< some slots have a rest, or had
  std::array<FrameView, longest_burst> views_{};
  FrameTap* tap_ = nullptr;
};

/// Sees every frame that passes a port: --pcap.
class FrameTap {
public:
  virtual ~FrameTap() = default;
  virtual void sent(const Port& port, std::span<const std::byte> frame) = 0;
  virtual void received(const Port& port, std::span<const std::byte> frame) = 0;
};

} // namespace tributary::link
