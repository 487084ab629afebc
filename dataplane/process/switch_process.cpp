#include "dataplane/process/switch_process.hpp"

#include "dataplane/config/live_changes.hpp"
#include "dataplane/config/schema.hpp"
#include "dataplane/port/kernel_interface.hpp"
#include "dataplane/port/privileges.hpp"
#include "dataplane/port/transmit_queues.hpp"
#include "dataplane/process/link_settings.hpp"
#include "dataplane/process/machine.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/stop_signal.hpp"
#include "lib/service/log.hpp"
#include "lib/service/notify.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <chrono>
#include <csignal>
#include <utility>

#include <unistd.h>

namespace tributary::dataplane {

namespace asio = boost::asio;

namespace {

using net::as_result;
constexpr std::chrono::milliseconds monitor_interval{200};

/// Checks everything that can be refused before anything is opened; one message lists all that is
/// missing.
const config::Config& admissible(const config::Config& configuration) {
  service::SocketFile::check_free(configuration.process.control_socket);
  const port::Privileges have = port::Privileges::of_this_process();
  std::string refusals;
  for (const config::Switch& sw : configuration.switches) {
    for (const config::Port& port : sw.ports) {
      if (const std::string missing = port::missing_privileges(port.kind, have); !missing.empty()) {
        refusals += fmt::format("{}{}:{}: switch \"{}\": port \"{}\" ({}) needs {}",
                                refusals.empty() ? "" : "\n", configuration.file, port.line,
                                sw.name, port.name, config::name_of(port.kind), missing);
      }
    }
  }
  if (!refusals.empty()) {
    throw port::PortError(
        fmt::format("missing privileges; start the switch as root, or grant them with "
                    "systemd's AmbientCapabilities or `setcap`:\n{}",
                    refusals));
  }
  return configuration;
}

/// Workers with cores of their own have one each (config/validate.cpp).
void warn_of_too_few_cores(const config::Process& process) {
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (process.cores.empty() && online > 0 && process.workers > static_cast<unsigned long>(online)) {
    spdlog::warn("{} workers share {} core{}, and two of them on one core starve each other: make "
                 "`workers` {}",
                 process.workers, online, online == 1 ? "" : "s", online);
  }
}

std::string counted(std::size_t n, std::string_view noun, std::string_view plural) {
  return fmt::format("{} {}", n, n == 1 ? noun : plural);
}

} // namespace

SwitchProcess::SwitchProcess(config::Parsed parsed, const service::Options& options)
    : options_(options), parsed_(std::move(parsed)), signals_(context_, SIGTERM, SIGINT, SIGHUP),
      monitor_timer_(context_), agents_(context_, admissible(parsed_.config)), eal_(parsed_.config),
      workers_(parsed_.config.process, eal_, open_switches()), monitor_(workers_),
      driver_events_(context_, ::dup(eal_.device_events().descriptor())),
      link_events_(context_, port::open_link_events().release()),
      inspector_(parsed_.config, workers_, monitor_, agents_, eal_, [this] { return reload(); }) {
  link_events_.non_blocking(true);
  warn_of_too_few_cores(parsed_.config.process);
  workers_.start();
  agents_.start(workers_);
  socket_file_.emplace(parsed_.config.process.control_socket);
  server_.emplace(context_, socket_file_->release_descriptor(), inspector_);
  if (const std::optional<net::Address>& where = parsed_.config.process.metrics_address) {
    metrics_.emplace(context_, *where, inspector_);
    spdlog::info("metrics at {}", metrics_->where());
  }
}

SwitchProcess::~SwitchProcess() { shut_down(); }

std::vector<worker::SwitchPlan> SwitchProcess::open_switches() {
  std::vector<worker::SwitchPlan> plans;
  for (const config::Switch& sw : parsed_.config.switches) {
    worker::SwitchPlan plan{.name = sw.name,
                            .settings = sw.settings,
                            .ports = {},
                            .links = link_settings(parsed_.config),
                            .guid = sw.guid != 0 ? sw.guid : wire::guid_of_name(sw.name),
                            .ethertype = sw.ethertype,
                            .tables = agents_.first_tables(plans.size())};
    for (const config::Port& port : sw.ports) {
      try {
        ports_.push_back(std::make_unique<port::PortDevice>(
            port, eal_, 1,
            port::wanted_senders(port, parsed_.config.process.workers,
                                 parsed_.config.switches.size())));
      } catch (const port::PortError& e) {
        throw port::PortError(fmt::format("{}:{}: switch \"{}\": {}", parsed_.config.file,
                                          port.line, sw.name, e.what()));
      }
      plan.ports.push_back(ports_.back().get());
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

void SwitchProcess::say_ready() const {
  const std::string text =
      fmt::format("ready: {}, {}, {}", counted(workers_.switch_count(), "switch", "switches"),
                  counted(ports_.size(), "port", "ports"),
                  counted(workers_.worker_count(), "worker", "workers"));
  spdlog::info("{}", text);
  if (!service::notify_service_manager(fmt::format("READY=1\nSTATUS={}", text))) {
    spdlog::warn("the service manager's NOTIFY_SOCKET does not take messages");
  }
}

void SwitchProcess::run() {
  asio::co_spawn(context_, wait_for_signals(), asio::detached);
  asio::co_spawn(context_, watch_ports(), asio::detached);
  asio::co_spawn(context_, watch_link_events(), asio::detached);
  asio::co_spawn(context_, watch_drivers(), asio::detached);
  say_ready();
  context_.run();
}

asio::awaitable<void> SwitchProcess::wait_for_signals() {
  const std::string_view signal = co_await net::stop_signal(signals_, [this] {
    try {
      static_cast<void>(reload());
    } catch (const management::RequestError&) {
      // The error is logged; the switch keeps its configuration.
    }
  });
  if (signal.empty()) {
    co_return;
  }
  spdlog::info("signal {}: draining", signal);
  static_cast<void>(service::notify_service_manager("STOPPING=1"));
  stopping_ = true;
  monitor_timer_.cancel();
  link_events_.cancel();
  driver_events_.cancel();
  agents_.stop();
  server_->stop();
  if (metrics_) {
    metrics_->stop();
  }
}

asio::awaitable<void> SwitchProcess::watch_ports() {
  while (!stopping_) {
    monitor_timer_.expires_after(monitor_interval);
    co_await monitor_timer_.async_wait(as_result);
    if (!stopping_) {
      look_at_ports();
      workers_.balance();
    }
  }
}

asio::awaitable<void> SwitchProcess::watch_link_events() {
  while (!stopping_) {
    const auto [error] =
        co_await link_events_.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
    if (error || stopping_) {
      co_return;
    }
    // Reads all waiting events; ENOBUFS means that the kernel dropped some.
    boost::system::error_code state;
    while (!state || state == asio::error::no_buffer_space) {
      std::array<char, 16 * 1024> event;
      link_events_.read_some(asio::buffer(event), state);
    }
    look_at_ports();
  }
}

asio::awaitable<void> SwitchProcess::watch_drivers() {
  while (!stopping_) {
    const auto [error] =
        co_await driver_events_.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
    if (error || stopping_) {
      co_return;
    }
    eal_.device_events().accept();
    look_at_ports();
  }
}

void SwitchProcess::look_at_ports() {
  monitor_.poll();
  agents_.look_at_ports();
}

void SwitchProcess::shut_down() {
  stopping_ = true;
  server_->stop();
  if (metrics_) {
    metrics_->stop();
  }
  monitor_timer_.cancel();
  link_events_.cancel();
  driver_events_.cancel();
  agents_.stop();
  signals_.cancel();
  // Captures must release the workers before those end.
  context_.restart();
  context_.run();
  workers_.request_stop();
  workers_.join();
  spdlog::info("drained; closing all ports");
}

management::ReloadReport SwitchProcess::reload() {
  const std::string& file = parsed_.config.file;
  spdlog::info("reading {} again", file);
  config::LiveChanges changes;
  std::vector<const config::Switch*> changed;
  try {
    changes = config::plan_live_changes(parsed_, read_configuration(file));
    // Check all of them before the first is applied.
    for (std::size_t s = 0; s < changes.switches.size(); ++s) {
      const config::Switch& sw = changes.config.switches[s];
      changed.push_back(changes.switches[s].changed ? &sw : nullptr);
      if (const std::string problem = agents_.refuses(s, sw); !problem.empty()) {
        throw management::RequestError(fmt::format("switch \"{}\": {}", sw.name, problem));
      }
    }
  } catch (const std::exception& e) {
    spdlog::error("{} is refused, nothing is changed:\n{}", file, e.what());
    throw management::RequestError(
        fmt::format("the file is refused, nothing is changed:\n{}", e.what()));
  }
  management::ReloadReport report;
  for (const std::string& difference : changes.ignored) {
    spdlog::warn("not changed before a restart: {}", difference);
  }
  report.ignored = changes.ignored;
  agents_.reload(changed);
  for (std::size_t s = 0; s < changed.size(); ++s) {
    if (changed[s] == nullptr) {
      continue;
    }
    const std::string text =
        fmt::format("{}: {}", changes.config.switches[s].name, changes.switches[s].summary);
    spdlog::info("applied to {}", text);
    report.applied.push_back(text);
  }
  if (changes.config.process.log_level != parsed_.config.process.log_level &&
      options_.log_level.empty()) {
    service::set_log_level(changes.config.process.log_level);
    report.applied.push_back(
        fmt::format("process: log_level is {}", changes.config.process.log_level));
  }
  parsed_.config = std::move(changes.config);
  return report;
}

} // namespace tributary::dataplane
