#include "controlplane/southbound/connection.hpp"

#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace tributary::southbound {

namespace asio = boost::asio;
using boost::system::error_code;

Connection::Connection(Socket socket, Tls tls, std::string peer, const ConnectionLimits& limits,
                       ConnectionUser& user)
    : stream_(std::move(socket), {.other_end = "the switch",
                                  .message_bytes = limits.message_bytes,
                                  .queued_bytes = limits.queued_bytes}),
      tls_(std::move(tls)), peer_(std::move(peer)), hello_limit_(limits.hello),
      close_limit_(limits.close), user_(&user), hello_timer_(stream_.executor()) {}

void Connection::start() {
  hello_timer_.expires_after(hello_limit_);
  hello_timer_.async_wait([weak = weak_from_this()](error_code error) {
    if (const auto self = weak.lock(); self && !error) {
      self->fail(fmt::format("no hello within {} ms", self->hello_limit_.count()));
    }
  });
  asio::co_spawn(
      stream_.executor(), [self = shared_from_this()] { return self->run(); },
      [](const std::exception_ptr& error) {
        if (error) {
          std::rethrow_exception(error); // from the user; ends the loop
        }
      });
}

void Connection::close(std::string why) {
  hello_timer_.cancel();
  stream_.finish(std::move(why), close_limit_);
}

void Connection::fail(std::string why) {
  hello_timer_.cancel();
  stream_.end(std::move(why));
}

void Connection::cut_off() {
  user_ = nullptr;
  fail("");
}

asio::awaitable<void> Connection::run() {
  std::string why;
  if (tls_.context) {
    co_await stream_.readable();
    if (!stream_.has_ended()) {
      co_await tls_.turns->wait(tls_.address);
    }
    // No conditional expression: GCC 12 destroys its text twice if it contains a co_await.
    if (stream_.has_ended()) {
      why = "it was closed before its handshake";
    } else {
      why = co_await stream_.secure(tls_.context, net::TlsRole::server);
    }
  }
  if (why.empty()) {
    why = co_await stream_.run(*this);
  }
  fail(why);
  if (user_ != nullptr) {
    user_->ended(*this, why);
  }
}

std::string Connection::arrived(net::FrameReader& frames) {
  user_->alive(*this);
  return net::take_messages<control::SwitchMessage>(
      frames, [this](const control::SwitchMessage& message) {
        if (std::exchange(greeted_, true)) {
          user_->received(*this, message);
        } else {
          user_->greeted(*this, message, stream_.names());
        }
        return !stream_.has_ended();
      });
}

} // namespace tributary::southbound
