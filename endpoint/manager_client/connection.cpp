#include "endpoint/manager_client/connection.hpp"

#include "lib/net/limit_silence.hpp"
#include "lib/net/tls_context.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ssl/error.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace tributary::manager_client {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Kind = ManagerError::Kind;

namespace {

/// Limit of connecting where another address may answer.
constexpr std::chrono::milliseconds limit_of_several{1000};

bool is_tls_error(const boost::system::error_code& error) {
  return error.category() == asio::error::get_ssl_category() ||
         error.category() == asio::ssl::error::get_stream_category();
}

/// `authority` is that of the settings.
asio::ssl::context tls_context(const std::string& authority) {
  const net::TlsVerify verify = authority == "off"  ? net::TlsVerify::nothing
                                : authority.empty() ? net::TlsVerify::system
                                                    : net::TlsVerify::authority;
  try {
    return net::tls_context({.role = net::TlsRole::client,
                             .oldest = net::TlsVersion::tls_1_2,
                             .verify = verify,
                             .files = {.ca = authority, .certificate = {}, .key = {}}});
  } catch (const net::TlsError& error) {
    throw ManagerError(Kind::untrusted,
                       fmt::format("the certificate authority '{}': {}", authority, error.what()));
  }
}

/// A hint for this error.
std::string_view advice(const boost::system::error_code& error) {
  if (error == asio::error::connection_refused ||
      error == boost::system::errc::no_such_file_or_directory) {
    return "; is tributary-fabricd running there?";
  }
  if (error == asio::error::access_denied) {
    return "; the socket is open to root and to the manager's own user and group";
  }
  if (error == asio::error::host_not_found || error == asio::error::host_not_found_try_again) {
    return "; is the name of the host right?";
  }
  return "";
}

} // namespace

Connection::Connection(const ClientSettings& settings)
    : settings_(settings), round_(settings_.addresses.size()) {
  if (std::ranges::any_of(settings_.addresses, [](const Address& one) {
        return one.scheme == Address::Scheme::https;
      })) {
    tls_.emplace(tls_context(settings_.certificate_authority));
  }
}

Connection::~Connection() = default;

void Connection::open(std::chrono::milliseconds limit) {
  close();
  if (address().scheme == Address::Scheme::unix_socket) {
    connect_unix(std::chrono::steady_clock::now() + limit);
  } else {
    connect_tcp(limit);
  }
}

void Connection::name_leader(std::string_view text) {
  const auto found = std::ranges::find(settings_.addresses, text, &Address::text);
  if (found != settings_.addresses.end()) {
    round_.name(static_cast<std::size_t>(found - settings_.addresses.begin()));
  }
}

bool Connection::advance() {
  const bool is_another = round_.advance();
  if (round_.count() > 1) {
    close();
  }
  return is_another;
}

void Connection::connect_unix(TimePoint deadline) {
  UnixSocket::endpoint_type endpoint;
  try {
    endpoint.path(address().host);
  } catch (const boost::system::system_error& error) {
    demand(error.code(), "looking at the socket's path");
  }
  stream_.emplace<UnixSocket>(io_);
  demand(perform(deadline,
                 [&](auto& stream, auto handler) {
                   if constexpr (std::is_same_v<std::decay_t<decltype(stream)>, UnixSocket>) {
                     stream.async_connect(endpoint, handler);
                   }
                 }),
         "connecting");
}

void Connection::connect_tcp(std::chrono::milliseconds limit) {
  asio::ip::tcp::resolver resolver(io_);
  ErrorCode error;
  // On this thread: the asynchronous look-up would start one.
  const auto endpoints = resolver.resolve(address().host, std::to_string(address().port), error);
  demand(error, "looking up the name of its host");
  const bool are_several = settings_.addresses.size() > 1 || endpoints.size() > 1;
  const auto each = are_several ? std::min(limit, limit_of_several) : limit;
  for (const auto& endpoint : endpoints) { // each with its own limit: one may swallow packets
    std::optional<ErrorCode> outcome;
    stream_.emplace<TcpSocket>(io_).async_connect(endpoint.endpoint(),
                                                  [&outcome](const ErrorCode& e) { outcome = e; });
    error = finish(outcome, std::chrono::steady_clock::now() + each);
    if (!error || cancelled_) {
      break;
    }
  }
  demand(error, "connecting");
  TcpSocket& socket = std::get<TcpSocket>(stream_);
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  net::limit_silence(socket.native_handle());
  if (address().scheme == Address::Scheme::https) {
    begin_tls(std::chrono::steady_clock::now() + limit);
  }
}

void Connection::begin_tls(TimePoint deadline) {
  TcpSocket socket = std::move(std::get<TcpSocket>(stream_));
  auto& stream = stream_.emplace<TlsStream>(std::move(socket), *tls_);
  net::expect_host(stream.native_handle(), address().host);
  std::optional<ErrorCode> outcome;
  stream.async_handshake(asio::ssl::stream_base::client, [&](const ErrorCode& e) { outcome = e; });
  const ErrorCode error = finish(outcome, deadline);
  if (is_tls_error(error)) {
    close();
    throw ManagerError(
        Kind::untrusted,
        fmt::format("no TLS with {}: {}; check its certificate, the name it was made for, and the "
                    "certificate authority given here",
                    place(), error.message()));
  }
  demand(error, "agreeing on TLS");
}

void Connection::close() {
  break_off();
  stream_.emplace<std::monostate>();
  buffer_.clear();
}

void Connection::break_off() {
  on_stream([](auto& stream) {
    ErrorCode ignored;
    stream.lowest_layer().close(ignored);
  });
  // Runs handlers of pending operations while the objects that they refer to still exist.
  io_.restart();
  io_.poll();
}

Connection::Request Connection::request(std::string_view method, std::string_view path) const {
  Request request;
  request.version(11);
  request.method_string({method.data(), method.size()});
  request.target(address().path + std::string(path));
  request.set(http::field::host, address().scheme == Address::Scheme::unix_socket
                                     ? std::string("localhost")
                                     : address().host);
  request.set(http::field::user_agent, "tributary");
  if (!settings_.token.empty()) {
    request.set(http::field::authorization, "Bearer " + settings_.token);
  }
  return request;
}

void Connection::send(const Request& request, TimePoint deadline) {
  demand(perform(deadline,
                 [&](auto& stream, auto handler) { http::async_write(stream, request, handler); }),
         "sending a request");
}

Connection::ErrorCode Connection::finish(std::optional<ErrorCode>& outcome, TimePoint deadline) {
  run_until([&] { return outcome.has_value(); }, deadline);
  if (outcome && !cancelled_) {
    return *outcome;
  }
  const bool in_time = outcome.has_value();
  break_off();
  stream_.emplace<std::monostate>();
  buffer_.clear();
  return cancelled_ ? ErrorCode(asio::error::operation_aborted)
         : in_time  ? *outcome
                    : ErrorCode(asio::error::timed_out);
}

void Connection::run_until(const std::function<bool()>& done, TimePoint deadline) {
  const auto work = asio::make_work_guard(io_);
  io_.restart();
  while (!done() && !cancelled_ && std::chrono::steady_clock::now() < deadline) {
    io_.run_one_until(deadline);
  }
}

bool Connection::wait(const std::function<bool()>& done, TimePoint deadline) {
  run_until(done, deadline);
  if (cancelled_) {
    demand(asio::error::operation_aborted, "");
  }
  return done();
}

void Connection::demand(const ErrorCode& error, std::string_view doing) const {
  if (!error) {
    return;
  }
  if (cancelled_) {
    throw ManagerError(Kind::cancelled, "the call to " + place() + " was cancelled");
  }
  if (error == asio::error::timed_out) {
    throw ManagerError(Kind::timed_out,
                       fmt::format("{} did not answer in time while {}", place(), doing));
  }
  if (error.category() == http::make_error_code(http::error::end_of_stream).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message) {
    throw ManagerError(Kind::garbled, fmt::format("{} answered with something that is not HTTP: {}",
                                                  place(), error.message()));
  }
  throw ManagerError(Kind::unreachable, fmt::format("{} cannot be reached, while {}: {}{}", place(),
                                                    doing, error.message(), advice(error)));
}

void Connection::cancel() {
  cancelled_ = true;
  asio::post(io_, [] {});
}

} // namespace tributary::manager_client
