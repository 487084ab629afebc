#include "lib/net/tcp_listener.hpp"

#include <boost/asio/ip/v6_only.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace tributary::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

tcp::acceptor listen_at(asio::io_context& io, const tcp::endpoint& endpoint) {
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
    throw ListenFailed(fmt::format("cannot listen on {} ({}); stop whatever uses the address, or "
                                   "choose another",
                                   text_of(endpoint), error.message()));
  }
  return acceptor;
}

} // namespace

std::vector<tcp::acceptor> listen_on_tcp(asio::io_context& io, const HostPort& where) {
  tcp::resolver resolver(io);
  error_code error;
  const auto found =
      resolver.resolve(where.host, std::to_string(where.port), tcp::resolver::passive, error);
  if (error) {
    throw ListenFailed(fmt::format("cannot listen on {}: the name is not known ({}); check it, and "
                                   "the name service",
                                   where.text(), error.message()));
  }
  std::vector<tcp::acceptor> listening;
  for (const auto& entry : found) {
    listening.push_back(listen_at(io, entry.endpoint()));
  }
  return listening;
}

std::string subscriber_of(const asio::ip::address& address) {
  if (!address.is_v6()) {
    return address.to_string();
  }
  asio::ip::address_v6 whole = address.to_v6();
  if (whole.is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, whole).to_string();
  }
  auto bytes = whole.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
  return asio::ip::address_v6(bytes).to_string() + "/64";
}

std::string text_of(const tcp::endpoint& endpoint) {
  return HostPort{endpoint.address().to_string(), endpoint.port()}.text();
}

} // namespace tributary::net
