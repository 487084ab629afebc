#include "endpoint/manager_client/connection.hpp"

#include "lib/net/limit_silence.hpp"
#include "lib/net/tls_context.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ssl/error.hpp>
#include <fmt/format.h>

namespace tributary::manager_client {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Kind = ManagerError::Kind;

namespace {

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
    : settings_(settings), place_("the fabric manager at " + settings.address.text()) {
  if (settings_.address.scheme == Address::Scheme::https) {
    tls_.emplace(tls_context(settings_.certificate_authority));
  }
}

Connection::~Connection() = default;

void Connection::open(TimePoint deadline) {
  close();
  if (settings_.address.scheme == Address::Scheme::unix_socket) {
    connect_unix(deadline);
  } else {
    connect_tcp(deadline);
  }
}

void Connection::connect_unix(TimePoint deadline) {
  UnixSocket::endpoint_type endpoint;
  try {
    endpoint.path(settings_.address.host);
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

void Connection::connect_tcp(TimePoint deadline) {
  asio::ip::tcp::resolver resolver(io_);
  ErrorCode error;
  // On this thread: the asynchronous look-up would start one.
  const auto endpoints =
      resolver.resolve(settings_.address.host, std::to_string(settings_.address.port), error);
  demand(error, "looking up the name of its host");
  auto& socket = stream_.emplace<TcpSocket>(io_);
  std::optional<ErrorCode> outcome;
  asio::async_connect(socket, endpoints, [&](const ErrorCode& e, const auto&) { outcome = e; });
  demand(finish(outcome, deadline), "connecting");
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  net::limit_silence(socket.native_handle());
  if (settings_.address.scheme == Address::Scheme::https) {
    begin_tls(deadline);
  }
}

void Connection::begin_tls(TimePoint deadline) {
  TcpSocket socket = std::move(std::get<TcpSocket>(stream_));
  auto& stream = stream_.emplace<TlsStream>(std::move(socket), *tls_);
  net::expect_host(stream.native_handle(), settings_.address.host);
  std::optional<ErrorCode> outcome;
  stream.async_handshake(asio::ssl::stream_base::client, [&](const ErrorCode& e) { outcome = e; });
  const ErrorCode error = finish(outcome, deadline);
  if (is_tls_error(error)) {
    close();
    throw ManagerError(
        Kind::untrusted,
        fmt::format("no TLS with {}: {}; check its certificate, the name it was made for, and the "
                    "certificate authority given here",
                    place_, error.message()));
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
  request.target(settings_.address.path + std::string(path));
  request.set(http::field::host, settings_.address.scheme == Address::Scheme::unix_socket
                                     ? std::string("localhost")
                                     : settings_.address.host);
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
    throw ManagerError(Kind::cancelled, "the call to " + place_ + " was cancelled");
  }
  if (error == asio::error::timed_out) {
    throw ManagerError(Kind::timed_out,
                       fmt::format("{} did not answer in time while {}", place_, doing));
  }
  if (error.category() == http::make_error_code(http::error::end_of_stream).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message) {
    throw ManagerError(Kind::garbled, fmt::format("{} answered with something that is not HTTP: {}",
                                                  place_, error.message()));
  }
  throw ManagerError(Kind::unreachable, fmt::format("{} cannot be reached, while {}: {}{}", place_,
                                                    doing, error.message(), advice(error)));
}

void Connection::cancel() {
  cancelled_ = true;
  asio::post(io_, [] {});
}

} // namespace tributary::manager_client
