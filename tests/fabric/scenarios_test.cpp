// Every scenario over its seeds, one case per block of seeds. A failure names the seed and the
// command that repeats it.
//
// Half of the campaign's seeds, those of "mixed", are always the same; the other half come from
// TRIBUTARY_SEED, so that each run covers new ones.
#include "tests/fabric/scenarios/scenario.hpp"
#include "tests/fabric/seed_share.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tributary::fabric {
namespace {

constexpr std::string_view campaign = "mixed";
constexpr std::uint64_t seeds_per_block = 50;
/// Enough that every fault of the campaign occurs: the rarest one, in an eighth of the runs, is
/// absent once in 600,000 times.
constexpr std::uint64_t seeds_for_every_fault = 100;

struct SeedBlock {
  Scenario scenario;
  std::uint64_t first = 1; ///< of the scenario's seeds, from 1
  std::uint64_t last = 1;
  bool of_the_run = false; ///< seeds derived from the run's own

  [[nodiscard]] std::uint64_t seed(std::uint64_t number) const {
    return of_the_run ? Random(test::seed()).fork(number).next() : number;
  }
};

void PrintTo(const SeedBlock& block, std::ostream* out) { *out << block.scenario.name; }

std::vector<SeedBlock> seed_blocks() {
  const std::uint64_t divisor = TRIBUTARY_SEED_DIVISOR * seed_share();
  std::vector<SeedBlock> blocks;
  for (const Scenario& s : all_scenarios()) {
    const std::uint64_t seeds = std::max<std::uint64_t>(1, s.suite_seeds / divisor);
    const std::uint64_t fixed = s.name == campaign ? seeds - seeds / 2 : seeds;
    for (std::uint64_t first = 1; first <= seeds;) {
      const bool of_the_run = first > fixed;
      const std::uint64_t last = std::min(of_the_run ? seeds : fixed, first + seeds_per_block - 1);
      blocks.push_back({s, first, last, of_the_run});
      first = last + 1;
    }
  }
  return blocks;
}

class ScenarioTest : public testing::TestWithParam<SeedBlock> {
protected:
  /// Over all seeds of the campaign that this process ran.
  static void TearDownTestSuite() {
    if (campaign_runs < seeds_for_every_fault) {
      return;
    }
    for (const Fault f : mixed_faults()) {
      EXPECT_GT(campaign_faults.of(f), 0U)
          << name_of(f) << " did not happen in " << campaign_runs << " runs of the campaign";
    }
    for (const core::DropReason reason : mixed_drops()) {
      EXPECT_GT(campaign_drops[static_cast<std::size_t>(reason)], 0U)
          << name_of(reason) << " did not happen in " << campaign_runs << " runs of the campaign";
    }
  }
  static inline FaultCounts campaign_faults;
  static inline decltype(RunReport::drops) campaign_drops{};
  static inline std::uint64_t campaign_runs = 0;
};

TEST_P(ScenarioTest, holds_for_all_seeds) {
  const SeedBlock& block = GetParam();
  for (std::uint64_t number = block.first; number <= block.last; ++number) {
    const std::uint64_t seed = block.seed(number);
    const RunReport r = block.scenario.run({.seed = seed});
    if (block.scenario.name == campaign) {
      campaign_faults += r.faults;
      for (const core::DropReason reason : mixed_drops()) {
        campaign_drops[static_cast<std::size_t>(reason)] += r.dropped(reason);
      }
      ++campaign_runs;
    }
    for (const auto& v : r.violations) {
      ADD_FAILURE() << block.scenario.name << " seed " << seed << ": " << v
                    << "\n  to repeat it: " << command_for(block.scenario, seed);
    }
    if (GTEST_FLAG_GET(fail_fast) && HasFailure()) {
      return;
    }
  }
}

std::string name_of_block(const testing::TestParamInfo<SeedBlock>& block) {
  return std::string(block.param.scenario.name) +
         (block.param.of_the_run ? "_new_seeds_" : "_seeds_") + std::to_string(block.param.first) +
         "_to_" + std::to_string(block.param.last);
}

INSTANTIATE_TEST_SUITE_P(Fabric, ScenarioTest, testing::ValuesIn(seed_blocks()), name_of_block);

} // namespace
} // namespace tributary::fabric
