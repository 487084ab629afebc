// The running switch process: its resources, in the order they are opened.
//
//   configuration -> agents -> DPDK -> ports -> workers -> control socket -> ready
//
// If a step throws, everything that previous steps opened is closed again: the process is never
// half started. One event loop on the main thread serves signals, the control socket, the port
// monitor and the agents with their channels to the fabric manager; workers have threads of their
// own and never wait for it.
#pragma once

#include "dataplane/config/parse.hpp"
#include "dataplane/management/control_server.hpp"
#include "dataplane/management/metrics_server.hpp"
#include "dataplane/port/eal.hpp"
#include "dataplane/port/port_device.hpp"
#include "dataplane/process/switch_agents.hpp"
#include "dataplane/process/worker_inspector.hpp"
#include "dataplane/worker/port_monitor.hpp"
#include "dataplane/worker/worker_group.hpp"
#include "lib/service/options.hpp"
#include "lib/service/socket_file.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::dataplane {

class SwitchProcess {
public:
  /// Opens everything and lets frames flow. Throws PortError, SocketError.
  SwitchProcess(config::Parsed parsed, const service::Options& options);
  ~SwitchProcess();
  SwitchProcess(const SwitchProcess&) = delete;
  SwitchProcess& operator=(const SwitchProcess&) = delete;

  /// Serves until SIGTERM or SIGINT, then drains.
  void run();

private:
  /// Opens every port, and returns the plan of the switches on them.
  [[nodiscard]] std::vector<worker::SwitchPlan> open_switches();
  void say_ready() const;
  void shut_down();
  /// Reads the file again. Throws RequestError if it is refused, without having changed anything.
  management::ReloadReport reload();

  boost::asio::awaitable<void> wait_for_signals();
  /// Polls at an interval, for links without events.
  boost::asio::awaitable<void> watch_ports();
  /// Runs when the kernel reports a link change.
  boost::asio::awaitable<void> watch_link_events();
  boost::asio::awaitable<void> watch_drivers();
  void look_at_ports();

  service::Options options_;
  config::Parsed parsed_; ///< in force: live keys follow reloads, the others do not
  boost::asio::io_context context_;
  boost::asio::signal_set signals_; ///< before DPDK, so that an early signal is not lost
  boost::asio::steady_timer monitor_timer_;
  SwitchAgents agents_;
  port::Eal eal_;
  std::vector<std::unique_ptr<port::PortDevice>> ports_;
  worker::WorkerGroup workers_;
  worker::PortMonitor monitor_;
  boost::asio::posix::stream_descriptor driver_events_; ///< from DPDK: link events and removed NICs
  boost::asio::posix::stream_descriptor link_events_;
  WorkerInspector inspector_;
  // Opened last, so that a client that can connect finds a running switch.
  std::optional<service::SocketFile> socket_file_;
  std::optional<management::ControlServer> server_;
  std::optional<management::MetricsServer> metrics_;
  bool stopping_ = false;
};

} // namespace tributary::dataplane
