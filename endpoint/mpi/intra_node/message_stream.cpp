#include "endpoint/mpi/intra_node/message_stream.hpp"

#include "lib/net/limit_silence.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tributary::mpi::intra_node {

namespace {

bool send_all(int descriptor, const std::byte* at, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = send(descriptor, at, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool receive_all(int descriptor, std::byte* at, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = recv(descriptor, at, bytes, 0);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

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
  const int flags = fcntl(descriptor, F_GETFL);
  fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
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
  fcntl(descriptor, F_SETFL, flags);
  without_delay(descriptor);
  return 0;
}

} // namespace

MessageStream::MessageStream(net::FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}
MessageStream::MessageStream(MessageStream&& other) noexcept
    : descriptor_(std::move(other.descriptor_)) {}
MessageStream& MessageStream::operator=(MessageStream&& other) noexcept {
  descriptor_ = std::move(other.descriptor_);
  return *this;
}

bool MessageStream::send(const Message& message) {
  const Header header = encode_header(message);
  const std::lock_guard lock(sending_);
  return send_all(descriptor_.get(), header.data(), header.size()) &&
         send_all(descriptor_.get(), message.payload.data(), message.payload.size());
}

std::optional<Message> MessageStream::receive() {
  Header header;
  if (!receive_all(descriptor_.get(), header.data(), header.size())) {
    return std::nullopt;
  }
  std::size_t bytes = 0;
  Message message = decode_header(header, bytes);
  message.payload.resize(bytes);
  if (!receive_all(descriptor_.get(), message.payload.data(), bytes)) {
    return std::nullopt;
  }
  return message;
}

void MessageStream::shut_down() { shutdown(descriptor_.get(), SHUT_RDWR); }

Listener::Listener() : descriptor_(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  // One socket for both families, where the kernel has both.
  const bool six = static_cast<bool>(descriptor_);
  if (!six) {
    descriptor_ = net::FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
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

std::string Listener::addresses() const {
  sockaddr_storage bound{};
  socklen_t bytes = sizeof bound;
  getsockname(descriptor_.get(), reinterpret_cast<sockaddr*>(&bound), &bytes);
  const std::uint16_t port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
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
        text += fmt::format("{} ", written.data());
      }
    }
    freeifaddrs(all);
  }
  return text + fmt::format("{}", port);
}

std::optional<MessageStream> Listener::accept(std::chrono::milliseconds limit) {
  pollfd waits{.fd = descriptor_.get(), .events = POLLIN, .revents = 0};
  if (poll(&waits, 1, ms(limit)) != 1) {
    return std::nullopt;
  }
  net::FileDescriptor accepted(accept4(descriptor_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted) {
    return std::nullopt;
  }
  without_delay(accepted.get());
  return MessageStream(std::move(accepted));
}

MessageStream connect_to(const std::string& addresses, std::chrono::milliseconds limit) {
  std::istringstream words(addresses);
  std::vector<std::string> all;
  for (std::string word; words >> word;) {
    all.push_back(word);
  }
  if (all.size() < 2) {
    throw std::runtime_error("the node of rank 0 has no address but loopback's");
  }
  const auto port = static_cast<std::uint16_t>(std::stoul(all.back()));
  all.pop_back();
  std::string tried;
  for (const std::string& address : all) {
    const auto peer = peer_of(address, port);
    if (!peer) {
      continue;
    }
    net::FileDescriptor made(socket(peer->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int error = made ? connect_within(made.get(), *peer, limit) : errno;
    if (error == 0) {
      return MessageStream(std::move(made));
    }
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : ", ", address, std::strerror(error));
  }
  throw std::runtime_error(
      fmt::format("cannot connect to the leader of rank 0's node at port {} ({})", port, tried));
}

StreamPair connected_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error(fmt::format("no pair of sockets: {}", std::strerror(errno)));
  }
  return {MessageStream(net::FileDescriptor(ends[0])), MessageStream(net::FileDescriptor(ends[1]))};
}

} // namespace tributary::mpi::intra_node
