#include "controlplane/unicast/graph_network.hpp"

namespace tributary::unicast {

Network network_of(const topology::Graph& graph) {
  Network network;
  for (const topology::Switch& s : graph.switches()) {
    network.add_switch(s.name, s.ports);
  }
  for (const topology::Link& link : graph.links()) {
    if (link.plugged) {
      network.connect({link.ends[0].at.value, link.ends[0].port},
                      {link.ends[1].at.value, link.ends[1].port});
    }
  }
  return network;
}

PortStates port_states(const topology::Graph& graph, const Network& network) {
  PortStates states(network, false);
  for (std::uint32_t i = 0; i < graph.links().size(); ++i) {
    const topology::LinkId id{i};
    if (graph[id].plugged && graph.usable(id)) {
      for (const topology::Attachment& end : graph[id].ends) {
        states.set(end.at.value, end.port, true);
      }
    }
  }
  return states;
}

std::vector<std::uint32_t> endpoints_of(const topology::Graph& graph) {
  std::vector<bool> has(graph.switches().size());
  for (const topology::Host& host : graph.hosts()) {
    if (host.plugged && graph[host.at.at].up) {
      has[host.at.at.value] = true;
    }
  }
  std::vector<std::uint32_t> endpoints;
  for (std::uint32_t s = 0; s < has.size(); ++s) {
    if (has[s]) {
      endpoints.push_back(s);
    }
  }
  return endpoints;
}

} // namespace tributary::unicast
