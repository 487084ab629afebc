// Thousands of groups at once: nothing is mixed up, and what it takes is printed.
#include "tests/unit/group/office.hpp"

#include <chrono>
#include <iostream>

namespace tributary::test {
namespace {

TEST(Scale, four_thousand_groups_of_sixteen_pending_at_once) {
  constexpr std::uint32_t groups = 4'000;
  constexpr std::uint32_t size = 16;
  Office office({.default_multicast_limit = groups});
  office.job();
  const auto begin = std::chrono::steady_clock::now();
  // Column by column, so that all groups wait until the last column; every group has hosts of its
  // own, for a host is the root of one group only.
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    for (std::uint32_t g = 0; g < groups; ++g) {
      const Nid nid{g * size + rank};
      office->located(nid, office.now);
      ASSERT_TRUE(
          office->join(wish_to_join(rank, nid.value, size, std::to_string(g)), office.now).ok());
      ASSERT_TRUE(office->renew("j1", std::to_string(g), rank, office.now).ok());
    }
    if (rank + 1 < size) {
      office.expect_nothing();
    }
  }
  std::size_t computed = 0;
  for (const auto& action : office.act()) {
    const GroupId id = std::get<group::ComputeRoutes>(action).group;
    ASSERT_TRUE(office->routes_ready(id, routes_over("s"), office.now));
    office->installed(id, office.now);
    ++computed;
  }
  EXPECT_EQ(computed, groups);
  EXPECT_EQ(office->trees_in_use(), groups);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << "registry: " << groups << " groups of " << size
            << " members from first join to ready: "
            << static_cast<std::uint64_t>(groups / took.count()) << " groups a second\n";

  office.pass(30 * second);
  EXPECT_EQ(office.act().size(), std::size_t{groups} * 2) << "all leases ran out";
}

} // namespace
} // namespace tributary::test
