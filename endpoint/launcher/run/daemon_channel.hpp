// One node daemon's channel, from tributary-run's side.
#pragma once

#include "endpoint/launcher/control/launch.hpp"
#include "lib/net/framed_stream.hpp"

#include <functional>
#include <string>

namespace tributary::launch::run {

class DaemonChannel final : private net::FramedStreamUser {
public:
  using OnMessage = std::function<void(const messages::FromNode&)>;

  DaemonChannel(net::FramedStream::Socket socket, OnMessage on_message)
      : stream_(std::move(socket), {.other_end = "it"}), on_message_(std::move(on_message)) {}

  /// Runs until it has ended; returns why.
  boost::asio::awaitable<std::string> run() { co_return co_await stream_.run(*this); }
  void send(const messages::ToNode& message) { stream_.send(message); }
  void end(const std::string& why) { stream_.end(why); }

private:
  std::string arrived(net::FrameReader& frames) override {
    return net::take_messages<messages::FromNode>(frames, [this](const messages::FromNode& m) {
      on_message_(m);
      return !stream_.has_ended();
    });
  }
  net::FramedStream stream_;
  OnMessage on_message_;
};

} // namespace tributary::launch::run
