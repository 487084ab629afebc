// A packet socket on one interface: opening and binding. Its owner sends and receives frames
// through it (raw_socket.hpp).
//
// A receiving socket receives one EtherType, for any destination address: it puts the interface
// into promiscuous mode, which the kernel undoes when the socket is closed, however the process
// ends. Frames sent by this host, through this or any other socket, are not received. A socket that
// does not receive costs the kernel nothing per frame, and may be opened while the interface is
// down. It never blocks.
#pragma once

#include "lib/link/link_error.hpp"
#include "lib/net/file_descriptor.hpp"
#include "tributary/wire/ethernet.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <linux/if_packet.h>
#include <sys/socket.h>

namespace tributary::link {

class PacketSocket {
public:
  /// Which frames it receives.
  struct Hearing {
    std::uint16_t ethertype = 0;
    /// Requested from the kernel for received frames that wait; it may grant less.
    std::size_t buffer_bytes = 0;
  };

  /// Who writes the Ethernet header of a frame, which is then the one part that is neither sent nor
  /// received here. The kernel writes the interface's own address as the source, and, unlike for a
  /// program that writes headers itself, changes no other byte (PACKET_VNET_HDR is refused).
  enum class Header : std::uint8_t { of_program, of_kernel };

  /// Opens and binds; throws LinkError if the interface does not exist, it is down and the socket
  /// is to receive, or the process may not open raw sockets.
  PacketSocket(const std::string& interface, const std::optional<Hearing>& hearing,
               Header header = Header::of_program);
  /// Takes over a socket that was opened and bound for this process (the host agent's). The
  /// interface is that of the socket's network namespace, which may be another one than the
  /// process's. Throws LinkError if the interface has gone meanwhile.
  PacketSocket(const std::string& interface, net::FileDescriptor opened);

  [[nodiscard]] int fd() const { return socket_.get(); }
  /// Gives the descriptor away.
  [[nodiscard]] net::FileDescriptor release() && { return std::move(socket_); }
  /// Puts the socket where it receives this EtherType, after one that was opened without receiving.
  /// Throws LinkError.
  void receive(std::uint16_t ethertype);
  [[nodiscard]] const std::string& interface() const { return interface_; }
  [[nodiscard]] Header header() const { return header_; }
  /// Where frames go that leave their header to the kernel; without destination and EtherType.
  [[nodiscard]] sockaddr_ll way_out() const;
  /// The interface's own address.
  [[nodiscard]] const wire::MacAddress& address() const { return address_; }
  /// The longest payload after an Ethernet header, as of opening the socket.
  [[nodiscard]] std::uint32_t mtu() const { return mtu_; }

  /// Makes the interface accept frames for any address, as a receiving socket does. For programs
  /// that receive by other means. Throws LinkError.
  void be_promiscuous();

  /// Requests this buffer size for received frames that wait; the kernel may grant less. A socket
  /// that was opened for this process keeps its buffer: to ask for one without the privilege of who
  /// opened it would make it smaller.
  void set_receive_buffer(std::size_t bytes);
  /// From now on it receives unicast frames of this end point alone, and all others as before. A
  /// socket that was opened for this process receives no others anyway. Throws LinkError.
  void filter_end_point(std::uint16_t number);
  /// The granted size, in the kernel's accounting, which exceeds the frames' own bytes.
  [[nodiscard]] std::size_t receive_buffer() const;

  /// Why no frame can pass, as text; "" if no reason is known. Cold.
  [[nodiscard]] std::string error() const;

  /// Call after a failed call: throws, unless the error is an old one of an interface that is up
  /// again, which the kernel keeps until it is read. `doing` completes "while ...".
  void throw_unless_recovered(int error_number, const std::string& doing) const;

  /// Frames that the kernel dropped because this socket's buffer was full, since it was opened.
  [[nodiscard]] std::uint64_t kernel_drops();

private:
  void hear(int interface_index, const Hearing& hearing);
  void ignore_outgoing();
  void be_promiscuous(int interface_index);
  void bind_to(int interface_index, std::uint16_t ethertype);

  std::string interface_;
  net::FileDescriptor socket_;
  wire::MacAddress address_{};
  std::uint32_t mtu_ = 0;
  int index_ = 0; ///< of the interface
  Header header_ = Header::of_program;
  std::uint64_t kernel_drops_ = 0;
  bool was_handed_over_ = false; ///< opened for this process
};

} // namespace tributary::link
