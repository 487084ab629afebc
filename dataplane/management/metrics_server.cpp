#include "dataplane/management/metrics_server.hpp"

#include "dataplane/management/metrics.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/tcp_listener.hpp"
#include "lib/service/exposition.hpp"
#include "lib/service/socket_file.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::management {
namespace {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;
using net::as_result;
using Stream = asio::generic::stream_protocol::socket; ///< TCP or Unix

constexpr std::chrono::milliseconds pause_after_refusal{100};
constexpr std::string_view text_type = "text/plain; charset=utf-8";

std::string response(std::string_view status, std::string_view type, std::string_view body,
                     bool with_body) {
  return fmt::format("HTTP/1.1 {}\r\nServer: tributary-switch\r\nContent-Type: {}\r\n"
                     "Cache-Control: no-store\r\n{}Content-Length: {}\r\nConnection: "
                     "close\r\n\r\n{}",
                     status, type, status.starts_with("405") ? "Allow: GET, HEAD\r\n" : "",
                     body.size(), with_body ? body : "");
}

/// The request's Accept header, or "".
std::string_view accept_of(std::string_view head) {
  constexpr std::string_view field = "\r\naccept:";
  std::string lower(head);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t at = lower.find(field);
  return at == std::string::npos
             ? std::string_view()
             : head.substr(at + field.size(),
                           head.find("\r\n", at + field.size()) - at - field.size());
}

/// `head` is the request up to the first empty line.
std::string answer(std::string_view head, Inspector& inspector) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last ||
      !line.substr(last + 1).starts_with("HTTP/1.")) {
    return response("400 Bad Request", text_type, "This is not a request of HTTP/1.\n", true);
  }
  const std::string_view method = line.substr(0, first);
  const bool head_only = method == "HEAD";
  if (method != "GET" && !head_only) {
    return response("405 Method Not Allowed", text_type, "Only GET and HEAD are supported.\n",
                    true);
  }
  std::string_view target = line.substr(first + 1, last - first - 1);
  target = target.substr(0, target.find('?'));
  if (target != "/metrics") {
    return response("404 Not Found", text_type, "Only /metrics exists.\n", !head_only);
  }
  const service::Exposition form = service::exposition_for(accept_of(head));
  return response("200 OK", service::content_type_of(form),
                  service::exposed(openmetrics(inspector.metrics()), form), !head_only);
}

} // namespace

class MetricsServer::Impl : public std::enable_shared_from_this<MetricsServer::Impl> {
public:
  Impl(asio::io_context& context, const net::Address& where, Inspector& inspector)
      : context_(context), inspector_(inspector) {
    if (where.is_unix()) {
      file_.emplace(where.path);
      local_.emplace(context, asio::local::stream_protocol(), file_->release_descriptor());
    } else {
      tcp_ = net::listen_on_tcp(context, where.tcp);
    }
  }

  void start() {
    for (auto& acceptor : tcp_) {
      asio::co_spawn(
          context_, [self = shared_from_this(), &acceptor] { return self->accept(acceptor); },
          asio::detached);
    }
    if (local_) {
      asio::co_spawn(
          context_, [self = shared_from_this()] { return self->accept(*self->local_); },
          asio::detached);
    }
  }

  void stop() {
    stopped_ = true;
    error_code ignored;
    for (auto& acceptor : tcp_) {
      acceptor.close(ignored);
    }
    if (local_) {
      local_->close(ignored);
    }
    for (Stream* client : clients_) {
      client->close(ignored);
    }
    file_.reset(); // now, not when the last coroutine ends: another server may use this path
  }

  [[nodiscard]] std::string where() const {
    if (file_) {
      return fmt::format("unix:{}", file_->path());
    }
    std::string text;
    for (const auto& acceptor : tcp_) {
      text += fmt::format("{}http://{}/metrics", text.empty() ? "" : ", ",
                          net::text_of(acceptor.local_endpoint()));
    }
    return text;
  }
  [[nodiscard]] std::size_t client_count() const { return clients_.size(); }

private:
  template <typename Acceptor> asio::awaitable<void> accept(Acceptor& acceptor) {
    while (!stopped_) {
      auto [error, client] = co_await acceptor.async_accept(as_result);
      if (stopped_) {
        co_return;
      }
      if (error || clients_.size() >= max_clients) {
        // A client beyond the limit is closed immediately, and asks again at its next scrape.
        asio::steady_timer pause(context_, pause_after_refusal);
        co_await pause.async_wait(as_result);
        continue;
      }
      asio::co_spawn(
          context_,
          [self = shared_from_this(), socket = Stream(std::move(client))]() mutable {
            return self->serve(std::move(socket));
          },
          asio::detached);
    }
  }

  asio::awaitable<void> serve(Stream client) {
    clients_.insert(&client);
    co_await converse(client);
    clients_.erase(&client);
  }

  asio::awaitable<void> converse(Stream& client) {
    asio::steady_timer time_limit(context_, client_timeout);
    std::string head;
    const auto read =
        co_await (asio::async_read_until(client, asio::dynamic_buffer(head, max_request_bytes),
                                         "\r\n\r\n", as_result) ||
                  time_limit.async_wait(as_result));
    if (read.index() == 1 || stopped_) {
      co_return;
    }
    const error_code error = std::get<0>(std::get<0>(read));
    if (error && error != asio::error::not_found) {
      co_return;
    }
    const std::string text = error ? response("431 Request Header Fields Too Large", text_type,
                                              "The request is too long.\n", true)
                                   : answer(head, inspector_);
    time_limit.expires_after(client_timeout);
    co_await (asio::async_write(client, asio::buffer(text), as_result) ||
              time_limit.async_wait(as_result));
    error_code ignored;
    client.shutdown(Stream::shutdown_send, ignored);
  }

  asio::io_context& context_;
  Inspector& inspector_;
  std::vector<asio::ip::tcp::acceptor> tcp_;
  std::optional<service::SocketFile> file_;
  std::optional<asio::local::stream_protocol::acceptor> local_;
  std::set<Stream*> clients_;
  bool stopped_ = false;
};

MetricsServer::MetricsServer(asio::io_context& context, const net::Address& where,
                             Inspector& inspector)
    : impl_(std::make_shared<Impl>(context, where, inspector)) {
  impl_->start();
}

MetricsServer::~MetricsServer() { impl_->stop(); }

void MetricsServer::stop() { impl_->stop(); }

std::string MetricsServer::where() const { return impl_->where(); }

std::size_t MetricsServer::client_count() const { return impl_->client_count(); }

} // namespace tributary::management
