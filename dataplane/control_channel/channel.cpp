#include "dataplane/control_channel/channel.hpp"

#include "dataplane/control_channel/redial_pause.hpp"
#include "lib/net/address_round.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/framed_stream.hpp"
#include "lib/net/limit_silence.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <random>
#include <utility>
#include <variant>
#include <vector>

namespace tributary::control_channel {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;
using Socket = net::FramedStream::Socket;
using Endpoint = asio::generic::stream_protocol::endpoint;

/// Errors are returned as values: an unreachable manager is not exceptional.
using net::as_result;

ssl::context tls_context(const net::TlsFiles& files) {
  try {
    return net::tls_context({.role = net::TlsRole::client,
                             .oldest = net::TlsVersion::tls_1_3,
                             .verify = net::TlsVerify::authority,
                             .files = files});
  } catch (const net::TlsError& e) {
    throw ChannelError(fmt::format("the fabric manager's channel: {}", e.what()));
  }
}

} // namespace

class Channel::Impl final : public std::enable_shared_from_this<Channel::Impl>,
                            private net::FramedStreamUser {
public:
  Impl(asio::io_context& context, ChannelSettings settings, std::string switch_name,
       ChannelUser& user)
      : settings_(std::move(settings)), switch_name_(std::move(switch_name)), user_(user),
        socket_(context), resolver_(context), timer_(context),
        pause_(settings_.first_pause, settings_.longest_pause, std::random_device()()),
        limit_(first_limit()), round_(settings_.addresses.size()),
        first_endpoint_(settings_.addresses.size()), said_(settings_.addresses.size()) {
    if (!settings_.tls.ca.empty()) {
      static_cast<void>(tls_context(settings_.tls));
    }
  }

  void start() {
    asio::co_spawn(
        socket_.get_executor(), [self = shared_from_this()] { return self->run(); },
        [](const std::exception_ptr& error) {
          if (error) {
            std::rethrow_exception(error); // the user's error; ends the loop
          }
        });
  }

  void send(std::span<const control::SwitchMessage> messages) {
    if (connected_) {
      for (const control::SwitchMessage& message : messages) {
        stream_->send(message);
      }
    }
  }

  void close(std::string why) {
    if (connected_) {
      stream_->end(std::move(why));
    }
  }

  void stop() {
    stopped_ = true;
    resolver_.cancel();
    timer_.cancel();
    if (stream_) {
      stream_->end({});
    }
    error_code ignored;
    socket_.close(ignored);
  }

private:
  using Text = std::string;

  asio::awaitable<void> run() {
    while (!stopped_) {
      const Text problem = co_await attempt();
      if (stopped_) {
        co_return;
      }
      if (!problem.empty()) {
        say(problem);
      }
      if (advance()) {
        timer_.expires_after(pause_.next());
        co_await timer_.async_wait(as_result);
      }
    }
  }

  [[nodiscard]] const net::Address& address() const { return settings_.addresses[round_.at()]; }

  [[nodiscard]] std::chrono::milliseconds first_limit() const {
    return settings_.addresses.size() == 1 ? settings_.dial_limit
                                           : std::min(settings_.first_limit, settings_.dial_limit);
  }

  /// Selects the next address; true when a pause is due: all have been dialled since the last one,
  /// or this attempt was a channel.
  bool advance() {
    if (std::exchange(welcomed_, false)) {
      round_.begin();
      static_cast<void>(round_.advance());
      return true;
    }
    if (round_.advance()) {
      return false;
    }
    limit_ = std::min(2 * limit_, settings_.dial_limit);
    return true;
  }

  /// Logs a problem once: an unreachable manager is one line in the log, not one per attempt.
  void say(const Text& problem) {
    if (problem == said_[round_.at()]) {
      spdlog::debug("switch {}: manager {}: same error again", switch_name_, address().text());
    } else {
      said_[round_.at()] = problem;
      spdlog::warn("switch {}: manager {}: {}; trying again until {}", switch_name_,
                   address().text(), problem,
                   settings_.addresses.size() == 1 ? "it answers" : "one of them answers");
    }
  }

  /// Connects, and serves the connection to its end. Returns why none was established.
  asio::awaitable<Text> attempt() {
    Text problem = co_await dial();
    if (!problem.empty() || stopped_) {
      co_return problem;
    }
    stream_.emplace(std::move(socket_),
                    net::FramedStreamSettings{.other_end = "the manager",
                                              .message_bytes = net::max_message_bytes,
                                              .queued_bytes = settings_.max_queued_bytes});
    if (!settings_.tls.ca.empty() && !address().is_unix()) {
      problem = co_await secure();
    }
    if (problem.empty() && !stopped_) {
      co_await serve();
    }
    stream_.reset();
    co_return problem;
  }

  asio::awaitable<Text> dial() {
    std::vector<Endpoint> endpoints;
    if (address().is_unix()) {
      endpoints.emplace_back(asio::local::stream_protocol::endpoint(address().path));
    } else {
      const net::HostPort& where = address().tcp;
      timer_.expires_after(limit_);
      const auto resolved =
          co_await (resolver_.async_resolve(where.host, std::to_string(where.port), as_result) ||
                    timer_.async_wait(as_result));
      if (resolved.index() == 1) {
        co_return Text("its name cannot be looked up in time");
      }
      const auto& [error, results] = std::get<0>(resolved);
      if (error) {
        co_return fmt::format("its name cannot be looked up: {}", error.message());
      }
      for (const auto& entry : results) {
        endpoints.emplace_back(entry.endpoint());
      }
    }
    Text problem;
    for (std::size_t i = 0; i < endpoints.size() && !stopped_; ++i) {
      const std::size_t at = (first_endpoint_[round_.at()] + i) % endpoints.size();
      problem = co_await connect(endpoints[at]);
      if (problem.empty()) {
        first_endpoint_[round_.at()] = at + 1; // unless this one welcomes the switch
        break;
      }
    }
    co_return problem;
  }

  asio::awaitable<Text> connect(Endpoint endpoint) {
    error_code ignored;
    socket_.close(ignored);
    timer_.expires_after(limit_);
    const auto done =
        co_await (socket_.async_connect(endpoint, as_result) || timer_.async_wait(as_result));
    if (done.index() == 1) {
      co_return Text("cannot connect: no answer in time");
    }
    const auto& [error] = std::get<0>(done);
    if (error) {
      co_return fmt::format("cannot connect: {}", error.message());
    }
    if (!address().is_unix()) {
      socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
      net::limit_silence(socket_.native_handle());
    }
    co_return Text();
  }

  asio::awaitable<Text> secure() {
    std::shared_ptr<ssl::context> context;
    Text problem;
    try {
      context = std::make_shared<ssl::context>(tls_context(settings_.tls));
    } catch (const ChannelError& e) {
      problem = e.what();
    }
    if (!context) {
      co_return problem;
    }
    timer_.expires_after(limit_);
    const auto done =
        co_await (stream_->secure(context, net::TlsRole::client, address().tcp.host) ||
                  timer_.async_wait(as_result));
    co_return done.index() == 1 ? Text("no TLS handshake in time") : std::get<0>(done);
  }

  asio::awaitable<void> serve() {
    connected_ = true;
    welcomed_ = false;
    user_.channel_up();
    limit_answer();
    user_.batch_ended();
    const Text why = co_await stream_->run(*this);
    connected_ = false;
    timer_.cancel();
    if (stopped_) {
      co_return;
    }
    if (welcomed_) {
      spdlog::warn(
          "switch {}: the channel to the manager at {} ended: {}; its tables stay in force",
          switch_name_, address().text(), why);
    } else {
      say(why); // a manager that refuses does so at every attempt
    }
    user_.channel_down(why);
  }

  /// Where there are other managers to ask, one that does not answer the hello is not waited for
  /// until the agent gives it up.
  void limit_answer() {
    if (settings_.addresses.size() == 1) {
      return;
    }
    timer_.expires_after(limit_);
    timer_.async_wait([self = shared_from_this(), channel = ++channels_](error_code error) {
      if (!error && self->connected_ && self->channels_ == channel && !self->welcomed_) {
        self->stream_->end("it did not answer the switch's hello in time");
      }
    });
  }

  void welcome() {
    pause_.start_over();
    limit_ = first_limit();
    if (!std::exchange(welcomed_, true)) {
      --first_endpoint_[round_.at()];
      timer_.cancel();
      said_.assign(settings_.addresses.size(), {});
      spdlog::info("switch {}: connected to the manager at {}", switch_name_, address().text());
    }
  }

  /// The manager names the one that leads: it is dialled next if the switch has its address.
  void rejected(const control::Rejected& rejected) {
    const auto found = std::ranges::find(settings_.addresses, rejected.leader_address(),
                                         [](const net::Address& one) { return one.text(); });
    if (found != settings_.addresses.end()) {
      round_.name(static_cast<std::size_t>(found - settings_.addresses.begin()));
    }
  }

  std::string arrived(net::FrameReader& frames) override {
    std::string problem = net::take_messages<control::ManagerMessage>(
        frames, [this](const control::ManagerMessage& message) {
          const bool accepted = user_.received(message);
          if (message.has_welcome() && accepted) {
            welcome();
          } else if (message.has_rejected()) {
            rejected(message.rejected());
          }
          return !stream_->has_ended();
        });
    if (problem.empty() && !stopped_) {
      user_.batch_ended();
    }
    return problem;
  }

  ChannelSettings settings_;
  std::string switch_name_;
  ChannelUser& user_;
  Socket socket_; ///< until it is connected
  asio::ip::tcp::resolver resolver_;
  asio::steady_timer timer_; ///< the pause between attempts, and the limits of one attempt
  RedialPause pause_;
  std::chrono::milliseconds limit_; ///< of each step of an attempt
  net::AddressRound round_;
  /// By address: which of the addresses that its name has is dialled first.
  std::vector<std::size_t> first_endpoint_;
  std::vector<Text> said_; ///< by address: the problem that was logged last
  std::optional<net::FramedStream> stream_;
  std::uint64_t channels_ = 0; ///< connections that have reached the hello, where that is limited
  bool connected_ = false;
  bool welcomed_ = false; ///< on this connection, or the last one before `advance`
  bool stopped_ = false;
};

Channel::Channel(asio::io_context& context, ChannelSettings settings, std::string switch_name,
                 ChannelUser& user)
    : impl_(std::make_shared<Impl>(context, std::move(settings), std::move(switch_name), user)) {}
Channel::~Channel() { impl_->stop(); }
void Channel::start() { impl_->start(); }
void Channel::send(std::span<const control::SwitchMessage> messages) { impl_->send(messages); }
void Channel::close(std::string why) { impl_->close(std::move(why)); }
void Channel::stop() { impl_->stop(); }

} // namespace tributary::control_channel
