// A switch's end of a real channel, for scripts that are coroutines on the server's own loop.
#pragma once

#include "lib/net/as_result.hpp"
#include "lib/net/framing.hpp"
#include "tributary/control.pb.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tributary::test {

namespace asio = boost::asio;

/// Errors are returned as values.
using net::as_result;

class Dialler {
public:
  using Socket = asio::generic::stream_protocol::socket;

  explicit Dialler(asio::io_context& io) : socket_(io) {}

  asio::awaitable<bool> dial(std::string path) {
    co_return co_await dial_endpoint(asio::local::stream_protocol::endpoint(path));
  }
  asio::awaitable<bool> dial(std::uint16_t port) {
    co_return co_await dial_endpoint(
        asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), port));
  }
  asio::awaitable<bool> dial(std::uint16_t port, asio::ssl::context& tls) {
    if (!co_await dial(port)) {
      co_return false;
    }
    stream_.emplace(socket_, tls);
    const auto [error] =
        co_await stream_->async_handshake(asio::ssl::stream_base::client, as_result);
    co_return !error;
  }

  asio::awaitable<void> say(control::SwitchMessage message) {
    std::string bytes;
    net::append_frame(bytes, message);
    co_await say_bytes(bytes);
  }
  asio::awaitable<void> say_bytes(std::string bytes) {
    if (stream_) {
      co_await asio::async_write(*stream_, asio::buffer(bytes), as_result);
    } else {
      co_await asio::async_write(socket_, asio::buffer(bytes), as_result);
    }
  }

  /// The next message; none when the manager has closed.
  asio::awaitable<std::optional<control::ManagerMessage>> hear() {
    while (true) {
      if (const auto payload = reader_.next()) {
        control::ManagerMessage message;
        if (!message.ParseFromArray(payload->data(), static_cast<int>(payload->size()))) {
          co_return std::nullopt;
        }
        co_return message;
      }
      std::array<std::byte, 4096> bytes;
      const auto [error, count] =
          stream_ ? co_await stream_->async_read_some(asio::buffer(bytes), as_result)
                  : co_await socket_.async_read_some(asio::buffer(bytes), as_result);
      if (error) {
        co_return std::nullopt;
      }
      reader_.append(std::span(bytes).first(count));
    }
  }
  /// Does not connect; sends hello and returns the answer.
  asio::awaitable<std::optional<control::ManagerMessage>> greet(std::string name,
                                                                std::uint64_t boot = 1) {
    co_await say(hello(name, boot));
    co_return co_await hear();
  }

  void hang_up() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  static control::SwitchMessage hello(const std::string& name, std::uint64_t boot = 1) {
    control::SwitchMessage message;
    message.mutable_hello()->set_protocol(1);
    message.mutable_hello()->set_name(name);
    message.mutable_hello()->set_boot(boot);
    return message;
  }

private:
  asio::awaitable<bool> dial_endpoint(asio::generic::stream_protocol::endpoint endpoint) {
    const auto [error] = co_await socket_.async_connect(endpoint, as_result);
    co_return !error;
  }

  Socket socket_;
  std::optional<asio::ssl::stream<Socket&>> stream_;
  net::FrameReader reader_;
};

} // namespace tributary::test
