#include "dataplane/port/machine_nodes.hpp"

#include <cstddef>
#include <string>

#include <fmt/format.h>

namespace tributary::port {

using placement::any_node;
using placement::Node;

Node node_of_core(const MachineFiles& files, unsigned core) {
  const std::string nodes = "/sys/devices/system/node";
  for (const std::string& name : files.names(nodes)) {
    if (name.starts_with("node") && name.size() > 4 &&
        files.cpus(fmt::format("{}/{}/cpulist", nodes, name)).contains(core)) {
      return static_cast<Node>(std::stoi(name.substr(4)));
    }
  }
  return any_node;
}

Node node_of_port(const MachineFiles& files, const config::Port& port) {
  std::string device;
  switch (port.kind) {
  case config::PortKind::pci:
    device = fmt::format("/sys/bus/pci/devices/{}", port.pci_address);
    break;
  case config::PortKind::af_xdp:
  case config::PortKind::af_packet:
    device = fmt::format("/sys/class/net/{}/device", port.interface);
    break;
  case config::PortKind::memif:
  case config::PortKind::ring:
  case config::PortKind::pcap:
  case config::PortKind::null: return any_node;
  }
  // The kernel writes -1 for none.
  return static_cast<Node>(files.number(device + "/numa_node").value_or(any_node));
}

placement::Nodes nodes_of(const MachineFiles& files, const config::Config& configuration) {
  placement::Nodes nodes;
  for (const config::Switch& one : configuration.switches) {
    for (const config::Port& port : one.ports) {
      nodes.ports.push_back(node_of_port(files, port));
    }
  }
  const std::vector<unsigned>& cores = configuration.process.cores;
  for (std::size_t worker = 0; worker < configuration.process.workers; ++worker) {
    nodes.workers.push_back(cores.empty() ? any_node
                                          : node_of_core(files, cores[worker % cores.size()]));
  }
  return nodes;
}

} // namespace tributary::port
