#include "controlplane/install/connection.hpp"

#include "controlplane/install/channel_tls.hpp"
#include "service/as_result.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include <fmt/format.h>

#include <exception>
#include <utility>
#include <variant>

namespace tributary::install {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;

/// Errors come back as values: a switch that goes away is nothing exceptional.
using service::as_result;

constexpr std::size_t read_bytes = 64 * 1024;

std::string what_happened(const error_code& error) {
  return error == asio::error::eof || error == ssl::error::stream_truncated
             ? std::string("the switch closed the connection")
             : error.message();
}

} // namespace

Connection::Connection(Socket socket, std::optional<ssl::context> tls, std::string peer,
                       const ConnectionLimits& limits, ConnectionUser& user)
    : socket_(std::move(socket)), tls_(std::move(tls)), peer_(std::move(peer)), limits_(limits),
      user_(&user), hello_timer_(socket_.get_executor()), close_timer_(socket_.get_executor()),
      wake_(socket_.get_executor()), reader_(limits.message_bytes) {}

void Connection::start() {
  hello_timer_.expires_after(limits_.hello);
  hello_timer_.async_wait([weak = weak_from_this(), limit = limits_.hello](error_code error) {
    if (const auto self = weak.lock(); self && !error) {
      self->fail(fmt::format("no hello within {} ms", limit.count()));
    }
  });
  asio::co_spawn(
      socket_.get_executor(), [self = shared_from_this()] { return self->run(); },
      [](const std::exception_ptr& error) {
        if (error) {
          std::rethrow_exception(error); // the user's; ends the loop
        }
      });
}

void Connection::send(const control::ManagerMessage& message) {
  if (end_) {
    return;
  }
  try {
    control::append_frame(queued_, message);
  } catch (const control::FrameTooLong& e) {
    return fail(e.what());
  }
  if (queued_.size() + leaving_ > limits_.queued_bytes) {
    return fail(fmt::format("it does not read: {} bytes wait for it", queued_.size() + leaving_));
  }
  wake_.cancel();
}

void Connection::close(std::string why) {
  if (end_) {
    return;
  }
  end_ = std::move(why);
  hello_timer_.cancel();
  close_timer_.expires_after(limits_.close);
  close_timer_.async_wait([weak = weak_from_this()](error_code error) {
    if (const auto self = weak.lock(); self && !error) {
      self->close_socket();
    }
  });
  wake_.cancel();
}

void Connection::fail(std::string why) {
  if (!end_) {
    end_ = std::move(why);
  }
  close_socket();
}

void Connection::cut_off() {
  user_ = nullptr;
  fail("");
}

void Connection::close_socket() {
  error_code ignored;
  socket_.close(ignored);
  hello_timer_.cancel();
  close_timer_.cancel();
  wake_.cancel();
}

asio::awaitable<void> Connection::run() {
  std::string why;
  if (!tls_) {
    why = co_await serve(socket_);
  } else {
    ssl::stream<Socket&> stream(socket_, *tls_);
    const auto [error] = co_await stream.async_handshake(ssl::stream_base::server, as_result);
    if (error) {
      why = fmt::format("no TLS with it: {}", error.message());
    } else {
      names_ = certified_names(stream.native_handle());
      why = co_await serve(stream);
    }
  }
  if (end_) {
    why = *end_;
  }
  end_ = why;
  close_socket();
  if (user_ != nullptr) {
    user_->ended(*this, why);
  }
}

template <typename Stream> asio::awaitable<std::string> Connection::serve(Stream& stream) {
  const auto ended = co_await (read(stream) || write(stream));
  co_return std::visit([](const std::string& why) { return why; }, ended);
}

template <typename Stream> asio::awaitable<std::string> Connection::read(Stream& stream) {
  std::vector<std::byte> buffer(read_bytes);
  while (true) {
    const auto [error, bytes] = co_await stream.async_read_some(asio::buffer(buffer), as_result);
    if (error) {
      co_return what_happened(error);
    }
    if (std::string problem = hand_over(std::span(buffer).first(bytes)); !problem.empty()) {
      co_return problem;
    }
  }
}

std::string Connection::hand_over(std::span<const std::byte> bytes) {
  if (end_ || user_ == nullptr) {
    return {}; // read only so that the end of the stream is seen
  }
  user_->alive(*this);
  reader_.append(bytes);
  control::SwitchMessage message;
  while (const auto payload = reader_.next()) {
    if (!message.ParseFromArray(payload->data(), static_cast<int>(payload->size()))) {
      return "it sent bytes that are no message";
    }
    if (std::exchange(greeted_, true)) {
      user_->received(*this, message);
    } else {
      user_->greeted(*this, message, names_);
    }
    if (end_ || user_ == nullptr) {
      return {};
    }
  }
  return reader_.broken() ? fmt::format("it announced a message of {} bytes; the limit is {}",
                                        reader_.announced(), limits_.message_bytes)
                          : std::string();
}

template <typename Stream> asio::awaitable<std::string> Connection::write(Stream& stream) {
  while (!end_ || !queued_.empty()) {
    if (queued_.empty()) {
      wake_.expires_at(asio::steady_timer::time_point::max());
      co_await wake_.async_wait(as_result);
      if (!socket_.is_open()) {
        co_return std::string();
      }
      continue;
    }
    const std::string batch = std::exchange(queued_, {});
    leaving_ = batch.size();
    const auto [error, bytes] = co_await asio::async_write(stream, asio::buffer(batch), as_result);
    leaving_ = 0;
    if (error) {
      co_return what_happened(error);
    }
  }
  // Nothing more will come. The switch may still have to read it: it is the one to hang up.
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  wake_.expires_at(asio::steady_timer::time_point::max());
  co_await wake_.async_wait(as_result);
  co_return std::string();
}

} // namespace tributary::install
