#include "dataplane/agent/channel.hpp"

#include "dataplane/agent/redial_pause.hpp"
#include "service/as_result.hpp"
#include "tributary/control_framing.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <optional>
#include <random>
#include <utility>
#include <variant>
#include <vector>

namespace tributary::agent {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Endpoint = asio::generic::stream_protocol::endpoint;

/// Errors come back as values: a manager that is away is nothing exceptional.
using service::as_result;

/// Of one read: some thousand commits, which then share one snapshot.
constexpr std::size_t read_bytes = 64 * 1024;

std::string what_happened(const error_code& error) {
  return error == asio::error::eof || error == ssl::error::stream_truncated
             ? std::string("the manager closed the connection")
             : error.message();
}

ssl::context tls_context(const ChannelSettings& settings) {
  ssl::context context(ssl::context::tlsv13_client);
  context.set_verify_mode(ssl::verify_peer);
  const auto check = [](const error_code& error, const char* what, const std::string& file) {
    if (error) {
      throw ChannelError(
          fmt::format("the fabric manager's channel: {} {}: {}", what, file, error.message()));
    }
  };
  error_code error;
  context.load_verify_file(settings.tls_ca, error);
  check(error, "cannot use the CA file", settings.tls_ca);
  context.use_certificate_chain_file(settings.tls_certificate, error);
  check(error, "cannot use the certificate", settings.tls_certificate);
  context.use_private_key_file(settings.tls_key, ssl::context::pem, error);
  check(error, "cannot use the private key", settings.tls_key);
  return context;
}

} // namespace

class Channel::Impl : public std::enable_shared_from_this<Channel::Impl> {
public:
  Impl(asio::io_context& context, ChannelSettings settings, std::string switch_name,
       ChannelUser& user)
      : settings_(std::move(settings)), switch_name_(std::move(switch_name)), user_(user),
        socket_(context), resolver_(context), timer_(context), wake_(context),
        pause_(settings_.first_pause, settings_.longest_pause, std::random_device()()) {
    if (!settings_.tls_ca.empty()) {
      static_cast<void>(tls_context(settings_));
    }
  }

  void start() {
    asio::co_spawn(
        socket_.get_executor(), [self = shared_from_this()] { return self->run(); },
        [](const std::exception_ptr& error) {
          if (error) {
            std::rethrow_exception(error); // the user's; ends the loop
          }
        });
  }

  void send(std::span<const control::SwitchMessage> messages) {
    if (!connected_ || end_) {
      return;
    }
    try {
      for (const control::SwitchMessage& message : messages) {
        control::append_frame(queued_, message);
      }
    } catch (const control::FrameTooLong& e) {
      return close(e.what());
    }
    if (queued_.size() > settings_.max_queued_bytes) {
      return close("the manager does not read what it is sent");
    }
    wake_.cancel();
  }

  void close(std::string why) {
    if (connected_ && !end_) {
      end_ = std::move(why);
      close_socket();
      wake_.cancel();
    }
  }

  void stop() {
    stopped_ = true;
    resolver_.cancel();
    timer_.cancel();
    close_socket();
    wake_.cancel();
  }

private:
  using Text = std::string;

  void close_socket() {
    error_code ignored;
    socket_.close(ignored);
  }

  asio::awaitable<void> run() {
    while (!stopped_) {
      const Text problem = co_await attempt();
      if (stopped_) {
        co_return;
      }
      if (!problem.empty()) {
        say(problem);
      }
      timer_.expires_after(pause_.next());
      co_await timer_.async_wait(as_result);
    }
  }

  /// A manager that is away for long is one line in the log, not one for every attempt.
  void say(const Text& problem) {
    if (problem != said_) {
      said_ = problem;
      spdlog::warn("switch {}: manager {}: {}; trying again until it answers", switch_name_,
                   settings_.address_text, problem);
    }
  }

  /// Dials, and serves the connection to its end. Says why there was none.
  asio::awaitable<Text> attempt() {
    Text problem = co_await dial();
    if (!problem.empty() || stopped_) {
      co_return problem;
    }
    if (settings_.tls_ca.empty()) {
      co_await serve(socket_);
      co_return Text();
    }
    std::optional<ssl::context> context;
    try {
      context.emplace(tls_context(settings_));
    } catch (const ChannelError& e) {
      problem = e.what();
    }
    if (!context) {
      co_return problem;
    }
    ssl::stream<Socket&> stream(socket_, *context);
    problem = co_await shake_hands(stream);
    if (problem.empty() && !stopped_) {
      co_await serve(stream);
    }
    co_return problem;
  }

  asio::awaitable<Text> dial() {
    close_socket();
    std::vector<Endpoint> endpoints;
    if (settings_.address.is_unix()) {
      endpoints.emplace_back(asio::local::stream_protocol::endpoint(settings_.address.path));
    } else {
      timer_.expires_after(settings_.dial_limit);
      const auto resolved = co_await (
          resolver_.async_resolve(settings_.address.host, settings_.address.service, as_result) ||
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
    for (const Endpoint& endpoint : endpoints) {
      problem = co_await connect(endpoint);
      if (problem.empty() || stopped_) {
        break;
      }
    }
    co_return problem;
  }

  asio::awaitable<Text> connect(Endpoint endpoint) {
    close_socket();
    timer_.expires_after(settings_.dial_limit);
    const auto done =
        co_await (socket_.async_connect(endpoint, as_result) || timer_.async_wait(as_result));
    if (done.index() == 1) {
      co_return Text("cannot connect: no answer in time");
    }
    const auto& [error] = std::get<0>(done);
    if (error) {
      co_return fmt::format("cannot connect: {}", error.message());
    }
    if (!settings_.address.is_unix()) {
      error_code ignored;
      socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    }
    co_return Text();
  }

  asio::awaitable<Text> shake_hands(ssl::stream<Socket&>& stream) {
    const std::string& host = settings_.address.host;
    stream.set_verify_callback(ssl::host_name_verification(host));
    SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
    timer_.expires_after(settings_.dial_limit);
    const auto done = co_await (stream.async_handshake(ssl::stream_base::client, as_result) ||
                                timer_.async_wait(as_result));
    if (done.index() == 1) {
      co_return Text("no TLS handshake in time");
    }
    const auto& [error] = std::get<0>(done);
    co_return error ? fmt::format("no TLS with it: {}", error.message()) : Text();
  }

  template <typename Stream> asio::awaitable<void> serve(Stream& stream) {
    connected_ = true;
    end_.reset();
    queued_.clear();
    said_.clear();
    spdlog::info("switch {}: connected to the manager at {}", switch_name_, settings_.address_text);
    user_.channel_up();
    user_.batch_ended();
    const auto ended = co_await (read(stream) || write(stream));
    const Text why = end_ ? *end_ : std::visit([](const Text& text) { return text; }, ended);
    connected_ = false;
    close_socket();
    if (!stopped_) {
      spdlog::warn("switch {}: the channel to the manager at {} ended: {}; what is in force stays",
                   switch_name_, settings_.address_text, why);
      user_.channel_down(why);
    }
  }

  template <typename Stream> asio::awaitable<Text> read(Stream& stream) {
    control::FrameReader reader;
    std::vector<std::byte> buffer(read_bytes);
    while (!stopped_) {
      const auto [error, bytes] = co_await stream.async_read_some(asio::buffer(buffer), as_result);
      if (error) {
        co_return what_happened(error);
      }
      reader.append(std::span(buffer).first(bytes));
      if (Text problem = hand_over(reader); !problem.empty()) {
        co_return problem;
      }
      user_.batch_ended();
    }
    co_return Text();
  }

  /// What is whole of what was read. Says what is wrong with it.
  Text hand_over(control::FrameReader& reader) {
    control::ManagerMessage message;
    while (const auto payload = reader.next()) {
      if (!message.ParseFromArray(payload->data(), static_cast<int>(payload->size()))) {
        return "it sent bytes that are no message";
      }
      if (message.has_welcome()) {
        pause_.start_over();
      }
      user_.received(message);
    }
    return reader.broken() ? fmt::format("it announced a message of {} bytes, more than a control "
                                         "channel carries",
                                         reader.announced())
                           : Text();
  }

  template <typename Stream> asio::awaitable<Text> write(Stream& stream) {
    while (!stopped_ && !end_) {
      if (queued_.empty()) {
        wake_.expires_at(asio::steady_timer::time_point::max());
        co_await wake_.async_wait(as_result);
        continue;
      }
      const std::string batch = std::exchange(queued_, {});
      const auto [error, bytes] =
          co_await asio::async_write(stream, asio::buffer(batch), as_result);
      if (error) {
        co_return what_happened(error);
      }
    }
    co_return Text();
  }

  ChannelSettings settings_;
  std::string switch_name_;
  ChannelUser& user_;
  Socket socket_;
  asio::ip::tcp::resolver resolver_;
  asio::steady_timer timer_; ///< the pause between attempts, and the limits of one
  asio::steady_timer wake_;  ///< cancelled when there is something to write
  RedialPause pause_;
  Text said_; ///< the problem that is in the log already
  std::string queued_;
  bool connected_ = false;
  std::optional<Text> end_; ///< why the user ended this connection
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

} // namespace tributary::agent
