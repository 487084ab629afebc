#include "controlplane/multicast/algorithm.hpp"

#include "controlplane/multicast/fulb.hpp"
#include "controlplane/multicast/minihop.hpp"
#include "controlplane/multicast/prism.hpp"
#include "controlplane/multicast/sssp.hpp"

#include <algorithm>
#include <array>

namespace tributary::multicast {
namespace {

struct Making {
  Distances& distances;
  std::uint64_t seed;
  RootScan scan;
};
using Maker = std::unique_ptr<Algorithm> (*)(const Making&);

template <RootRule rule> std::unique_ptr<Algorithm> minihop(const Making& making) {
  return std::make_unique<Minihop>(making.distances, rule, making.scan);
}
template <RootRule rule, SsspSearch search> std::unique_ptr<Algorithm> sssp(const Making& making) {
  return std::make_unique<Sssp>(making.distances, rule, making.scan, search);
}
template <RootRule rule> std::unique_ptr<Algorithm> fulb(const Making& making) {
  return std::make_unique<Fulb>(making.distances, rule, making.scan);
}

std::unique_ptr<Algorithm> prism(const Making& making) {
  return std::make_unique<Prism>(making.distances.view(), making.distances, making.seed);
}

struct Named {
  std::string_view name;
  Maker make;
};
constexpr std::array algorithms{
    Named{"minihop", minihop<RootRule::first>},
    Named{"minihop_new", minihop<RootRule::least_rooted>},
    Named{"minihop_new_through", minihop<RootRule::least_through>},
    Named{"sssp", sssp<RootRule::first, SsspSearch::heap>},
    Named{"sssp_new", sssp<RootRule::least_rooted, SsspSearch::heap>},
    Named{"sssp_new_through", sssp<RootRule::least_through, SsspSearch::heap>},
    Named{"sssp_new_layered", sssp<RootRule::least_rooted, SsspSearch::layered>},
    Named{"sssp_new_layered_through", sssp<RootRule::least_through, SsspSearch::layered>},
    Named{"fulb", fulb<RootRule::least_rooted>},
    Named{"fulb_rooted", fulb<RootRule::least_rooted>},
    Named{"fulb_through", fulb<RootRule::least_through>},
    Named{"prism", prism},
};

} // namespace

std::unique_ptr<Algorithm> make_algorithm(std::string_view name, Distances& distances,
                                          std::uint64_t seed, RootScan scan) {
  const auto named = std::ranges::find(algorithms, name, &Named::name);
  return named == algorithms.end() ? nullptr : named->make({distances, seed, scan});
}

} // namespace tributary::multicast
