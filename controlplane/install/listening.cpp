#include "controlplane/install/listening.hpp"

#include "controlplane/install/channel_tls.hpp"

#include <boost/asio/ip/v6_only.hpp>
#include <fmt/format.h>

#include <charconv>

namespace tributary::install {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

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

tcp::acceptor listening_at(asio::io_context& io, const tcp::endpoint& endpoint) {
  tcp::acceptor acceptor(io);
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error && endpoint.address().is_v6()) {
    acceptor.set_option(asio::ip::v6_only(true), error);
  }
  if (!error) {
    acceptor.bind(endpoint, error);
  }
  if (!error) {
    acceptor.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    throw ChannelError(fmt::format("cannot listen for switches on {} ({}); stop whatever uses the "
                                   "address, or choose another",
                                   text_of(endpoint), error.message()));
  }
  return acceptor;
}

} // namespace

std::vector<tcp::acceptor> listening_on(asio::io_context& io, const std::string& address) {
  const HostPort where = split_address(address);
  tcp::resolver resolver(io);
  error_code error;
  const auto found = resolver.resolve(where.host, where.port, tcp::resolver::passive, error);
  if (error) {
    throw ChannelError(fmt::format("cannot listen for switches on {}: the name is not known ({})",
                                   address, error.message()));
  }
  std::vector<tcp::acceptor> listening;
  for (const auto& entry : found) {
    listening.push_back(listening_at(io, entry.endpoint()));
  }
  return listening;
}

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", host, endpoint.port())
                                    : fmt::format("{}:{}", host, endpoint.port());
}

} // namespace tributary::install
