// A server with a fake service, its loop in a thread of its own, on a Unix socket and on loopback.
#pragma once

#include "controlplane/rest/server.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/rest/fake_service.hpp"
#include "tests/unit/controlplane/rest/raw_client.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace tributary::rest {

class ServerTest : public testing::Test {
protected:
  ~ServerTest() override { shut_down(); }

  void start(Limits limits = {}) {
    Settings settings;
    settings.listen = {"unix:" + folder_.file("fabricd.sock"), "127.0.0.1:0"};
    settings.administrator_token = "the-administrator";
    settings.limits = limits;
    start(settings);
  }
  void start(const Settings& settings) {
    server_ = std::make_unique<Server>(context_, settings, service);
    work_.emplace(context_.get_executor());
    thread_ = std::thread([this] { context_.run(); });
  }
  /// The server is destroyed in the loop, which then has nothing left to do: the thread ends only
  /// when every coroutine has.
  void shut_down() {
    if (thread_.joinable()) {
      on_loop([this] { server_.reset(); });
      work_.reset();
      thread_.join();
    }
  }

  /// Runs `f` in the loop and returns its result.
  template <typename F> std::invoke_result_t<F&> on_loop(F f) {
    std::packaged_task<std::invoke_result_t<F&>()> task(std::move(f));
    auto result = task.get_future();
    boost::asio::post(context_, [&task] { task(); });
    return result.get();
  }
  /// Waits until it holds, evaluated in the loop.
  template <typename F> bool eventually(F holds) {
    return tributary::test::eventually([&] { return on_loop(holds); });
  }
  bool connections_become(std::size_t count) {
    return eventually([this, count] { return server_->connection_count() == count; });
  }

  std::string unix_address() { return server_->addresses()[0]; }
  std::string tcp_address() { return server_->addresses()[1]; }
  /// One request on its own connection, by TCP, so that no caller is an administrator by default.
  RawAnswer ask(std::string_view method, std::string_view path, std::string_view body = {},
                std::string_view more_fields = {}) {
    RawClient client(tcp_address());
    client.send(request_text(method, path, body, more_fields));
    return client.read_answer(method == "HEAD");
  }
  std::string last_call() {
    return on_loop([this] { return service.calls.empty() ? "" : service.calls.back(); });
  }
  static std::string message_of(const RawAnswer& answer) {
    boost::system::error_code error;
    const auto value = boost::json::parse(answer.body, error);
    const auto* object = error ? nullptr : value.if_object();
    const auto* message = object == nullptr ? nullptr : object->if_contains("message");
    return message != nullptr && message->is_string() ? std::string(message->get_string())
                                                      : "no message: " + answer.body;
  }

  tributary::test::ScratchDirectory folder_;
  FakeService service; ///< to be accessed in the loop, once it runs
  boost::asio::io_context context_;
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

} // namespace tributary::rest
