#include "endpoint/transport/announcer.hpp"

#include "endpoint/transport/transport_error.hpp"
#include "tributary/wire/hello.hpp"

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace tributary::transport {

namespace {

/// A name as hellos can carry it.
std::string in_hello_letters(std::string name, std::size_t longest) {
  name.resize(std::min(name.size(), longest));
  for (char& c : name) {
    if (!wire::has_hello_letters_only({&c, 1})) {
      c = '-';
    }
  }
  return name;
}

} // namespace

Announcer::Announcer(const std::string& interface, std::uint16_t ethertype, Nid nid,
                     const std::string& host_name)
    : interface_(interface), host_name_(in_hello_letters(host_name, wire::max_hello_name)),
      interface_index_(static_cast<int>(::if_nametoindex(interface.c_str()))) {
  if (interface_index_ == 0) {
    throw transport_error(errno, interface, "looking it up");
  }
  if (host_name_.empty()) {
    host_name_ = "host";
  }
  // Protocol 0: it hears nothing.
  socket_ = FileDescriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket_.get() < 0) {
    throw transport_error(errno, interface, "opening the socket for hellos");
  }
  wire::Hello hello;
  hello.kind = wire::HelloKind::host;
  hello.nid = nid;
  hello.interval_ms = static_cast<std::uint16_t>(2 * interval.count());
  hello.name = host_name_;
  hello.port_name = in_hello_letters(interface, wire::max_hello_port_name);
  hello_ = wire::encode(hello, ethertype);
  hello.interval_ms = 0;
  good_bye_ = wire::encode(hello, ethertype);
}

std::string Announcer::send(const std::vector<std::byte>& frame) {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = interface_index_;
  to.sll_halen = static_cast<unsigned char>(wire::hello_destination.size());
  if (::sendto(socket_.get(), frame.data(), frame.size(), MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&to), sizeof to) >= 0) {
    return {};
  }
  return transport_error(errno, interface_, "announcing this host").what();
}

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "host";
}

} // namespace tributary::transport
