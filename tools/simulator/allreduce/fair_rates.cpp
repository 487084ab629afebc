#include "tools/simulator/allreduce/fair_rates.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace tributary::simulator::allreduce {

std::vector<double> fair_rates(std::span<const std::vector<std::uint32_t>> flows,
                               std::span<const double> capacities) {
  struct Resource {
    double left = 0;
    std::vector<std::uint32_t> flows;
    std::size_t open = 0; ///< flows of it that have no rate yet
  };
  std::vector<Resource> resources(capacities.size());
  for (std::size_t r = 0; r < resources.size(); ++r) {
    resources[r].left = capacities[r];
  }
  for (std::size_t f = 0; f < flows.size(); ++f) {
    for (const std::uint32_t r : flows[f]) {
      resources[r].flows.push_back(static_cast<std::uint32_t>(f));
      ++resources[r].open;
    }
  }
  struct Share {
    double share;
    std::uint32_t resource;
    bool operator>(const Share& other) const {
      return share != other.share ? share > other.share : resource > other.resource;
    }
  };
  std::priority_queue<Share, std::vector<Share>, std::greater<>> shares;
  const auto share_of = [&](std::uint32_t r) {
    return resources[r].left / static_cast<double>(resources[r].open);
  };
  for (std::uint32_t r = 0; r < resources.size(); ++r) {
    if (resources[r].open != 0) {
      shares.push({share_of(r), r});
    }
  }
  std::vector<double> rates(flows.size(), std::numeric_limits<double>::infinity());
  while (!shares.empty()) {
    const Share least = shares.top();
    shares.pop();
    Resource& full = resources[least.resource];
    if (full.open == 0) {
      continue;
    }
    // Shares only grow while others are fixed, so an outdated one is put back with its current
    // value.
    if (const double now = share_of(least.resource); now > least.share) {
      shares.push({now, least.resource});
      continue;
    }
    for (const std::uint32_t f : full.flows) {
      if (rates[f] != std::numeric_limits<double>::infinity()) {
        continue;
      }
      rates[f] = least.share;
      for (const std::uint32_t r : flows[f]) {
        resources[r].left = std::max(0.0, resources[r].left - least.share);
        --resources[r].open;
      }
    }
  }
  return rates;
}

} // namespace tributary::simulator::allreduce
