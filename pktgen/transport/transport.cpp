#include "pktgen/transport/transport.hpp"

#include "dataplane/port/privileges.hpp"
#include "lib/configuration/findings.hpp"
#include "lib/link/interface.hpp"
#include "lib/link/link_error.hpp"
#include "lib/link/raw_socket.hpp"
#include "pktgen/transport/dpdk_port.hpp"
#include "pktgen/transport/switch_for.hpp"
#include "tributary/wire/portals.hpp"

#include <rte_ethdev.h>

#include <fmt/format.h>

#include <algorithm>

namespace tributary::pktgen::transport {

using scenario::PortSpec;
using scenario::Scenario;

namespace {

/// Refuses what cannot work before anything is opened, for a precise error message.
void check(const Scenario& scenario) {
  if (scenario.hosted) {
    return;
  }
  configuration::Findings findings;
  if (const auto devices = std::ranges::count(scenario.ports, false, &PortSpec::raw);
      devices > RTE_MAX_ETHPORTS) {
    findings.add(
        0, "port",
        "{} ports are DPDK devices, more than the {} that this DPDK was built for; make "
        "some of them raw sockets (kind = \"raw\"), or share them out between two generators",
        devices, RTE_MAX_ETHPORTS);
  }
  findings.throw_if_any(scenario.name);
  refused_ports(scenario, config::memory_order_of_this_processor).throw_if_any(scenario.name);
  const auto have = port::Privileges::of_this_process();
  for (const PortSpec& spec : scenario.ports) {
    if (!spec.device.interface.empty()) {
      static_cast<void>(
          link::interface_facts(spec.device.interface, "looking for the scenario's ports"));
    }
    const std::string missing =
        spec.raw ? std::string() : port::missing_privileges(spec.device.kind, have);
    if (!missing.empty()) {
      throw port::PortError(fmt::format("port \"{}\": missing privilege: {}; start "
                                        "tributary-pktgen as root, or use a raw socket, "
                                        "which needs CAP_NET_RAW alone",
                                        spec.device.name, missing));
    }
  }
}

/// Which of several sockets a frame is for: one flow stays on one of them.
link::Spread by_fabric_addresses() {
  return {.first_word = wire::portals_offset::sfa,
          .second_word = wire::portals_offset::dfa,
          .by = "fabric addresses"};
}

std::vector<std::unique_ptr<link::RawSocket>> raw_sockets(const PortSpec& spec,
                                                          std::uint16_t ethertype) {
  try {
    return link::RawSocket::sharing(spec.device.interface, ethertype, spec.queues,
                                    by_fabric_addresses());
  } catch (const link::LinkError& error) {
    if (error.kind() != link::LinkError::Kind::not_permitted) {
      throw;
    }
    throw port::PortError(fmt::format(
        "port \"{}\": missing privilege: CAP_NET_RAW; start tributary-pktgen as root. A "
        "generator sends as many hosts, and the host agent of a node lets a user send as "
        "that node alone",
        spec.device.name));
  }
}

bool uses_dpdk(const Scenario& scenario) {
  return scenario.hosted ||
         std::ranges::any_of(scenario.ports, [](const PortSpec& spec) { return !spec.raw; });
}

} // namespace

configuration::Findings refused_ports(const Scenario& scenario, config::MemoryOrder order) {
  configuration::Findings findings;
  for (const PortSpec& spec : scenario.ports) {
    const auto refusal = spec.raw ? "" : config::refusal_of(spec.device.kind, order);
    if (!refusal.empty()) {
      findings.add(0, "port", "port \"{}\": {}, or a raw socket (kind = \"raw\")", spec.device.name,
                   refusal);
    }
  }
  return findings;
}

config::Config dpdk_needs(const Scenario& scenario) {
  config::Config needs;
  if (!uses_dpdk(scenario)) {
    return needs;
  }
  needs.file = scenario.name;
  const auto generator_threads =
      static_cast<std::uint32_t>(std::max<std::size_t>(scenario.cores.size(), 1));
  needs.process.workers = generator_threads + (scenario.hosted ? scenario.hosted->workers : 0);
  needs.process.longest_frame = longest_frame_of(scenario);
  std::vector<config::Port>& ports = needs.switches.emplace_back().ports;
  if (!scenario.hosted) {
    for (const PortSpec& spec : scenario.ports) {
      if (!spec.raw) {
        ports.push_back(spec.device);
        // Each further queue holds as many buffers as a port.
        ports.insert(ports.end(), spec.queues - 1, ring_end(""));
      }
    }
  }
  // Both ends of each link: to the hosted switch, or in the calibration, which do not overlap.
  if (scenario.hosted || scenario.phases.calibrate) {
    ports.insert(ports.end(), 2 * generator_ports(scenario), ring_end(""));
  }
  return needs;
}

Transport::Transport(const Scenario& scenario) {
  check(scenario);
  if (const config::Config needs = dpdk_needs(scenario); !needs.switches.empty()) {
    eal_ = std::make_unique<port::Eal>(needs);
  }
  if (scenario.hosted) {
    host_switch(scenario);
  } else {
    open_ports(scenario);
  }
  if (!probe_ && !scenario.switch_socket.empty()) {
    probe_ = std::make_unique<SocketSwitchProbe>(scenario.switch_socket);
  }
}

Transport::~Transport() = default;

void Transport::open_ports(const Scenario& scenario) {
  const auto add = [this](PortIndex port, auto queue_pairs) {
    port_of_queue_pair_.insert(port_of_queue_pair_.end(), queue_pairs.size(), port);
    std::ranges::move(queue_pairs, std::back_inserter(queue_pairs_));
  };
  for (PortIndex port = 0; port < scenario.ports.size(); ++port) {
    const PortSpec& spec = scenario.ports[port];
    if (spec.raw) {
      add(port, raw_sockets(spec, scenario.ethertype));
      continue;
    }
    config::Port device = spec.device;
    device.policy.ethertype = scenario.ethertype;
    add(port, DpdkPort::sharing(device, *eal_, address_of_port(scenario, port), spec.queues));
  }
}

void Transport::host_switch(const Scenario& scenario) {
  hosted_ = std::make_unique<HostedSwitch>(*scenario.hosted, switch_for(scenario), *eal_);
  for (std::size_t i = 0; i < generator_ports(scenario); ++i) {
    queue_pairs_.push_back(std::make_unique<DpdkPort>(ring_end(hosted_->link(i)), *eal_,
                                                      address_of_port(scenario, i)));
    port_of_queue_pair_.push_back(i);
  }
  hosted_->start();
  probe_ = std::make_unique<HostedSwitchProbe>(hosted_->workers());
}

std::vector<Port*> Transport::queue_pairs() const {
  std::vector<Port*> queue_pairs;
  std::ranges::transform(queue_pairs_, std::back_inserter(queue_pairs),
                         &std::unique_ptr<Port>::get);
  return queue_pairs;
}

std::vector<Port*> Transport::ports() const {
  std::vector<Port*> ports;
  for (QueuePairIndex queue_pair = 0; queue_pair < queue_pairs_.size(); ++queue_pair) {
    if (port_of_queue_pair_[queue_pair] == ports.size()) {
      ports.push_back(queue_pairs_[queue_pair].get());
    }
  }
  return ports;
}

std::unique_ptr<LoopSwitch> Transport::loop(const Scenario& scenario) {
  if (eal_) {
    return LoopSwitch::through_rings(scenario, *eal_);
  }
  try {
    return LoopSwitch::through_sockets(scenario);
  } catch (const std::runtime_error&) {
    return LoopSwitch::through_memory(scenario);
  }
}

} // namespace tributary::pktgen::transport
