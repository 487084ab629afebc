#include "dataplane/worker/port_monitor.hpp"

#include <string_view>

#include <spdlog/spdlog.h>

namespace tributary::worker {
namespace {

/// What a port depends on, and may lose.
std::string_view what_is_under(const port::PortDevice& device) {
  const config::PortKind kind = device.configuration().kind;
  return kind == config::PortKind::pci     ? "NIC"
         : kind == config::PortKind::memif ? "server"
                                           : "interface";
}

} // namespace

PortMonitor::PortMonitor(WorkerGroup& workers) : workers_(workers) {
  for (std::size_t s = 0; s < workers_.switch_count(); ++s) {
    const auto& ports = workers_.plan(s).ports;
    auto& histories = histories_.emplace_back();
    for (const port::PortDevice* port : ports) {
      histories.push_back({.state = port->link()});
    }
    last_errors_.emplace_back(ports.size());
    given_up_.emplace_back(ports.size());
  }
}

void PortMonitor::poll() {
  for (std::size_t s = 0; s < histories_.size(); ++s) {
    for (std::size_t port = 0; port < histories_[s].size(); ++port) {
      look_at(s, PortNumber{static_cast<std::uint8_t>(port)});
    }
  }
}

void PortMonitor::look_at(std::size_t switch_index, PortNumber port) {
  port::PortDevice& device = *workers_.plan(switch_index).ports[port.value];
  LinkHistory& history = histories_[switch_index][port.value];
  const port::LinkState before = history.state;
  history.state = device.refresh_link();
  if (history.state != before) {
    workers_.port_changed(switch_index, port, history.state == port::LinkState::up);
    const std::string& name = workers_.plan(switch_index).name;
    switch (history.state) {
    case port::LinkState::up:
      ++history.came_up;
      spdlog::info("switch {}: port {} is up", name, device.name());
      break;
    case port::LinkState::down:
      ++history.went_down;
      spdlog::warn("switch {}: port {} is down", name, device.name());
      break;
    case port::LinkState::away:
      ++history.went_away;
      spdlog::warn("switch {}: port {} is away: its {} {} {}", name, device.name(),
                   what_is_under(device), device.configuration().device(),
                   !device.was_removed() ? "does not exist any more"
                   : device.was_reset()  ? "was reset"
                                         : "was removed");
      break;
    }
  }
  if (device.configuration().has_edge()) {
    look_at_watchdog(switch_index, port);
  }
  if (device.was_removed()) {
    workers_.pause_port(switch_index, port);
    device.let_go();
  }
  if (device.came_back()) {
    reopen(switch_index, port);
  }
}

void PortMonitor::look_at_watchdog(std::size_t switch_index, PortNumber port) {
  GivenUp& known = given_up_[switch_index][port.value];
  const SwitchPlan& plan = workers_.plan(switch_index);
  const std::string& name = plan.ports[port.value]->name();
  for (std::uint8_t number = 0; number < traffic_classes; ++number) {
    const TrafficClass c{number};
    const egress::QueueSnapshot queue = workers_.queue(switch_index, port, c);
    if (queue.given_up_times != known.times[number]) {
      known.times[number] = queue.given_up_times;
      known.now.insert(c);
      spdlog::warn("switch {}: port {}: its neighbour has paused class {} for longer than the "
                   "watchdog allows; the class is given up, and its frames are dropped",
                   plan.name, name, number);
    }
    if (known.now.contains(c) && !queue.given_up) {
      known.now.erase(c);
      spdlog::info("switch {}: port {}: class {} is no longer paused", plan.name, name, number);
    }
  }
}

void PortMonitor::reopen(std::size_t switch_index, PortNumber port) {
  port::PortDevice& device = *workers_.plan(switch_index).ports[port.value];
  std::string& last_error = last_errors_[switch_index][port.value];
  workers_.pause_port(switch_index, port);
  try {
    device.reopen();
  } catch (const port::PortError& error) {
    // Stays paused, and is retried: the other end may still be on its way.
    if (last_error != error.what()) {
      last_error = error.what();
      spdlog::warn("{}", last_error);
    }
    return;
  }
  if (!device.is_open()) {
    return; // a memif's server disappeared in between
  }
  workers_.resume_port(switch_index, port);
  last_error.clear();
  ++histories_[switch_index][port.value].reopened;
  spdlog::info("port {}: its {} came back, opened it again: {}", device.name(),
               what_is_under(device), device.description());
}

} // namespace tributary::worker
