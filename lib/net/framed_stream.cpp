#include "lib/net/framed_stream.hpp"

#include "lib/net/as_result.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>

#include <fmt/format.h>

#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tributary::net {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;

/// Bytes per read: some thousand messages, which the user may process together.
constexpr std::size_t read_bytes = 64 * 1024;
constexpr auto no_limit = asio::steady_timer::time_point::max();

} // namespace

FramedStream::FramedStream(Socket socket, FramedStreamSettings settings)
    : socket_(std::move(socket)), settings_(std::move(settings)), wake_(socket_.get_executor()),
      limit_(socket_.get_executor(), no_limit), frames_(settings_.message_bytes) {}

std::string FramedStream::description_of(const error_code& error) const {
  return error == asio::error::eof || error == ssl::error::stream_truncated
             ? fmt::format("{} closed the connection", settings_.other_end)
             : error.message();
}

asio::awaitable<void> FramedStream::readable() {
  static_cast<void>(co_await socket_.async_wait(Socket::wait_read, as_result));
}

asio::awaitable<std::string> FramedStream::secure(std::shared_ptr<ssl::context> context,
                                                  TlsRole role, std::string host) {
  context_ = std::move(context);
  tls_.emplace(socket_, *context_);
  if (!host.empty()) {
    expect_host(tls_->native_handle(), host);
  }
  const auto [error] = co_await tls_->async_handshake(
      role == TlsRole::server ? ssl::stream_base::server : ssl::stream_base::client, as_result);
  if (end_) {
    co_return *end_;
  }
  co_return error ? fmt::format("no TLS with it: {}", error.message()) : std::string();
}

std::optional<std::vector<std::string>> FramedStream::names() {
  return tls_ ? std::optional(certified_names(tls_->native_handle())) : std::nullopt;
}

void FramedStream::send(const google::protobuf::MessageLite& message) {
  if (end_) {
    return;
  }
  try {
    append_frame(queued_, message);
  } catch (const FrameTooLong& e) {
    return end(e.what());
  }
  if (const std::size_t waiting = queued_.size() + leaving_; waiting > settings_.queued_bytes) {
    return end(fmt::format("it does not read: {} bytes wait for it", waiting));
  }
  wake_.cancel();
}

void FramedStream::finish(std::string why, std::chrono::milliseconds limit) {
  if (end_) {
    return;
  }
  end_ = std::move(why);
  limit_.expires_after(limit);
  wake_.cancel();
}

void FramedStream::end(std::string why) {
  if (!end_) {
    end_ = std::move(why);
  }
  close_socket();
}

void FramedStream::close_socket() {
  error_code ignored;
  socket_.close(ignored);
  wake_.cancel();
  limit_.cancel();
}

asio::awaitable<std::string> FramedStream::run(FramedStreamUser& user) {
  std::string why;
  if (tls_) {
    why = co_await carry(*tls_, user);
  } else {
    why = co_await carry(socket_, user);
  }
  end(std::move(why));
  if (thrown_) {
    std::rethrow_exception(thrown_);
  }
  co_return *end_;
}

template <typename Stream>
asio::awaitable<std::string> FramedStream::carry(Stream& stream, FramedStreamUser& user) {
  const auto ended = co_await (read(stream, user) || write(stream) || watch_limit());
  co_return std::visit([](const std::string& why) { return why; }, ended);
}

template <typename Stream>
asio::awaitable<std::string> FramedStream::read(Stream& stream, FramedStreamUser& user) {
  std::vector<std::byte> buffer(read_bytes);
  while (true) {
    const auto [error, bytes] = co_await stream.async_read_some(asio::buffer(buffer), as_result);
    if (error) {
      co_return description_of(error);
    }
    if (end_) {
      continue; // read only to detect the end of the stream
    }
    frames_.append(std::span(buffer).first(bytes));
    std::string problem;
    try {
      problem = user.arrived(frames_);
    } catch (...) {
      // Thrown from here, it would wait until all parallel coroutines have ended.
      thrown_ = std::current_exception();
      problem = "its messages cannot be handled";
    }
    if (!problem.empty()) {
      co_return problem;
    }
  }
}

template <typename Stream> asio::awaitable<std::string> FramedStream::write(Stream& stream) {
  while (!end_ || !queued_.empty()) {
    if (queued_.empty()) {
      wake_.expires_at(no_limit);
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
      co_return description_of(error);
    }
  }
  // No more data follows. The other end may still have to read it, so it closes first.
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  wake_.expires_at(no_limit);
  co_await wake_.async_wait(as_result);
  co_return std::string();
}

asio::awaitable<std::string> FramedStream::watch_limit() {
  // Moving the limit wakes it, too; only an expired one ends the stream.
  while (socket_.is_open() && limit_.expiry() > asio::steady_timer::clock_type::now()) {
    co_await limit_.async_wait(as_result);
  }
  co_return std::string();
}

} // namespace tributary::net
