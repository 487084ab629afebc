// A port on AF_XDP sockets: frames are received through memory that the kernel and this process
// share, without a system call; sending takes one per burst.
//
//   receive queue 0 .. n-1   a socket each, as our program leaves a frame at its receive queue
//   transmit                 through the first one
//   everything else          stays with the kernel: IP, and other EtherTypes
//
// It has exclusive use of the interface's frames of its EtherType: other programs, including those
// with raw sockets, do not get them while it is open. It needs the capabilities CAP_NET_RAW,
// CAP_NET_ADMIN and CAP_BPF, and Linux 5.9.
//
//   kernel error             meaning
//   EAGAIN, EBUSY, ENOBUFS   full: held back, retried at the next flush
//   ENETDOWN                 the interface is down: LinkError; pushed frames leave once it is up
//   ENXIO, ENODEV            it is gone: LinkError
//
// Only sending detects that an interface went down or away: there is nothing to receive.
//
// The MTU and the options limit frames, and 3,840 bytes at most: a page is the kernel's limit for a
// buffer. The kernel drops and counts frames for which the sockets have no room.
#pragma once

#include "lib/link/packet_socket.hpp"
#include "lib/link/port.hpp"
#include "lib/link/xdp/xdp_steering.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tributary::link::xdp {

class AfXdpPort final : public Port {
public:
  struct Options {
    /// For received frames that wait, per receive queue; rounded to a power of two of 2 KiB
    /// buffers. Of 4 KiB ones, and so twice as much, if the MTU allows longer frames.
    std::size_t receive_buffer_bytes = std::size_t{1} << 20;
    std::uint32_t longest_frame = longest_possible;
    std::size_t frames_at_once = burst;
    /// The alternative, for messages about what is missing here.
    std::string otherwise = "use raw sockets";
  };
  /// A page, less the space that the kernel reserves in front of a frame.
  static constexpr std::uint32_t longest_possible = 4096 - 256;

  /// Throws LinkError if the interface does not exist, it is down, another XDP program is attached
  /// to it, another AF_XDP socket has one of its queues, or a privilege is missing.
  AfXdpPort(const std::string& interface, std::uint16_t ethertype, const Options& options);
  ~AfXdpPort() override;

  [[nodiscard]] int fd() const override;
  [[nodiscard]] bool may_receive() override;
  [[nodiscard]] std::uint32_t longest_frame() const override { return longest_frame_; }
  /// The buffers are those of its opening: callers with long frames must request them then.
  void enlarge(std::uint32_t longest_frame, std::size_t receive_buffer_bytes) override;
  [[nodiscard]] std::size_t receive_room() const override;
  [[nodiscard]] wire::MacAddress address() const override { return socket_.address(); }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] const PortCounts& counts() override;
  [[nodiscard]] std::string error() override;
  [[nodiscard]] std::uint32_t speed_mbps() const override;

private:
  struct Queue;
  struct Taken {
    Queue* queue;
    std::uint64_t address; ///< in the queue's memory
  };

  void open_queues(std::uint16_t ethertype, const Options& options);
  std::size_t transmit(std::span<Slot> slots) override;
  std::size_t replenish(std::span<Slot> slots) override;
  std::size_t take(std::span<FrameView> views) override;
  /// Makes the kernel process the frames in the ring; returns the errno, or 0.
  [[nodiscard]] int kick();
  void throw_of(int error) const;
  /// Takes back the buffers of sent frames.
  void reclaim();
  /// Gives the buffers of the last burst back to the kernel.
  void give_back();

  [[nodiscard]] std::uint32_t frame_within(std::uint32_t longest_frame) const;

  PacketSocket socket_;        ///< for promiscuous mode, and the interface's properties
  std::uint32_t buffer_bytes_; ///< per frame
  std::uint32_t longest_frame_;
  std::size_t receive_room_;              ///< per queue
  std::unique_ptr<XdpSteering> steering_; ///< outlives the queues
  std::vector<std::unique_ptr<Queue>> queues_;
  net::FileDescriptor all_queues_; ///< with several: readable when one of them is
  std::vector<std::byte*> free_;   ///< buffers to send from
  std::vector<Taken> taken_;
};

} // namespace tributary::link::xdp
