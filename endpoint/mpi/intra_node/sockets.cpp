#include "endpoint/mpi/intra_node/sockets.hpp"

#include "lib/net/limit_silence.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tributary::mpi::intra_node {

namespace {

void without_delay(int descriptor) {
  const int yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  net::limit_silence(descriptor);
}

int ms(std::chrono::milliseconds limit) { return static_cast<int>(limit.count()); }

/// An address and a port for connect().
struct Peer {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};
std::optional<Peer> peer_of(const std::string& address, std::uint16_t port) {
  Peer peer;
  auto* const four = reinterpret_cast<sockaddr_in*>(&peer.storage);
  auto* const six = reinterpret_cast<sockaddr_in6*>(&peer.storage);
  if (inet_pton(AF_INET, address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    peer.bytes = sizeof *four;
    return peer;
  }
  if (inet_pton(AF_INET6, address.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    peer.bytes = sizeof *six;
    return peer;
  }
  return std::nullopt;
}

/// 0, or an errno.
int connect_within(int descriptor, const Peer& peer, std::chrono::milliseconds limit) {
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&peer.storage), peer.bytes) != 0) {
    if (errno != EINPROGRESS) {
      return errno;
    }
    pollfd waits{.fd = descriptor, .events = POLLOUT, .revents = 0};
    if (poll(&waits, 1, ms(limit)) != 1) {
      return ETIMEDOUT;
    }
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) {
      return error;
    }
  }
  without_delay(descriptor);
  return 0;
}

} // namespace

Listener::Listener()
    : descriptor_(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  // One socket for both families, where the kernel has both.
  const bool six = static_cast<bool>(descriptor_);
  if (!six) {
    descriptor_ =
        net::FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  const int listening = descriptor_.get();
  const int no = 0;
  sockaddr_in6 any_six{};
  any_six.sin6_family = AF_INET6;
  sockaddr_in any_four{};
  any_four.sin_family = AF_INET;
  constexpr int backlog = 4096;
  const bool bound =
      descriptor_ &&
      (!six || setsockopt(listening, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0) &&
      (six ? bind(listening, reinterpret_cast<sockaddr*>(&any_six), sizeof any_six)
           : bind(listening, reinterpret_cast<sockaddr*>(&any_four), sizeof any_four)) == 0 &&
      listen(listening, backlog) == 0;
  if (!bound) {
    throw std::runtime_error(
        fmt::format("cannot listen for the other nodes' leaders: {}", std::strerror(errno)));
  }
}

std::uint16_t Listener::port() const {
  sockaddr_storage bound{};
  socklen_t bytes = sizeof bound;
  getsockname(descriptor_.get(), reinterpret_cast<sockaddr*>(&bound), &bytes);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

std::string addresses_of_node() {
  std::string text;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) == 0) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      std::array<char, INET6_ADDRSTRLEN> written{};
      const sockaddr* const at = one->ifa_addr;
      if (at == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) {
        continue;
      }
      if (at->sa_family == AF_INET) {
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at)->sin_addr, written.data(),
                  written.size());
      } else if (at->sa_family == AF_INET6) {
        const auto& six = reinterpret_cast<const sockaddr_in6*>(at)->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL(&six)) {
          continue; // valid only together with an interface
        }
        inet_ntop(AF_INET6, &six, written.data(), written.size());
      }
      if (written[0] != '\0') {
        text += fmt::format("{}{}", text.empty() ? "" : " ", written.data());
      }
    }
    freeifaddrs(all);
  }
  return text;
}

net::FileDescriptor Listener::accept() {
  net::FileDescriptor accepted(
      accept4(descriptor_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (accepted) {
    without_delay(accepted.get());
  }
  return accepted;
}

net::FileDescriptor connect_to(const std::string& addresses, std::uint16_t port,
                               std::chrono::milliseconds limit) {
  if (addresses.empty()) {
    throw std::runtime_error("the node of rank 0 has no address but loopback's");
  }
  std::istringstream all(addresses);
  std::string tried;
  for (std::string address; all >> address;) {
    const auto peer = peer_of(address, port);
    if (!peer) {
      continue;
    }
    net::FileDescriptor made(
        socket(peer->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int error = made ? connect_within(made.get(), *peer, limit) : errno;
    if (error == 0) {
      return made;
    }
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : ", ", address, std::strerror(error));
  }
  throw std::runtime_error(
      fmt::format("cannot connect to the leader of rank 0's node at port {} ({})", port, tried));
}

} // namespace tributary::mpi::intra_node
