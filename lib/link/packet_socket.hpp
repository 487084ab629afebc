// A packet socket on one interface: what opening and binding one takes. How frames are sent and
// received through it is its owner's affair (raw_socket.hpp).
//
// One that hears, hears one EtherType, whatever the destination address: it joins the interface's
// promiscuous mode, which the kernel undoes when the socket is closed, however the process ends.
// Frames that this host sends itself, through this or any other socket, are not heard. One that
// does not hear costs the kernel nothing per frame, and may be opened while the interface is down.
// It never blocks.
#pragma once

#include "lib/link/link_error.hpp"
#include "lib/net/file_descriptor.hpp"
#include "tributary/wire/ethernet.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tributary::link {

class PacketSocket {
public:
  /// What it hears.
  struct Hearing {
    std::uint16_t ethertype = 0;
    /// Asked of the kernel for what was received and not yet taken; it may grant less.
    std::size_t buffer_bytes = 0;
  };

  /// Opens and binds; throws LinkError when there is no such interface, it is down and the socket
  /// is to hear, or the process may not open raw sockets.
  PacketSocket(const std::string& interface, const std::optional<Hearing>& hearing);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] const std::string& interface() const { return interface_; }
  /// The interface's own address.
  [[nodiscard]] const wire::MacAddress& address() const { return address_; }
  /// The longest payload behind an Ethernet header, as it was when the socket was opened.
  [[nodiscard]] std::uint32_t mtu() const { return mtu_; }

  /// Has the interface take frames for whatever address, as one that hears does. For those whose
  /// frames come another way. Throws LinkError.
  void be_promiscuous();

  /// Asks the kernel for so much room for what was received and not yet taken; it may grant less.
  void set_receive_buffer(std::size_t bytes);
  /// What it grants, in what it charges for each frame: more than the frame's own bytes.
  [[nodiscard]] std::size_t receive_buffer() const;

  /// After a failed call: throws, unless the error is an old one of an interface that is up again,
  /// which the kernel keeps until somebody is told. `doing` completes "while ...".
  void throw_unless_recovered(int error_number, const std::string& doing) const;

  /// Frames the kernel had to drop because this socket's buffer was full, since it was opened.
  [[nodiscard]] std::uint64_t kernel_drops();

private:
  void hear(int interface_index, const Hearing& hearing);
  void be_promiscuous(int interface_index);
  void bind_to(int interface_index, std::uint16_t ethertype);

  std::string interface_;
  net::FileDescriptor socket_;
  wire::MacAddress address_{};
  std::uint32_t mtu_ = 0;
  std::uint64_t kernel_drops_ = 0;
};

} // namespace tributary::link
