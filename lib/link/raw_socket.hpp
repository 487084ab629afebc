// A port on a raw packet socket: frames cross the kernel in batches, one system call each.
//
//   kernel error             meaning
//   EAGAIN, ENOBUFS          full: refused, offered again later
//   ENETDOWN, ENXIO, ...     the interface is down or gone: LinkError
//
// All buffers are made at construction; the interface's MTU and the options limit the length of
// frames. Longer received frames are cut, and counted.
#pragma once

#include "lib/link/fan_out.hpp"
#include "lib/link/packet_socket.hpp"
#include "lib/link/port.hpp"

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tributary::link {

class RawSocket : public Port {
public:
  static constexpr std::uint32_t longest_payload = 9216;

  struct Options {
    /// Frames go directly to the driver; frames that its queue does not take are refused, not
    /// dropped.
    bool bypass_queueing = true;
    /// Otherwise it only sends, and may be opened while the interface is down.
    bool hears = true;
    /// For received frames that wait; the kernel may grant less.
    std::size_t receive_buffer_bytes = std::size_t{16} << 20;
    /// Upper limit of a frame in bytes; the MTU is another one. Short limits keep the buffers in
    /// the processor's caches.
    std::uint32_t longest_frame = longest_payload + wire::ethernet_header_bytes;
    /// Frames per system call; at most Port::longest_burst.
    std::size_t frames_at_once = burst;
  };

  /// Throws LinkError if the interface does not exist, it is down, or raw sockets are not
  /// permitted.
  RawSocket(const std::string& interface, std::uint16_t ethertype, const Options& options);
  RawSocket(const std::string& interface, std::uint16_t ethertype)
      : RawSocket(interface, ethertype, Options()) {}
  /// The same with a socket that was opened and bound for this process, as `options.hears` says.
  /// Frames pass the interface's queue whatever the options say: those that do not are dropped by
  /// the guard of who opened it. If the kernel writes the headers of frames, their source is the
  /// interface's address, and received ones have that as their destination.
  RawSocket(PacketSocket opened, const Options& options);
  /// Several ports that share the frames received at one interface (fan_out.hpp), and send
  /// independently.
  [[nodiscard]] static std::vector<std::unique_ptr<RawSocket>> sharing(const std::string& interface,
                                                                       std::uint16_t ethertype,
                                                                       std::uint16_t ports,
                                                                       const Spread& spread);

  [[nodiscard]] const std::string& interface() const { return socket_.interface(); }
  [[nodiscard]] int fd() const final { return socket_.fd(); }
  [[nodiscard]] bool may_receive() final;
  [[nodiscard]] std::uint32_t longest_frame() const final { return longest_frame_; }
  void enlarge(std::uint32_t longest_frame, std::size_t receive_buffer_bytes) final;
  void filter_end_point(std::uint16_t number) final { socket_.filter_end_point(number); }
  [[nodiscard]] std::size_t receive_room() const final;
  [[nodiscard]] wire::MacAddress address() const final { return socket_.address(); }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] const PortCounts& counts() final;
  [[nodiscard]] std::string error() final;
  [[nodiscard]] std::uint32_t speed_mbps() const final;

protected:
  std::size_t transmit(std::span<Slot> slots) override;
  std::size_t take(std::span<FrameView> views) override;

private:
  std::size_t replenish(std::span<Slot> slots) final;
  /// The length that the MTU allows, but no more than this.
  [[nodiscard]] std::uint32_t frame_within(std::uint32_t longest_frame) const;
  void make_buffers();
  /// Takes the header's fields from a frame, or puts them there.
  void take_header(std::size_t index, const std::byte* frame);
  void put_header(std::size_t index, std::byte* frame) const;

  PacketSocket socket_;
  bool hears_;
  std::size_t sharers_ = 1; ///< ports that share the interface, including this one
  std::string spread_by_;   ///< how frames are assigned to them
  std::uint32_t longest_frame_;
  std::size_t left_out_; ///< bytes at a frame's beginning that the kernel writes
  /// Buffers to send from, one burst of them, followed by those to receive into.
  std::unique_ptr<std::byte[]> buffers_;
  std::array<std::byte*, longest_burst> free_{};
  std::size_t free_count_ = 0;
  std::array<std::array<iovec, 2>, longest_burst> send_vectors_{};
  std::array<mmsghdr, longest_burst> send_headers_{};
  std::array<iovec, longest_burst> receive_vectors_{};
  std::array<mmsghdr, longest_burst> receive_headers_{};
  // Used only if the kernel writes the headers.
  std::array<sockaddr_ll, longest_burst> sent_to_{};
  std::array<sockaddr_ll, longest_burst> received_from_{};
};

} // namespace tributary::link
