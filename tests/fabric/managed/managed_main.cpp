// fabric-managed: the tests of the managed fabric; or, with --seeds, its campaign of faults and
// recoveries over any number of seeds.
#include "tests/fabric/managed/route_campaign.hpp"
#include "tests/fabric/seed_range.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

using namespace tributary::fabric;

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

int run_campaign(SeedRange seeds, bool trace) {
  std::uint64_t failed = 0;
  RouteCampaignReport all;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const RouteCampaignReport one = run_route_campaign(seed, trace ? stdout : nullptr);
    all.steps += one.steps;
    all.faults += one.faults;
    all.pairs += one.pairs;
    all.paths += one.paths;
    all.frames += one.frames;
    all.remade += one.remade;
    all.longest_ns = std::max(all.longest_ns, one.longest_ns);
    if (!one.violations.empty()) {
      ++failed;
      fmt::print("seed {} failed; to repeat it:\n  {}\n", seed, route_campaign_command(seed));
      for (const std::string& violation : one.violations) {
        fmt::print("  {}\n", violation);
      }
      std::fflush(stdout);
    }
  }
  fmt::print("{} passed, {} failed; {} faults and returns; walked {} pairs, compared {} paths, {} "
             "frames got through; {} sets were made again; at rest within {} ms\n",
             seeds.last - seeds.first + 1 - failed, failed, all.faults, all.pairs, all.paths,
             all.frames, all.remade, all.longest_ns / 1'000'000);
  return failed == 0 ? 0 : exit_failure;
}

} // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string seeds;
  std::string seed;
  bool trace = false;
  CLI::App app{"Tests of the virtual fabric with its control plane. With --seed or --seeds: faults "
               "and returns in any order, under unicast traffic, and after each a walk over the "
               "routes that switches hold."};
  app.add_option("--seeds", seeds, "Run seeds A..B of the campaign, or N of them");
  app.add_option("--seed", seed, "Run this seed of the campaign");
  app.add_flag("--trace", trace, "Print each event");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_usage;
  }
  if (seeds.empty() && seed.empty()) {
    return RUN_ALL_TESTS();
  }
  SeedRange range;
  if (!parse_seeds(seed.empty() ? seeds : seed, range)) {
    fmt::print(stderr, "{}: not a range of seeds; write it like 1..1000\n", seeds + seed);
    return exit_usage;
  }
  if (seed.empty() && seeds.find('.') == std::string::npos) {
    range.first = 1;
  }
  return run_campaign(range, trace);
}
