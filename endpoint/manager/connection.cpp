#include "endpoint/manager/connection.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <fmt/format.h>

#include <filesystem>

namespace tributary::manager_client {

namespace net = boost::asio;
namespace http = boost::beast::http;
using Kind = ManagerError::Kind;

namespace {

bool is_tls_error(const boost::system::error_code& error) {
  return error.category() == net::error::get_ssl_category() ||
         error.category() == net::ssl::error::get_stream_category();
}

/// What to look at after this error.
std::string_view advice(const boost::system::error_code& error) {
  if (error == net::error::connection_refused ||
      error == boost::system::errc::no_such_file_or_directory) {
    return "; is tributary-fabricd running there?";
  }
  if (error == net::error::access_denied) {
    return "; the socket is open to root and to the manager's own user and group";
  }
  if (error == net::error::host_not_found || error == net::error::host_not_found_try_again) {
    return "; is the name of the host right?";
  }
  return "";
}

} // namespace

Connection::Connection(const Settings& settings)
    : settings_(settings), place_("the fabric manager at " + settings.address.text()) {
  if (settings_.address.scheme == Address::Scheme::https) {
    configure_tls();
  }
}

Connection::~Connection() = default;

void Connection::configure_tls() {
  const std::string& authority = settings_.certificate_authority;
  if (authority == "off") {
    tls_.set_verify_mode(net::ssl::verify_none);
    return;
  }
  tls_.set_verify_mode(net::ssl::verify_peer);
  ErrorCode error;
  if (authority.empty()) {
    tls_.set_default_verify_paths(error);
  } else if (std::filesystem::is_directory(authority)) {
    tls_.add_verify_path(authority, error);
  } else {
    tls_.load_verify_file(authority, error);
  }
  if (error) {
    throw ManagerError(Kind::untrusted,
                       fmt::format("the certificate authority '{}' cannot be read: {}; give a PEM "
                                   "file or a directory of them",
                                   authority, error.message()));
  }
}

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
  net::ip::tcp::resolver resolver(io_);
  ErrorCode error;
  // In this thread: the asynchronous look-up would start one.
  const auto endpoints =
      resolver.resolve(settings_.address.host, std::to_string(settings_.address.port), error);
  demand(error, "looking up the name of its host");
  auto& socket = stream_.emplace<TcpSocket>(io_);
  std::optional<ErrorCode> outcome;
  net::async_connect(socket, endpoints, [&](const ErrorCode& e, const auto&) { outcome = e; });
  demand(finish(outcome, deadline), "connecting");
  socket.set_option(net::ip::tcp::no_delay(true), error);
  if (settings_.address.scheme == Address::Scheme::https) {
    begin_tls(deadline);
  }
}

void Connection::begin_tls(TimePoint deadline) {
  TcpSocket socket = std::move(std::get<TcpSocket>(stream_));
  auto& stream = stream_.emplace<TlsStream>(std::move(socket), tls_);
  const std::string& host = settings_.address.host;
  ErrorCode not_a_number;
  net::ip::make_address(host, not_a_number);
  if (not_a_number) {
    SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
  }
  stream.set_verify_callback(net::ssl::host_name_verification(host));
  std::optional<ErrorCode> outcome;
  stream.async_handshake(net::ssl::stream_base::client, [&](const ErrorCode& e) { outcome = e; });
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
  // Handlers of what was under way run now, while what they refer to is still there.
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
  return cancelled_ ? ErrorCode(net::error::operation_aborted)
         : in_time  ? *outcome
                    : ErrorCode(net::error::timed_out);
}

void Connection::run_until(const std::function<bool()>& done, TimePoint deadline) {
  const auto work = net::make_work_guard(io_);
  io_.restart();
  while (!done() && !cancelled_ && std::chrono::steady_clock::now() < deadline) {
    io_.run_one_until(deadline);
  }
}

bool Connection::wait(const std::function<bool()>& done, TimePoint deadline) {
  run_until(done, deadline);
  if (cancelled_) {
    demand(net::error::operation_aborted, "");
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
  if (error == net::error::timed_out) {
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
  net::post(io_, [] {});
}

} // namespace tributary::manager_client
