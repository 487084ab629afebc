// A whole switch in this process, as tributary-switch runs it: workers in threads of their own, its
// ports one end each of ring links. The generator's ports are the other ends.
//
//   1. HostedSwitch sw(hosted, switch_for(scenario), eal);   opens its ports; throws PortError
//   2. DpdkPort ... on ring_end(sw.link(port)) of each port
//   3. sw.start();                                           frames flow
//   4. destroy it before those
//
// Main thread.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/port/eal.hpp"
#include "dataplane/worker/worker_group.hpp"
#include "pktgen/scenario/scenario.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tributary::pktgen::transport {

class HostedSwitch {
public:
  HostedSwitch(const scenario::Hosted& hosted, const config::Switch& configuration, port::Eal& eal);

  /// Throws PortError when a worker cannot be started, or pinned to its core.
  void start() { workers_->start(); }

  [[nodiscard]] std::size_t port_count() const { return ports_.size(); }
  /// The name of the link behind a port.
  [[nodiscard]] const std::string& link(std::size_t port) const {
    return ports_[port]->configuration().ring;
  }
  [[nodiscard]] worker::WorkerGroup& workers() { return *workers_; }

private:
  std::vector<std::unique_ptr<port::PortDevice>> ports_;
  std::unique_ptr<worker::WorkerGroup> workers_; ///< stops before its ports close
};

} // namespace tributary::pktgen::transport
