// The cost of the group registry: from the first join of a group to the moment it is ready, with
// all the others waiting beside it. Routes and installation answer immediately.
#include "tests/unit/controlplane/group/registry_fixture.hpp"

#include <benchmark/benchmark.h>

namespace tributary::test {
namespace {

void from_first_join_to_ready(benchmark::State& state) {
  const auto groups = static_cast<std::uint32_t>(state.range(0));
  const auto size = static_cast<std::uint32_t>(state.range(1));
  for (auto _ : state) {
    state.PauseTiming();
    RegistryFixture fixture({.default_multicast_limit = groups});
    fixture.job();
    state.ResumeTiming();
    // Column by column, so that all groups wait until the last column; every group has hosts of its
    // own.
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      for (std::uint32_t g = 0; g < groups; ++g) {
        const Nid nid{g * size + rank};
        fixture->located(nid, fixture.now);
        benchmark::DoNotOptimize(
            fixture->join(request_to_join(rank, nid.value, size, std::to_string(g)), fixture.now));
        benchmark::DoNotOptimize(fixture->renew("j1", std::to_string(g), rank, fixture.now));
      }
    }
    for (const auto& action : fixture.act()) {
      const GroupId id = std::get<group::ComputeRoutes>(action).group;
      benchmark::DoNotOptimize(fixture->routes_ready(id, routes_over("s"), fixture.now));
      fixture->installed(id, fixture.now);
    }
    if (fixture->trees_in_use() != groups) {
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
