#include "dataplane/management/control_server.hpp"

#include "dataplane/management/capture_stream.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/serve_each.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>

#include <utility>
#include <variant>

namespace tributary::management {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;

/// Errors are returned as values: a client that disconnects is not exceptional.
using net::as_result;

} // namespace

class ControlServer::Impl : public std::enable_shared_from_this<ControlServer::Impl> {
public:
  Impl(asio::io_context& context, int descriptor, Inspector& inspector)
      : context_(context), acceptor_(context, stream_protocol(), descriptor),
        inspector_(inspector) {}

  void start() {
    asio::co_spawn(context_,
                   net::serve_each(acceptor_,
                                   [self = shared_from_this()](stream_protocol::socket client) {
                                     return self->serve(std::move(client));
                                   }),
                   asio::detached);
  }

  void stop() {
    stopped_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    for (stream_protocol::socket* client : clients_) {
      client->close(ignored);
    }
  }

  [[nodiscard]] std::size_t client_count() const { return clients_.size(); }

private:
  /// Registers a connection for as long as its coroutine runs.
  class Registration {
  public:
    Registration(Impl& server, stream_protocol::socket& client) : server_(server), client_(client) {
      server_.clients_.insert(&client_);
    }
    ~Registration() { server_.clients_.erase(&client_); }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

  private:
    Impl& server_;
    stream_protocol::socket& client_;
  };

  asio::awaitable<void> serve(stream_protocol::socket client) {
    const Registration registration(*this, client);
    if (clients_.size() > max_clients) {
      co_await send(client, refusal("too many clients are connected; try again later"));
      co_return;
    }
    std::string input;
    while (!stopped_) {
      const auto [error, length] = co_await asio::async_read_until(
          client, asio::dynamic_buffer(input, max_request_bytes), '\n', as_result);
      if (error) {
        if (error == asio::error::not_found) {
          co_await send(client, refusal("the request is too long"));
        }
        co_return;
      }
      const std::string line = input.substr(0, length);
      input.erase(0, length);
      if (!co_await handle(client, line)) {
        co_return;
      }
    }
  }

  /// Whether the connection continues.
  asio::awaitable<bool> handle(stream_protocol::socket& client, std::string line) {
    Request request;
    std::string reply;
    try {
      request = parse_request(line);
    } catch (const RequestError& e) {
      reply = refusal(e.what());
    }
    if (!reply.empty()) {
      co_return co_await send(client, reply);
    }
    if (const auto* capture = std::get_if<CaptureRequest>(&request)) {
      co_await stream_capture(client, *capture);
      co_return false;
    }
    co_return co_await send(client, answer(request, inspector_));
  }

  asio::awaitable<void> stream_capture(stream_protocol::socket& client, CaptureRequest request) {
    std::unique_ptr<CaptureSource> source;
    std::string reply;
    try {
      source = inspector_.capture(request.selection);
      reply = acceptance({{"format", "pcapng"}});
    } catch (const std::exception& e) {
      reply = refusal(e.what());
    }
    if (!co_await send(client, reply) || source == nullptr) {
      co_return;
    }
    CaptureStream stream(*source, request.count);
    asio::steady_timer timer(context_);
    char ignored_input = 0;
    while (!stopped_) {
      const std::vector<std::byte> bytes = stream.next();
      if (!bytes.empty() && !co_await send(client, asio::buffer(bytes))) {
        co_return;
      }
      if (stream.ended()) {
        co_return;
      }
      timer.expires_after(capture_interval);
      const auto waited =
          co_await (client.async_read_some(asio::buffer(&ignored_input, 1), as_result) ||
                    timer.async_wait(as_result));
      if (waited.index() == 0) {
        // The client wants no more, and may still read the end of the file.
        const std::vector<std::byte> last = stream.finish();
        co_await send(client, asio::buffer(last));
        co_return;
      }
    }
  }

  asio::awaitable<bool> send(stream_protocol::socket& client, const std::string& text) {
    co_return co_await send(client, asio::buffer(text));
  }
  asio::awaitable<bool> send(stream_protocol::socket& client, asio::const_buffer bytes) {
    co_return co_await net::write_within(client_timeout, client, bytes);
  }

  asio::io_context& context_;
  stream_protocol::acceptor acceptor_;
  Inspector& inspector_;
  std::set<stream_protocol::socket*> clients_;
  bool stopped_ = false;
};

ControlServer::ControlServer(asio::io_context& context, int listening_descriptor,
                             Inspector& inspector)
    : impl_(std::make_shared<Impl>(context, listening_descriptor, inspector)) {
  impl_->start();
}

ControlServer::~ControlServer() { impl_->stop(); }

void ControlServer::stop() { impl_->stop(); }

std::size_t ControlServer::client_count() const { return impl_->client_count(); }

} // namespace tributary::management
