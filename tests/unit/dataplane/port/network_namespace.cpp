#include "tests/unit/dataplane/port/network_namespace.hpp"

#include "dataplane/port/privileges.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>

#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tributary::port::test {

NetworkNamespace::NetworkNamespace() {
  previous_ = net::FileDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!previous_ || ::unshare(CLONE_NEWNET) != 0) {
    unavailable_ = fmt::format("cannot make a network namespace: {} (needs CAP_SYS_ADMIN)",
                               std::strerror(errno));
    return;
  }
  const std::string missing =
      missing_privileges(config::PortKind::af_xdp, Privileges::of_this_process());
  if (!missing.empty()) {
    unavailable_ = fmt::format("missing privilege: {}", missing);
  }
}

NetworkNamespace::~NetworkNamespace() {
  if (previous_) {
    std::ignore = ::setns(previous_.get(), CLONE_NEWNET);
  }
}

bool NetworkNamespace::ip(const std::string& arguments) {
  return std::system(fmt::format("ip {} >/dev/null 2>&1", arguments).c_str()) == 0;
}

void NetworkNamespace::add_pair(bool up) {
  ip("link add near type veth peer name far");
  if (up) {
    ip("link set near up");
    ip("link set far up");
  }
}

void NetworkNamespace::delete_pair() { ip("link del near"); }

PacketSocket::PacketSocket(const std::string& interface, std::uint16_t ethertype)
    : fd_(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ethertype))) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ethertype);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  std::ignore = ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
}

void PacketSocket::send(const std::vector<std::byte>& frame) const {
  std::ignore = ::send(fd_.get(), frame.data(), frame.size(), 0);
}

std::optional<std::vector<std::byte>> PacketSocket::receive() const {
  std::vector<std::byte> frame(2048);
  const ssize_t length = ::recv(fd_.get(), frame.data(), frame.size(), 0);
  if (length < 0) {
    return std::nullopt;
  }
  frame.resize(static_cast<std::size_t>(length));
  return frame;
}

std::uint32_t xdp_program_on(const std::string& interface) {
  std::uint32_t id = 0;
  bpf_xdp_query_id(static_cast<int>(::if_nametoindex(interface.c_str())), 0, &id);
  return id;
}

std::string link_flags(const std::string& interface) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      ::popen(fmt::format("ip -d link show {} 2>/dev/null", interface).c_str(), "r"), &::pclose);
  std::string text;
  char buffer[256];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) {
    text += buffer;
  }
  // The queueing discipline of an interface that was never up has another name.
  const auto qdisc = text.find(" qdisc ");
  return qdisc == std::string::npos ? text : text.erase(qdisc, text.find(' ', qdisc + 7) - qdisc);
}

} // namespace tributary::port::test
