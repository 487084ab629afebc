#include "controlplane/process/fabric_process.hpp"

#include "controlplane/process/files.hpp"
#include "controlplane/process/listening.hpp"
#include "controlplane/store/store_error.hpp"
#include "controlplane/topology/topology_file.hpp"
#include "lib/configuration/read_file.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/net/stop_signal.hpp"
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
#include <cstddef>
#include <cstdint>
#include <span>
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
constexpr std::chrono::milliseconds beat_interval{100};
/// For clients and writes of a manager that is asked to end while etcd does not answer.
constexpr std::chrono::seconds ending_limit{2};

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

void fill_randomly(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::getrandom(bytes.data(), std::min(bytes.size(), random_piece_bytes), 0);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
}

/// Never 0.
std::uint64_t random_number() {
  std::uint64_t number = 0;
  fill_randomly(std::as_writable_bytes(std::span(&number, 1)));
  return number | 1U;
}

manager::Settings manager_settings(const Config& config, store::Store& store,
                                   std::function<void(const std::string&)> hand_over) {
  manager::Settings settings;
  settings.store_failure = store.failure();
  settings.confirms = !config.store.etcd.empty();
  settings.name = config.manager.name;
  settings.standbys = [&leadership = store.leadership()] {
    std::vector<api::StandbyPlace> standbys;
    for (store::RegisteredManager& one : leadership.managers()) {
      if (!one.leads) {
        standbys.push_back({std::move(one.name), std::move(one.addresses)});
      }
    }
    return standbys;
  };
  settings.hand_over = std::move(hand_over);
  settings.boot = store.failure().empty() ? random_number() : 0;
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

} // namespace

FabricProcess::FabricProcess(const Config& config, std::unique_ptr<store::Store> store,
                             bool keeps_log_level)
    : config_(config), keeps_log_level_(keeps_log_level),
      signals_(context_, SIGTERM, SIGINT, SIGHUP), deadline_(context_), store_(std::move(store)),
      manager_(manager_settings(config, *store_,
                                [this](const std::string& successor) { hand_over(successor); }),
               *this, fill_randomly, store_->load_sound()),
      channels_(context_, manager_.switches(), channel_settings(config)),
      rest_(context_, rest_settings(config.rest), manager_) {
  listen(channels_, config.switches);
}

FabricProcess::~FabricProcess() { store_->leadership().follow({}); }

FabricProcess::End FabricProcess::run() {
  asio::co_spawn(context_, wait_for_signals(), asio::detached);
  asio::co_spawn(context_, config_.store.etcd.empty() ? watch_store() : beat(), asio::detached);
  store_->leadership().follow(
      [this] { asio::post(context_, [this] { static_cast<void>(follow_leadership()); }); });
  follow_events();
  say_ready();
  context_.run();
  return end_;
}

// ---- leadership ----

bool FabricProcess::follow_leadership() {
  store::Leadership& leadership = store_->leadership();
  const store::Standing before = std::exchange(standing_, leadership.standing());
  switch (standing_) {
  case store::Standing::leads:
    if (before != standing_) {
      manager_.resume();
      arm_deadline();
    }
    return true;
  case store::Standing::suspended:
    if (before != standing_) {
      manager_.suspend(leadership.reason());
    }
    if (leadership.is_expired()) {
      manager_.let_go(leadership.reason());
    }
    return true;
  case store::Standing::standby:
  case store::Standing::over: break;
  }
  if (before != standing_) {
    step_down(leadership.reason());
  }
  return false;
}

/// Ends the loop as it stands: answers that are ready are not sent, and all connections close.
void FabricProcess::step_down(const std::string& why) {
  if (end_ == End::stepped_down) {
    return;
  }
  spdlog::error("this manager does not lead any more: {}", why);
  // Asked to end meanwhile, it ends, and does not stand by.
  end_ = is_finishing_ && end_ == End::stopped ? End::stopped : End::stepped_down;
  context_.stop();
}

asio::awaitable<void> FabricProcess::beat() {
  asio::steady_timer timer(context_);
  for (;;) {
    timer.expires_after(beat_interval);
    const auto [error] = co_await timer.async_wait(as_result);
    if (error || !follow_leadership()) {
      co_return;
    }
    store_->leadership().progressed();
  }
}

void FabricProcess::say_ready() {
  if (config_.store.etcd.empty()) { // a standby has logged them
    for (const std::string& warning : warnings(config_)) {
      spdlog::warn("{}", warning);
    }
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
  end_ = End::stopped;
  co_await finish({});
}

void FabricProcess::hand_over(const std::string& successor) {
  if (!is_finishing_ && end_ == End::stopped) {
    end_ = End::handed_over;
    asio::post(context_,
               [this, successor] { asio::co_spawn(context_, finish(successor), asio::detached); });
  }
}

/// Answers what was asked, stores what waits, and gives up the lead for this manager; "": any.
asio::awaitable<void> FabricProcess::finish(std::string successor) {
  if (std::exchange(is_finishing_, true)) {
    co_return; // a signal during a change of leader: `end_` says what follows
  }
  rest_.stop();
  store_->leadership().ends_within(ending_limit);
  const auto suspended_until = std::chrono::steady_clock::now() + ending_limit;
  // A manager that is suspended answers nothing, and its clients are not waited for.
  while (rest_.connection_count() > 0 && (standing_ == store::Standing::leads ||
                                          std::chrono::steady_clock::now() < suspended_until)) {
    deadline_.expires_after(std::chrono::milliseconds(10));
    co_await deadline_.async_wait(as_result);
    manager_.reconcile();
  }
  channels_.stop();
  asio::post(store_thread_, [this, waits = manager_.what_waits(), successor] {
    try {
      store_->apply(waits);
    } catch (const store::StoreError& e) {
      spdlog::error("the last changes are not stored: {}", e.what());
    }
    store_->leadership().resign(successor);
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
    store_->expect_in_place();
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
  if (!follow_leadership()) {
    return;
  }
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
    bool is_over = false;
    try {
      store_->apply(changes());
    } catch (const store::StoreError& e) {
      failure = e.what();
      is_over = e.kind() == store::StoreError::Kind::fenced;
    }
    asio::post(context_, [this, failure, is_over, changes = std::move(changes)]() mutable {
      if (is_over) {
        return step_down(failure);
      }
      if (!follow_leadership()) {
        return;
      }
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
