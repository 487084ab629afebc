// A port on a raw packet socket: frames cross the kernel in batches of up to 32 a system call.
//
//   the kernel says          means
//   EAGAIN, ENOBUFS          full: refused, offered again later
//   ENETDOWN, ENXIO, ...     the interface is down or gone: TransportError
//
// All buffers are made at construction; frames are as long as the interface's MTU allows, up to
// 9,216 bytes behind the Ethernet header.
#pragma once

#include "endpoint/transport/packet_socket.hpp"
#include "pktgen/transport/port.hpp"

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tributary::pktgen {

class RawPort : public Port {
public:
  static constexpr std::uint32_t longest_payload = 9216;

  struct Options {
    /// Frames go straight to the driver; what its queue does not take is refused, not dropped.
    bool bypass_queueing = true;
    /// For frames received and not yet taken; the kernel may grant less.
    std::size_t receive_buffer_bytes = std::size_t{16} << 20;
  };

  /// Throws transport::TransportError when there is no such interface, it is down, or raw sockets
  /// are not permitted.
  RawPort(const std::string& interface, std::uint16_t ethertype, const Options& options);
  RawPort(const std::string& interface, std::uint16_t ethertype)
      : RawPort(interface, ethertype, Options()) {}
  /// Several ports that share what comes in at one interface (fan_out.hpp), and send on their own.
  [[nodiscard]] static std::vector<std::unique_ptr<RawPort>>
  sharing(const std::string& interface, std::uint16_t ethertype, std::uint16_t ports);

  [[nodiscard]] std::uint32_t longest_frame() const final { return longest_frame_; }
  [[nodiscard]] wire::MacAddress address() const final { return socket_.address(); }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] const PortCounts& counts() final;
  [[nodiscard]] std::string trouble() final;

protected:
  std::size_t transmit(std::span<Slot> slots) override;
  std::size_t take(std::span<core::FrameView> views) override;

private:
  std::size_t replenish(std::span<Slot> slots) final;

  transport::PacketSocket socket_;
  std::size_t sharers_ = 1; ///< ports that share the interface, this one included
  std::uint32_t longest_frame_;
  std::size_t stride_;                   ///< from one buffer to the next
  std::unique_ptr<std::byte[]> buffers_; ///< `burst` to send from, then `burst` to receive into
  std::array<std::byte*, burst> free_{};
  std::size_t free_count_ = burst;
  std::array<iovec, burst> send_vectors_{};
  std::array<mmsghdr, burst> send_headers_{};
  std::array<iovec, burst> receive_vectors_{};
  std::array<mmsghdr, burst> receive_headers_{};
};

/// Why nothing can get through a kernel interface; empty when nothing speaks against it.
[[nodiscard]] std::string trouble_with_interface(const std::string& interface);

} // namespace tributary::pktgen
