#include "controlplane/rest/transport.hpp"

#include "lib/net/as_result.hpp"
#include "lib/net/tls_context.hpp"

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace tributary::rest {
namespace {

using net::as_result;

void shut_down(Socket& socket) {
  error_code ignored;
  socket.shutdown(Socket::shutdown_send, ignored);
}

class PlainTransport final : public Transport {
public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  asio::awaitable<error_code> open() override { co_return error_code(); }
  asio::awaitable<Received> read(asio::mutable_buffer into) override {
    const auto [error, bytes] = co_await socket_.async_read_some(into, as_result);
    co_return Received{error, bytes};
  }
  asio::awaitable<error_code> write(asio::const_buffer bytes) override {
    const auto [error, written] = co_await asio::async_write(socket_, bytes, as_result);
    co_return error;
  }
  asio::awaitable<void> finish() override {
    shut_down(socket_);
    co_return;
  }
  Socket& socket() override { return socket_; }

private:
  Socket socket_;
};

class TlsTransport final : public Transport {
public:
  TlsTransport(Socket socket, std::shared_ptr<asio::ssl::context> context,
               std::shared_ptr<net::HandshakeTurns> turns, std::string address)
      : context_(std::move(context)), stream_(std::move(socket), *context_),
        turns_(std::move(turns)), address_(std::move(address)) {}

  asio::awaitable<error_code> open() override {
    const auto [gone] = co_await socket().async_wait(Socket::wait_read, as_result);
    if (gone) {
      co_return gone;
    }
    co_await turns_->wait(address_);
    if (is_cancelled_) { // in the meantime
      co_return asio::error::operation_aborted;
    }
    const auto [error] =
        co_await stream_.async_handshake(asio::ssl::stream_base::server, as_result);
    co_return error;
  }
  asio::awaitable<Received> read(asio::mutable_buffer into) override {
    const auto [error, bytes] = co_await stream_.async_read_some(into, as_result);
    co_return Received{error, bytes};
  }
  asio::awaitable<error_code> write(asio::const_buffer bytes) override {
    const auto [error, written] = co_await asio::async_write(stream_, bytes, as_result);
    co_return error;
  }
  asio::awaitable<void> finish() override {
    static_cast<void>(co_await stream_.async_shutdown(as_result));
    shut_down(socket());
  }
  Socket& socket() override { return stream_.next_layer(); }
  [[nodiscard]] std::vector<std::string> certified_names() const override {
    // Boost has no such function for a stream that is const.
    return net::certified_names(const_cast<asio::ssl::stream<Socket>&>(stream_).native_handle());
  }
  void cancel() override {
    is_cancelled_ = true;
    Transport::cancel();
  }

private:
  std::shared_ptr<asio::ssl::context> context_; ///< the server may replace the certificate in the
                                                ///< meantime
  asio::ssl::stream<Socket> stream_;
  std::shared_ptr<net::HandshakeTurns> turns_;
  std::string address_;
  bool is_cancelled_ = false;
};

} // namespace

std::unique_ptr<Transport> plain_transport(Socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

std::unique_ptr<Transport> tls_transport(Socket socket, std::shared_ptr<asio::ssl::context> context,
                                         std::shared_ptr<net::HandshakeTurns> turns,
                                         std::string address) {
  return std::make_unique<TlsTransport>(std::move(socket), std::move(context), std::move(turns),
                                        std::move(address));
}

} // namespace tributary::rest
