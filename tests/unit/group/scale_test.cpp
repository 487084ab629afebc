// Many groups at once: nothing is mixed up. What it takes is measured by bench/group.
#include "tests/unit/group/office.hpp"

namespace tributary::test {
namespace {

TEST(Scale, five_hundred_groups_of_sixteen_pending_at_once) {
  constexpr std::uint32_t groups = 500;
  constexpr std::uint32_t size = 16;
  Office office({.default_multicast_limit = groups});
  office.job();
  // Column by column, so that all groups wait until the last column; every group has hosts of its
  // own, for a host is the root of one group only.
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    for (std::uint32_t g = 0; g < groups; ++g) {
      const Nid nid{g * size + rank};
      office->located(nid, office.now);
      ASSERT_TRUE(
          office->join(request_to_join(rank, nid.value, size, std::to_string(g)), office.now).ok());
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

  office.pass(30 * second);
  EXPECT_EQ(office.act().size(), std::size_t{groups} * 2) << "all leases ran out";
}

} // namespace
} // namespace tributary::test
