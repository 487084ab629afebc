#include "tools/simulator/allreduce/study.hpp"

#include "tools/simulator/allreduce/host_run.hpp"
#include "tools/simulator/allreduce/tree_run.hpp"

namespace tributary::simulator::allreduce {
namespace {

HostAlgorithm host_algorithm(Algorithm algorithm) {
  switch (algorithm) {
  case Algorithm::ring: return HostAlgorithm::ring;
  case Algorithm::recursive_doubling: return HostAlgorithm::recursive_doubling;
  default: return HostAlgorithm::rabenseifner;
  }
}

} // namespace

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
  case Algorithm::in_network: return "in_network";
  case Algorithm::ring: return "ring";
  case Algorithm::recursive_doubling: return "recursive_doubling";
  case Algorithm::rabenseifner: return "rabenseifner";
  }
  return "";
}

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
          const TreeTiming t = run_in_network(paths, ranks, bytes, study.costs, study.seed, stop);
          point.ns = t.ns;
          point.messages = t.messages;
          point.most_sent = t.most_sent;
          point.slowest_share = 1;
          point.busiest_switch = t.busiest_switch;
          point.tree_height = t.height;
        } else {
          const HostTiming t =
              run_host_algorithm(host_algorithm(algorithm), paths, ranks, bytes, study.costs, stop);
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
