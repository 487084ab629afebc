#include "controlplane/process/fabric_process.hpp"

#include "controlplane/topology/toml_file.hpp"
#include "service/as_result.hpp"
#include "service/notify.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <sys/random.h>

namespace tributary::fabricd {

namespace asio = boost::asio;

namespace {

using service::as_result;
/// What getrandom gives without being interrupted.
constexpr std::size_t random_piece_bytes = 256;

std::uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

manager::Settings manager_settings(const Config& config) {
  manager::Settings settings;
  settings.name = config.manager.name;
  settings.open_job = config.manager.open_job;
  settings.groups.join_limit_ns = nanoseconds(config.groups.join_limit);
  settings.groups.leave_limit_ns = nanoseconds(config.groups.leave_limit);
  settings.groups.lease_ns = nanoseconds(config.groups.lease);
  settings.groups.default_multicast_limit = config.groups.multicast_limit;
  settings.groups.max_group_size = config.groups.max_size;
  settings.groups.first_vni = Vni{config.groups.first_vni};
  settings.groups.last_vni = Vni{config.groups.last_vni};
  settings.planner.algorithm = config.multicast.algorithm;
  settings.planner.seed = config.multicast.seed;
  if (!config.topology.file.empty()) {
    settings.expected = topology::read_toml_file(config.topology.file);
  }
  return settings;
}

std::string first_line_of(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line.empty()) {
    throw std::runtime_error(
        fmt::format("rest.administrator_token_file {}: {}; its first line must be the token", file,
                    in.is_open() ? "is empty" : std::strerror(errno)));
  }
  return line;
}

rest::Settings rest_settings(const Rest& config) {
  rest::Settings settings;
  settings.listen = config.listen;
  settings.tls_certificate = config.tls_certificate;
  settings.tls_key = config.tls_key;
  if (!config.administrator_token_file.empty()) {
    settings.administrator_token = first_line_of(config.administrator_token_file);
  }
  return settings;
}

install::ChannelServerSettings channel_settings(const Config& config) {
  install::ChannelServerSettings settings;
  settings.sessions.manager = config.manager.name;
  settings.sessions.keepalive = config.switches.keepalive;
  settings.sessions.statistics = config.switches.statistics;
  return settings;
}

void fill_randomly(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::getrandom(bytes.data(), std::min(bytes.size(), random_piece_bytes), 0);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
}

} // namespace

FabricProcess::FabricProcess(const Config& config)
    : config_(config), signals_(context_, SIGTERM, SIGINT, SIGHUP), deadline_(context_),
      store_(config.store.file),
      manager_(manager_settings(config), *this, fill_randomly, store_.load()),
      channels_(context_, manager_, channel_settings(config)),
      rest_(context_, rest_settings(config.rest), manager_) {
  for (const std::string& address : config.switches.listen) {
    constexpr std::string_view unix_prefix = "unix:";
    if (address.starts_with(unix_prefix)) {
      channels_.listen_unix(address.substr(unix_prefix.size()));
    } else {
      channels_.listen_tcp(address, install::TlsFiles{config.switches.tls_ca,
                                                      config.switches.tls_certificate,
                                                      config.switches.tls_key});
    }
  }
}

FabricProcess::~FabricProcess() = default;

void FabricProcess::run() {
  asio::co_spawn(context_, wait_for_signals(), asio::detached);
  follow_events();
  say_ready();
  context_.run();
}

void FabricProcess::say_ready() {
  const std::string text = fmt::format(
      "ready: {} groups known, switches dial {}, HTTP on {}", manager_.groups().groups().size(),
      fmt::join(config_.switches.listen, ", "), fmt::join(rest_.addresses(), ", "));
  spdlog::info("{}", text);
  if (!service::notify_service_manager(fmt::format("READY=1\nSTATUS={}", text))) {
    spdlog::warn("the service manager's NOTIFY_SOCKET does not take messages");
  }
}

/// The log is the event stream, for those who read logs.
void FabricProcess::follow_events() {
  const auto forever = manager_.subscribe(0, [](const rest::Event& event) {
    const auto& text = event.body.at("text").as_string();
    if (event.kind == "transaction") {
      spdlog::debug("{}", std::string_view(text));
    } else {
      spdlog::info("{}", std::string_view(text));
    }
  });
  static_cast<void>(forever);
}

asio::awaitable<void> FabricProcess::wait_for_signals() {
  for (;;) {
    const auto [error, signal] = co_await signals_.async_wait(as_result);
    if (error) {
      co_return;
    }
    if (signal == SIGHUP) {
      try {
        rest_.reload_certificate();
        spdlog::info("SIGHUP: certificates are read again");
      } catch (const rest::ListenError& e) {
        spdlog::error("SIGHUP: the old certificate stays: {}", e.what());
      }
      continue;
    }
    spdlog::info("signal {}: ending; switches keep what they have",
                 signal == SIGTERM ? "SIGTERM" : "SIGINT");
    static_cast<void>(service::notify_service_manager("STOPPING=1"));
    rest_.stop();
    while (rest_.connection_count() > 0) {
      deadline_.expires_after(std::chrono::milliseconds(10));
      co_await deadline_.async_wait(as_result);
      manager_.settle();
    }
    channels_.stop();
    context_.stop();
    co_return;
  }
}

// ---- manager::Surroundings ----

TimeNs FabricProcess::now() {
  return {static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                         std::chrono::steady_clock::now().time_since_epoch())
                                         .count())};
}

std::string FabricProcess::wall_time() {
  const auto now = std::chrono::system_clock::now();
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), millis);
}

void FabricProcess::request_settle() {
  if (!std::exchange(settle_requested_, true)) {
    asio::post(context_, [this] { settle(); });
  }
}

void FabricProcess::settle() {
  settle_requested_ = false;
  manager_.settle();
  const TimeNs next = manager_.next_deadline();
  if (next == never) {
    deadline_.cancel();
    return;
  }
  deadline_.expires_after(std::chrono::nanoseconds(elapsed_ns(next, now())));
  deadline_.async_wait([this](boost::system::error_code error) {
    if (!error) {
      request_settle();
    }
  });
}

void FabricProcess::store(std::span<const store::Change> changes) { store_.apply(changes); }

void FabricProcess::send(install::SessionNumber session, const control::ManagerMessage& message) {
  channels_.send(session, message);
}

void FabricProcess::close(install::SessionNumber session, std::string_view why) {
  channels_.close(session, why);
}

} // namespace tributary::fabricd
