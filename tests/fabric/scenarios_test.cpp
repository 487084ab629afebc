// Every scenario over its seeds, one case per block of seeds. A failure names the seed and the
// command that repeats it.
#include "tests/fabric/scenarios/scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tributary::fabric {
namespace {

struct SeedBlock {
  Scenario scenario;
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

void PrintTo(const SeedBlock& block, std::ostream* out) { *out << block.scenario.name; }

constexpr std::uint64_t seeds_per_block = 50;

std::vector<SeedBlock> seed_blocks() {
  std::vector<SeedBlock> blocks;
  for (const Scenario& s : all_scenarios()) {
    const std::uint64_t seeds = std::max<std::uint64_t>(1, s.suite_seeds / TRIBUTARY_SEED_DIVISOR);
    for (std::uint64_t first = 1; first <= seeds; first += seeds_per_block) {
      blocks.push_back({s, first, std::min(seeds, first + seeds_per_block - 1)});
    }
  }
  return blocks;
}

class ScenarioTest : public testing::TestWithParam<SeedBlock> {};

TEST_P(ScenarioTest, holds_for_all_seeds) {
  const auto& [scenario, first, last] = GetParam();
  FaultCounts faults;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const RunReport r = scenario.run({.seed = seed});
    faults += r.faults;
    for (const auto& v : r.violations) {
      ADD_FAILURE() << scenario.name << " seed " << seed << ": " << v
                    << "\n  to repeat it: " << command_for(scenario, seed);
    }
  }
  if (scenario.name == "mixed") {
    EXPECT_EQ(last, first + seeds_per_block - 1);
    for (const Fault f : mixed_faults()) {
      EXPECT_GT(faults.of(f), 0U) << name_of(f) << " did not happen in this block of seeds";
    }
  }
}

std::string name_of_block(const testing::TestParamInfo<SeedBlock>& block) {
  return std::string(block.param.scenario.name) + "_seeds_" + std::to_string(block.param.first) +
         "_to_" + std::to_string(block.param.last);
}

INSTANTIATE_TEST_SUITE_P(Fabric, ScenarioTest, testing::ValuesIn(seed_blocks()), name_of_block);

} // namespace
} // namespace tributary::fabric
