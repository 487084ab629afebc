// Random faults and returns over a few dozen seeds; fabric-managed --seeds has any number of them.
#include "tests/fabric/managed/route_campaign.hpp"
#include "tests/fabric/seed_share.hpp"
#include "tests/unit/include/wire/seed.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace tributary::fabric {
namespace {

void expect_no_violation(std::uint64_t seed) {
  const RouteCampaignReport report = run_route_campaign(seed);
  for (const std::string& violation : report.violations) {
    ADD_FAILURE() << "seed " << seed << ": " << violation
                  << "\n  to repeat it: " << route_campaign_command(seed);
  }
}

TEST(route_campaign, faults_and_returns_in_any_order_leave_every_pair_a_route) {
  const std::uint64_t seeds =
      std::max<std::uint64_t>(1, 12 / (TRIBUTARY_SEED_DIVISOR * seed_share()));
  for (std::uint64_t number = 1; number <= seeds; ++number) {
    expect_no_violation(number);
    expect_no_violation(Random(test::seed()).fork(number).next());
  }
}

TEST(route_campaign, seeds_that_found_something_find_it_no_more) {
  expect_no_violation(16);  // a drained switch kept routes, because the held ones served all pairs
  expect_no_violation(61);  // a fault stayed `installing` when the next one occurred before its end
  expect_no_violation(88);  // the same
  expect_no_violation(274); // a root led frames into a dead leaf whose port kept its carrier
}

} // namespace
} // namespace tributary::fabric
