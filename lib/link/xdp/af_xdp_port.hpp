// A port on AF_XDP sockets: frames are received through memory that the kernel and this process
// share, without a system call; sending takes one a burst.
//
//   receive queue 0 .. n-1   a socket each, for our program leaves a frame at the queue it came to
//   transmit                 through the first one
//   everything else          stays with the kernel: IP, and other EtherTypes
//
// It has the interface's frames of its EtherType for itself: another program of any kind, and raw
// sockets too, do not get them while it is open. It needs the capabilities CAP_NET_RAW,
// CAP_NET_ADMIN and CAP_BPF, and Linux 5.9.
//
//   the kernel says          means
//   EAGAIN, EBUSY, ENOBUFS   full: held back, asked again with the next flush
//   ENETDOWN                 the interface is down: LinkError; what was pushed leaves once it is up
//   ENXIO, ENODEV            it is gone: LinkError
//
// An interface that goes down or away is noticed by those who send: there is nothing to receive.
//
// Frames are as long as the MTU and the options allow, and 3,840 bytes at most: a page is the most
// that the kernel takes for a buffer. What the sockets have no room for the kernel drops, and
// counts.
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
    /// For frames received and not yet taken, of each receive queue; rounded to a power of two of
    /// 2 KiB buffers. Of 4 KiB ones, and so twice as much, where the MTU allows longer frames.
    std::size_t receive_buffer_bytes = std::size_t{1} << 20;
    std::uint32_t longest_frame = longest_possible;
    std::size_t frames_at_once = burst;
    /// What else one can do, for a person; for messages of what is missing here.
    std::string otherwise = "use raw sockets";
  };
  /// A page, less what the kernel keeps free in front of a frame.
  static constexpr std::uint32_t longest_possible = 4096 - 256;

  /// Throws LinkError when there is no such interface, it is down, another XDP program is attached
  /// to it, another AF_XDP socket has one of its queues, or a privilege is missing.
  AfXdpPort(const std::string& interface, std::uint16_t ethertype, const Options& options);
  ~AfXdpPort() override;

  [[nodiscard]] int fd() const override;
  [[nodiscard]] bool may_receive() override;
  [[nodiscard]] std::uint32_t longest_frame() const override { return longest_frame_; }
  /// The buffers are those that it was opened with: whoever will have long frames says so then.
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
  /// Has the kernel look at the frames in the ring; the errno, or 0.
  [[nodiscard]] int kick();
  void throw_of(int error) const;
  /// Takes back the buffers of frames that have left.
  void reclaim();
  /// Gives the buffers of the last burst back to the kernel.
  void give_back();

  [[nodiscard]] std::uint32_t frame_within(std::uint32_t longest_frame) const;

  PacketSocket socket_;        ///< for promiscuous mode, and what the interface is
  std::uint32_t buffer_bytes_; ///< of one frame
  std::uint32_t longest_frame_;
  std::size_t receive_room_;              ///< of one queue
  std::unique_ptr<XdpSteering> steering_; ///< outlives the queues
  std::vector<std::unique_ptr<Queue>> queues_;
  net::FileDescriptor all_queues_; ///< of several: readable when one of them is
  std::vector<std::byte*> free_;   ///< buffers to send from
  std::vector<Taken> taken_;
};

} // namespace tributary::link::xdp
