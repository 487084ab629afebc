#include "tools/simulator/allreduce/study.hpp"

#include "tools/simulator/allreduce/host_run.hpp"
#include "tools/simulator/allreduce/tree_run.hpp"
#include "tools/simulator/allreduce/windows_run.hpp"

#include <string>

namespace tributary::simulator::allreduce {
namespace {

HostAlgorithm host_algorithm(Call call, Algorithm algorithm) {
  switch (algorithm) {
  case Algorithm::ring:
    return call == Call::allgather        ? HostAlgorithm::ring_allgather
           : call == Call::reduce_scatter ? HostAlgorithm::ring_reduce_scatter
                                          : HostAlgorithm::ring;
  case Algorithm::recursive_doubling:
    return call == Call::allgather ? HostAlgorithm::doubling : HostAlgorithm::recursive_doubling;
  case Algorithm::recursive_halving: return HostAlgorithm::halving;
  case Algorithm::binomial: return HostAlgorithm::binomial;
  case Algorithm::scatter_allgather: return HostAlgorithm::scatter_allgather;
  case Algorithm::in_network:
  case Algorithm::rabenseifner: break;
  }
  return HostAlgorithm::rabenseifner;
}

HostAlgorithm possible(Call call, Algorithm algorithm, std::uint32_t hosts) {
  const HostAlgorithm found = host_algorithm(call, algorithm);
  if (!is_possible(found, hosts)) {
    throw AllreduceError(std::string(name(algorithm)) +
                         " of this call needs a power of two of hosts, and not " +
                         std::to_string(hosts));
  }
  return found;
}

} // namespace

std::vector<StudyPoint> run_study(const Study& study, const std::function<void(double)>& progress,
                                  const std::function<bool()>& stop) {
  const Paths paths(study.topology, study.routes, study.vcs);
  std::vector<StudyPoint> points;
  const double all =
      static_cast<double>(study.hosts.size() * study.bytes.size() * study.algorithms.size());
  for (const std::uint32_t hosts : study.hosts) {
    const auto ranks = paths.place(hosts, study.placement, study.seed);
    for (const std::uint64_t bytes : study.bytes) {
      for (const Algorithm algorithm : study.algorithms) {
        if (stop()) {
          return points;
        }
        StudyPoint point{.algorithm = algorithm, .hosts = hosts, .bytes = bytes};
        if (algorithm == Algorithm::in_network) {
          const TreeTiming t =
              study.call == Call::allreduce
                  ? run_in_network(paths, ranks, bytes, study.costs, study.seed, stop)
                  : run_in_windows(study.call, paths, ranks, bytes, study.costs, study.seed, stop);
          point.ns = t.ns;
          point.messages = t.messages;
          point.most_sent = t.most_sent;
          point.slowest_share = 1;
          point.busiest_switch = t.busiest_switch;
          point.tree_height = t.height;
        } else {
          const HostTiming t = run_host_algorithm(possible(study.call, algorithm, hosts), paths,
                                                  ranks, bytes, study.costs, stop);
          point.ns = t.ns;
          point.messages = t.messages;
          point.most_sent = t.most_sent;
          point.slowest_share = t.slowest_share;
        }
        points.push_back(point);
        progress(static_cast<double>(points.size()) / all);
      }
    }
  }
  return points;
}

} // namespace tributary::simulator::allreduce
