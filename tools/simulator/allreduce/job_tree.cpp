#include "tools/simulator/allreduce/job_tree.hpp"

#include "controlplane/multicast/planner.hpp"
#include "controlplane/multicast/tree.hpp"

#include <algorithm>
#include <map>

namespace tributary::simulator::allreduce {

JobTree plan_tree(const Paths& paths, std::span<const topology::HostId> ranks, std::uint64_t seed) {
  const topology::Graph& graph = paths.model().graph;
  const std::vector<topology::HostId> members(ranks.begin(), ranks.end());
  multicast::Planner planner(graph, {.seed = seed});
  const auto tree = planner.plan(members);
  if (!tree) {
    throw AllreduceError("the hosts are in parts of the fabric that are not connected");
  }
  const auto parts = multicast::orient(graph, *tree, members, ranks.front());
  JobTree job;
  std::map<topology::SwitchId, std::uint32_t> node_at;
  for (const multicast::TreePart& part : parts) {
    node_at.emplace(part.at, static_cast<std::uint32_t>(job.nodes.size()));
    job.height = std::max(job.height, part.depth);
    job.nodes.emplace_back();
  }
  std::map<topology::HostId, std::uint32_t> node_of_host{{ranks.front(), 0}};
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const topology::SwitchId at = parts[n].at;
    for (const topology::Port port : parts[n].children) {
      if (const auto host = graph.host_at({at, port})) {
        ++job.nodes[n].members;
        node_of_host.emplace(*host, static_cast<std::uint32_t>(n));
        continue;
      }
      for (const topology::Hop& hop : graph.hops(at)) {
        if (hop.port == port) {
          const std::uint32_t child = node_at.at(hop.to);
          job.nodes[n].children.push_back(child);
          job.nodes[child].parent = static_cast<std::uint32_t>(n);
        }
      }
    }
  }
  for (const topology::HostId rank : ranks) {
    job.node_of.push_back(node_of_host.at(rank));
  }
  return job;
}

} // namespace tributary::simulator::allreduce
