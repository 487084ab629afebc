// What the registry of groups costs: from the first join of a group to the moment it is ready, with
// all the others waiting beside it. Routes and installation answer at once.
#include "tests/unit/group/office.hpp"

#include <benchmark/benchmark.h>

namespace tributary::test {
namespace {

void from_first_join_to_ready(benchmark::State& state) {
  const auto groups = static_cast<std::uint32_t>(state.range(0));
  const auto size = static_cast<std::uint32_t>(state.range(1));
  for (auto _ : state) {
    state.PauseTiming();
    Office office({.default_multicast_limit = groups});
    office.job();
    state.ResumeTiming();
    // Column by column, so that all groups wait until the last column; every group has hosts of its
    // own, for a host is the root of one group only.
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      for (std::uint32_t g = 0; g < groups; ++g) {
        const Nid nid{g * size + rank};
        office->located(nid, office.now);
        benchmark::DoNotOptimize(
            office->join(request_to_join(rank, nid.value, size, std::to_string(g)), office.now));
        benchmark::DoNotOptimize(office->renew("j1", std::to_string(g), rank, office.now));
      }
    }
    for (const auto& action : office.act()) {
      const GroupId id = std::get<group::ComputeRoutes>(action).group;
      benchmark::DoNotOptimize(office->routes_ready(id, routes_over("s"), office.now));
      office->installed(id, office.now);
    }
    if (office->trees_in_use() != groups) {
      state.SkipWithError("not every group is ready");
    }
  }
  state.SetItemsProcessed(state.iterations() * groups);
}
BENCHMARK(from_first_join_to_ready)
    ->ArgNames({"groups", "members"})
    ->Args({500, 16})
    ->Args({4'000, 16})
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace tributary::test

BENCHMARK_MAIN();
