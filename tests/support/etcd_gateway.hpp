// A model of etcd behind its HTTP gateway, on a port of the loopback interface: for tests of the
// client, of members and of the store, where no etcd is installed. Several gateways may serve one
// model, as members of a cluster do; each can be cut off.
//
//   const auto model = std::make_shared<SharedEtcd>();
//   EtcdGateway a(model), b(model);
//   a.cut_off(true);                       takes requests, and answers none
//   model->with([](EtcdModel& etcd) { etcd.full = true; });
#pragma once

#include "lib/net/as_result.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/net/tls_context.hpp"
#include "tests/support/etcd_model.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace tributary::test {

/// Real time passes in it.
class SharedEtcd {
public:
  template <typename F> auto with(F what) {
    const std::scoped_lock lock(mutex_);
    model_.advance_to(net::steady_now().value);
    return what(model_);
  }

private:
  std::mutex mutex_;
  EtcdModel model_;
};

class EtcdGateway {
public:
  /// With files it speaks TLS; their CA signs the certificates that it demands of clients.
  explicit EtcdGateway(std::shared_ptr<SharedEtcd> etcd, std::string version = "3.5.16",
                       const net::TlsFiles& tls = {})
      : etcd_(std::move(etcd)), version_(std::move(version)),
        acceptor_(context_, {boost::asio::ip::make_address("127.0.0.1"), 0}) {
    if (!tls.key.empty()) {
      tls_.emplace(net::tls_context(
          {.role = net::TlsRole::server,
           .verify = tls.ca.empty() ? net::TlsVerify::nothing : net::TlsVerify::authority,
           .files = tls}));
    }
    boost::asio::co_spawn(context_, accept(), boost::asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }
  ~EtcdGateway() {
    context_.stop();
    thread_.join();
  }
  EtcdGateway(const EtcdGateway&) = delete;
  EtcdGateway& operator=(const EtcdGateway&) = delete;

  [[nodiscard]] std::string url() const {
    return std::string(tls_ ? "https" : "http") +
           "://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  /// Requests are taken, and neither done nor answered; watches are silent.
  void cut_off(bool is_cut_off) { is_cut_off_ = is_cut_off; }
  /// Writes are done, and their answers lost.
  void lose_answers(bool loses) { loses_answers_ = loses; }
  void end_watches() { ++ended_watches_; }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }

private:
  using Socket = boost::asio::ip::tcp::socket;
  template <typename T> using Awaitable = boost::asio::awaitable<T>;

  Awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(net::as_result);
      if (error) {
        co_return;
      }
      boost::asio::co_spawn(context_, serve(std::move(socket)), boost::asio::detached);
    }
  }
  Awaitable<void> sleep(std::chrono::milliseconds time) {
    boost::asio::steady_timer timer(context_);
    timer.expires_after(time);
    co_await timer.async_wait(net::as_result);
  }
  Awaitable<void> serve(Socket socket) {
    if (!tls_) {
      co_await talk(socket, socket);
      co_return;
    }
    boost::asio::ssl::stream<Socket> stream(std::move(socket), *tls_);
    const auto [error] =
        co_await stream.async_handshake(boost::asio::ssl::stream_base::server, net::as_result);
    if (!error) {
      co_await talk(stream, stream.next_layer());
    }
  }
  template <typename Stream> Awaitable<void> talk(Stream& stream, Socket& socket) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    for (;;) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(64 << 20);
      const auto [error, bytes] = co_await http::async_read(stream, buffer, parser, net::as_result);
      if (error) {
        co_return;
      }
      ++requests_;
      const auto& request = parser.get();
      const std::string path(request.target());
      while (is_cut_off_) {
        co_await sleep(std::chrono::milliseconds(20));
        if (!co_await is_open(socket)) {
          co_return; // the request is gone with its connection
        }
      }
      if (path == "/v3/watch") {
        co_await watch(stream, socket, boost::json::parse(request.body()).as_object());
        co_return;
      }
      http::response<http::string_body> response;
      response.version(11);
      response.set(http::field::content_type, "application/json");
      answer(path, request.body(), std::string(request[http::field::authorization]), response);
      if (loses_answers_ && path == "/v3/kv/txn") {
        co_return;
      }
      response.prepare_payload();
      const auto [unsent, sent] = co_await http::async_write(stream, response, net::as_result);
      if (unsent) {
        co_return;
      }
    }
  }
  /// Whether the client has not closed its end.
  static Awaitable<bool> is_open(Socket& socket) {
    socket.non_blocking(true);
    char byte = 0;
    boost::system::error_code error;
    socket.receive(boost::asio::buffer(&byte, 1), Socket::message_peek, error);
    co_return !error || error == boost::asio::error::would_block;
  }
  template <typename Response>
  void answer(const std::string& path, const std::string& body, const std::string& token,
              Response& response) {
    namespace json = boost::json;
    if (path == "/version") {
      response.body() = json::serialize(json::object{{"etcdserver", version_}});
      return;
    }
    try {
      response.body() = json::serialize(etcd_->with([&](EtcdModel& model) {
        return model.call(path, json::parse(body).as_object(), token);
      }));
    } catch (const EtcdModel::Error& error) {
      response.result(boost::beast::http::status::bad_request);
      response.body() = json::serialize(
          json::object{{"error", error.what()}, {"message", error.what()}, {"code", error.code}});
    }
  }
  template <typename Stream>
  Awaitable<void> watch(Stream& stream, Socket& socket, boost::json::object request) {
    namespace json = boost::json;
    const json::object& create = request.at("create_request").as_object();
    const std::string begin = EtcdModel::bytes_at(create, "key");
    const std::string end = EtcdModel::bytes_at(create, "range_end");
    const std::int64_t from = EtcdModel::integer_at(create, "start_revision");
    std::string text = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n";
    const auto add = [&text](const json::object& message) {
      const std::string line = json::serialize(message) + "\n";
      char size[32];
      std::snprintf(size, sizeof size, "%zx\r\n", line.size());
      text += size + line + "\r\n";
    };
    add({{"result", json::object{{"header", json::object{{"revision", "1"}}}, {"created", true}}}});
    std::size_t seen = etcd_->with([from](EtcdModel& model) {
      std::size_t first = 0;
      while (first < model.history().size() && model.history()[first].entry.changed < from) {
        ++first;
      }
      return first;
    });
    const bool is_compacted =
        etcd_->with([from](EtcdModel& model) { return from < model.compacted; });
    if (is_compacted) {
      add({{"result", json::object{{"header", json::object{{"revision", "1"}}},
                                   {"canceled", true},
                                   {"compact_revision", "1"}}}});
    }
    for (const std::uint64_t ended = ended_watches_; ended == ended_watches_;) {
      if (!is_cut_off_ && !is_compacted) {
        etcd_->with([&](EtcdModel& model) {
          for (const json::object& message : model.watch_messages(seen, begin, end)) {
            add(message);
          }
          seen = model.history().size();
        });
      }
      if (!text.empty()) {
        const auto [error, sent] =
            co_await boost::asio::async_write(stream, boost::asio::buffer(text), net::as_result);
        if (error) {
          co_return;
        }
        text.clear();
      } else if (!co_await is_open(socket)) {
        co_return;
      }
      co_await sleep(std::chrono::milliseconds(2));
    }
  }

  std::shared_ptr<SharedEtcd> etcd_;
  std::string version_;
  std::optional<boost::asio::ssl::context> tls_;
  std::atomic<bool> is_cut_off_ = false;
  std::atomic<bool> loses_answers_ = false;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<std::uint64_t> ended_watches_ = 0;
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

} // namespace tributary::test
