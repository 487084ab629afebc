#include "controlplane/process/fabric_process.hpp"

#include "controlplane/process/descriptors.hpp"
#include "controlplane/process/files.hpp"
#include "controlplane/store/store_error.hpp"
#include "controlplane/topology/topology_file.hpp"
#include "lib/configuration/read_file.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/net/stop_signal.hpp"
#include "lib/service/descriptor_limit.hpp"
#include "lib/service/log.hpp"
#include "lib/service/notify.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <sys/random.h>

namespace tributary::fabricd {

namespace asio = boost::asio;

namespace {

using net::as_result;

/// The most that getrandom returns without being interrupted.
constexpr std::size_t random_piece_bytes = 256;
constexpr std::chrono::seconds store_look_interval{1};

std::uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

group::Settings group_settings(const Groups& config) {
  group::Settings settings;
  settings.join_limit_ns = nanoseconds(config.join_limit);
  settings.leave_limit_ns = nanoseconds(config.leave_limit);
  settings.lease_ns = nanoseconds(config.lease);
  settings.default_multicast_limit = config.multicast_limit;
  settings.max_group_size = config.max_size;
  settings.descriptors_per_tree = config.descriptors_per_tree;
  settings.first_vni = Vni{config.first_vni};
  settings.last_vni = Vni{config.last_vni};
  settings.vni_quarantine_ns = nanoseconds(config.vni_quarantine);
  settings.in_switch_results = config.in_switch_results;
  if (const std::uint32_t payload = records::payload_within(config.payload);
      payload > records::WideFrames::narrow_payload) {
    settings.frames = {.slots = config.slots, .payload = payload, .half_floats = config.float16};
  }
  return settings;
}

fabric_controller::RouteSettings route_settings(const Routes& config) {
  fabric_controller::RouteSettings settings;
  settings.routes.enabled = config.enabled;
  settings.routes.algorithm = config.algorithm;
  settings.routes.vcs = config.vcs;
  settings.routes.policy = route_controller::policy_named(config.policy);
  if (!config.shape.empty()) {
    settings.routes.shape = route_controller::shape_named(config.shape);
  }
  for (const std::uint8_t dscp : config.sprayed_dscps) {
    settings.sprayed_dscps |= std::uint64_t{1} << dscp;
  }
  settings.damping.enabled = config.damping;
  settings.damping.penalty = config.damping_penalty;
  settings.damping.cut_off = config.damping_cut_off;
  settings.damping.reuse = config.damping_reuse;
  settings.damping.half_life_ns = nanoseconds(config.damping_half_life);
  settings.damping.longest_ns = nanoseconds(config.damping_longest);
  return settings;
}

fabric_controller::RdmaSettings rdma_settings(const Rdma& config) {
  fabric_controller::RdmaSettings settings;
  settings.policy = config.policy;
  settings.quarantine.enabled = config.quarantine;
  settings.quarantine.window_ns = nanoseconds(config.quarantine_window);
  settings.quarantine.failures = config.quarantine_failures;
  settings.quarantine.reporters = config.quarantine_reporters;
  settings.quarantine.most_reported = config.reported_limit;
  settings.quarantine.first_probe_ns = nanoseconds(config.probe_first);
  settings.quarantine.longest_probe_ns =
      nanoseconds(std::max(config.probe_first, config.probe_longest));
  settings.suspect.peers = config.suspect_peers;
  settings.suspect_jobs = config.suspect_jobs;
  settings.suspect.hold_ns = nanoseconds(config.suspect_hold);
  return settings;
}

manager::Settings manager_settings(const Config& config, const store::Store& store) {
  manager::Settings settings;
  settings.store_failure = store.failure();
  settings.name = config.manager.name;
  settings.open_job = config.manager.open_job;
  settings.open_view = config.manager.open_view;
  settings.groups = group_settings(config.groups);
  settings.routes = route_settings(config.routes);
  settings.rdma = rdma_settings(config.rdma);
  settings.job_ports = job::port_policy_named(config.groups.job_ports);
  settings.planner.seed = config.multicast.seed;
  settings.rebalance_quiet_ns = nanoseconds(config.multicast.rebalance_quiet);
  settings.discovery.host_memory_ns = nanoseconds(config.topology.host_memory);
  settings.discovery.hosts_per_port = config.topology.hosts_per_port;
  if (!config.topology.file.empty()) {
    settings.expected = topology::read_topology(configuration::read_file(config.topology.file),
                                                config.topology.file);
  }
  return settings;
}

rest::Settings rest_settings(const Rest& config) {
  rest::Settings settings;
  settings.limits.connections = descriptors_for_http(service::raise_descriptor_limit());
  settings.listen = config.listen;
  settings.tls_certificate = config.tls_certificate;
  settings.tls_key = config.tls_key;
  settings.tls_ca = config.tls_ca;
  settings.administrator_token = administrator_token(config);
  return settings;
}

southbound::ChannelServerSettings channel_settings(const Config& config) {
  southbound::ChannelServerSettings settings;
  settings.max_connections = descriptors_for_switches(service::raise_descriptor_limit());
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

FabricProcess::FabricProcess(const Config& config, bool keeps_log_level)
    : config_(config), keeps_log_level_(keeps_log_level),
      signals_(context_, SIGTERM, SIGINT, SIGHUP), deadline_(context_), store_(config.store.file),
      manager_(manager_settings(config, store_), *this, fill_randomly, store_.load_sound()),
      channels_(context_, manager_.switches(), channel_settings(config)),
      rest_(context_, rest_settings(config.rest), manager_) {
  for (const net::Address& address : config.switches.addresses) {
    if (address.is_unix()) {
      channels_.listen_unix(address.path);
    } else {
      channels_.listen_tcp(address.tcp,
                           net::TlsFiles{config.switches.tls_ca, config.switches.tls_certificate,
                                         config.switches.tls_key});
    }
  }
}

FabricProcess::~FabricProcess() = default;

void FabricProcess::run() {
  asio::co_spawn(context_, wait_for_signals(), asio::detached);
  asio::co_spawn(context_, watch_store(), asio::detached);
  follow_events();
  say_ready();
  context_.run();
}

void FabricProcess::say_ready() {
  for (const std::string& warning : warnings(config_)) {
    spdlog::warn("{}", warning);
  }
  const std::string text =
      fmt::format("ready: {} groups known, switches connect to {}, HTTP on {}",
                  manager_.groups().groups().size(), fmt::join(config_.switches.listen, ", "),
                  fmt::join(rest_.addresses(), ", "));
  spdlog::info("{}", text);
  if (!service::notify_service_manager(fmt::format("READY=1\nSTATUS={}", text))) {
    spdlog::warn("the service manager's NOTIFY_SOCKET does not take messages");
  }
}

/// The log shows the event stream, for readers of logs.
void FabricProcess::follow_events() {
  events_ =
      manager_.read_events({.token = {}, .administrator = true}, {}, [this] { log_events(); });
  log_events();
}

void FabricProcess::log_events() {
  while (const auto event = events_->next()) {
    if (event->kind == "transaction") {
      spdlog::debug("{}", event->text);
    } else {
      spdlog::info("{}", event->text);
    }
  }
}

void FabricProcess::reload() {
  try {
    rest_.reload_certificate();
    spdlog::info("SIGHUP: certificates are read again");
  } catch (const rest::ListenError& e) {
    spdlog::error("SIGHUP: the old certificate stays: {}", e.what());
  }
  try {
    if (!config_.rest.administrator_token_file.empty()) {
      rest_.set_administrator_token(administrator_token(config_.rest));
    }
    const Config wanted = parse_file(config_.file);
    for (const std::string& difference : take_over(config_, wanted)) {
      spdlog::warn("SIGHUP: not changed before a restart: {}", difference);
    }
    manager_.reconfigure(group_settings(config_.groups));
    manager_.reconfigure(route_settings(config_.routes));
    manager_.reconfigure(rdma_settings(config_.rdma));
    manager_.reconfigure(job::port_policy_named(config_.groups.job_ports));
    if (!keeps_log_level_) {
      service::set_log_level(config_.manager.log_level);
    }
    spdlog::info("SIGHUP: {} is read again", config_.file);
  } catch (const std::exception& e) {
    spdlog::error("SIGHUP: nothing is changed: {}", e.what());
  }
}

asio::awaitable<void> FabricProcess::wait_for_signals() {
  const std::string_view signal = co_await net::stop_signal(signals_, [this] { reload(); });
  if (signal.empty()) {
    co_return;
  }
  spdlog::info("signal {}: stopping; switches keep what they have", signal);
  static_cast<void>(service::notify_service_manager("STOPPING=1"));
  rest_.stop();
  while (rest_.connection_count() > 0) {
    deadline_.expires_after(std::chrono::milliseconds(10));
    co_await deadline_.async_wait(as_result);
    manager_.reconcile();
  }
  channels_.stop();
  asio::post(store_thread_, [this, waits = manager_.what_waits()] {
    try {
      store_.apply(waits);
    } catch (const store::StoreError& e) {
      spdlog::error("the last changes are not stored: {}", e.what());
    }
  });
  store_thread_.join();
  context_.stop();
}

asio::awaitable<void> FabricProcess::watch_store() {
  asio::steady_timer timer(context_);
  for (;;) {
    timer.expires_after(store_look_interval);
    const auto [error] = co_await timer.async_wait(as_result);
    if (error) {
      co_return;
    }
    asio::post(store_thread_, [this] { look_after_store(); });
  }
}

void FabricProcess::look_after_store() {
  std::string why;
  try {
    store_.expect_in_place();
  } catch (const store::StoreError& away) {
    why = away.what();
  }
  asio::post(context_, [this, why] {
    if (store_watch_.looked(why)) {
      spdlog::error("the store was moved or removed: {}", why);
    }
    if (!why.empty()) {
      manager_.store_is_away(why);
    }
  });
}

// ---- manager::Environment ----

TimeNs FabricProcess::now() { return net::steady_now(); }

std::uint64_t FabricProcess::processor_ns() { return net::thread_processor_ns(); }

std::string FabricProcess::wall_time() {
  const auto now = std::chrono::system_clock::now();
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() %
      1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), micros);
}

void FabricProcess::request_reconcile() {
  if (!std::exchange(reconcile_requested_, true)) {
    asio::post(context_, [this] { reconcile(); });
  }
}

void FabricProcess::reconcile() {
  reconcile_requested_ = false;
  manager_.reconcile();
  arm_deadline();
}

void FabricProcess::arm_deadline() {
  const TimeNs next = manager_.next_deadline();
  if (next == never) {
    deadline_.cancel();
    return;
  }
  deadline_.expires_after(std::chrono::nanoseconds(elapsed_ns(next, now())));
  deadline_.async_wait([this](boost::system::error_code error) {
    if (!error) {
      request_reconcile();
    }
  });
}

void FabricProcess::store(std::function<std::vector<records::Change>()> changes) {
  asio::post(store_thread_, [this, changes = std::move(changes)]() mutable {
    std::string failure;
    try {
      store_.apply(changes());
    } catch (const store::StoreError& e) {
      failure = e.what();
    }
    asio::post(context_, [this, failure, changes = std::move(changes)]() mutable {
      store_watch_.wrote(failure);
      manager_.stored(failure);
      arm_deadline();
      // Freeing a snapshot of the fabric takes time, too.
      asio::post(store_thread_, [changes = std::move(changes)] {});
    });
  });
}

void FabricProcess::work(std::unique_ptr<turns::BackgroundWork> piece) {
  asio::post(work_thread_, [this, piece = std::move(piece)]() mutable {
    piece->run();
    asio::post(context_,
               [this, piece = std::move(piece)]() mutable { manager_.worked(std::move(piece)); });
  });
}

void FabricProcess::send(transaction::SessionNumber session,
                         const control::ManagerMessage& message) {
  channels_.send(session, message);
}

void FabricProcess::close(transaction::SessionNumber session, std::string_view why) {
  channels_.close(session, why);
}

void FabricProcess::stalled(const std::string& what) { spdlog::warn("{}", what); }

} // namespace tributary::fabricd
