// A raw packet socket that hears and speaks one EtherType on one interface, for reduction frames.
//
// It hears all addresses, because switches replicate a root's frame bit for bit: its destination
// address is that of the root's port at every host. More on the socket: packet_socket.hpp.
//
// Sending and receiving never block and work in batches of up to `batch` frames per system call.
// One thread at a time.
#pragma once

#include "endpoint/collective/outbox.hpp"
#include "endpoint/transport/packet_socket.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tributary::transport {

class RawSocket {
public:
  static constexpr std::size_t batch = 64;

  /// As PacketSocket's.
  RawSocket(const std::string& interface, std::uint16_t ethertype, std::size_t buffer_bytes);
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  [[nodiscard]] int fd() const { return socket_.fd(); }
  [[nodiscard]] const std::string& interface() const { return socket_.interface(); }
  /// The interface's own address.
  [[nodiscard]] const wire::MacAddress& address() const { return socket_.address(); }

  /// Takes the frames that wait, up to `batch`, and calls `f(std::span<const std::byte>)` for each.
  /// Says how many there were. Throws TransportError when the interface is down or gone.
  template <typename F> std::size_t receive(F&& f) {
    const std::size_t count = receive_batch();
    for (std::size_t i = 0; i < count; ++i) {
      f(std::span<const std::byte>(received_[i]).first(lengths_[i]));
    }
    return count;
  }

  /// Sends from the outbox until it is empty or the kernel takes no more; what remains stays there.
  /// Throws TransportError when the interface is down or gone.
  void send(collective::Outbox& outbox);

  /// Whether a frame or an error waits.
  [[nodiscard]] bool readable() const;

  /// Sleeps until a frame waits, or until there is room to send when `to_send`, or until the time
  /// is over.
  void wait(std::uint64_t timeout_ns, bool to_send) const;

  /// Frames the kernel had to drop because this socket's buffer was full, since it was opened.
  [[nodiscard]] std::uint64_t kernel_drops() { return socket_.kernel_drops(); }

private:
  /// More than a reduction frame, so that one with a trailer is still recognised.
  static constexpr std::size_t frame_room = 128;

  std::size_t receive_batch();

  PacketSocket socket_;
  std::array<std::array<std::byte, frame_room>, batch> received_;
  std::array<std::size_t, batch> lengths_{};
  std::array<iovec, batch> receive_vectors_{};
  std::array<mmsghdr, batch> receive_headers_{};
  std::array<iovec, batch> send_vectors_{};
  std::array<mmsghdr, batch> send_headers_{};
};

} // namespace tributary::transport
