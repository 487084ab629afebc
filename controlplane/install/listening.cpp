#include "controlplane/install/listening.hpp"

#include "controlplane/install/channel_tls.hpp"
#include "service/tcp_listener.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tributary::install {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

struct HostPort {
  std::string host;
  std::string port;
};

HostPort split_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const bool bracketed = address.starts_with('[');
  const std::size_t host_end = bracketed ? address.find(']') : colon;
  unsigned port = 0;
  if (colon != std::string::npos && host_end != std::string::npos &&
      host_end + (bracketed ? 1U : 0U) == colon) {
    const char* const end = address.data() + address.size();
    const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, port);
    if (error == std::errc() && stop == end && port <= 0xFFFF) {
      const std::size_t begin = bracketed ? 1 : 0;
      return {address.substr(begin, host_end - begin), std::to_string(port)};
    }
  }
  throw ChannelError(fmt::format("\"{}\" is no address for switches to dial; write HOST:PORT, "
                                 "[IPV6]:PORT, or unix:PATH",
                                 address));
}

} // namespace

std::vector<tcp::acceptor> listening_on(asio::io_context& io, const std::string& address) {
  const HostPort where = split_address(address);
  try {
    return service::listen_on_tcp(io, where.host, where.port);
  } catch (const service::ListenFailed& failed) {
    throw ChannelError(fmt::format("the address for switches to dial: {}", failed.what()));
  }
}

} // namespace tributary::install
