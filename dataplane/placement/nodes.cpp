#include "dataplane/placement/nodes.hpp"

#include <algorithm>
#include <set>

namespace tributary::placement {

std::vector<Node> nodes_with_pools(const Nodes& of) {
  std::set<Node> nodes(of.ports.begin(), of.ports.end());
  nodes.erase(any_node);
  return nodes.size() > 1 ? std::vector<Node>(nodes.begin(), nodes.end())
                          : std::vector<Node>{any_node};
}

std::size_t pool_of(std::span<const Node> pools, Node node) {
  const auto found = std::ranges::find(pools, node);
  return found == pools.end() ? 0 : static_cast<std::size_t>(found - pools.begin());
}

std::vector<std::size_t> deal_out(const Nodes& of) {
  std::vector<std::size_t> owners;
  std::vector<std::size_t> ports(of.workers.size()); // by worker: how many it has
  for (const Node node : of.ports) {
    const bool anywhere = std::ranges::find(of.workers, node) == of.workers.end();
    std::size_t owner = of.workers.size();
    for (std::size_t worker = 0; worker < of.workers.size(); ++worker) {
      if ((anywhere || of.workers[worker] == node) &&
          (owner == of.workers.size() || ports[worker] < ports[owner])) {
        owner = worker;
      }
    }
    ++ports[owner];
    owners.push_back(owner);
  }
  return owners;
}

} // namespace tributary::placement
