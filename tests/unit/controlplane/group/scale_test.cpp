// Many groups at the same time: nothing is mixed up. bench/group measures the cost.
#include "tests/unit/controlplane/group/registry_fixture.hpp"

namespace tributary::test {
namespace {

TEST(Scale, five_hundred_groups_of_sixteen_pending_at_once) {
  constexpr std::uint32_t groups = 500;
  constexpr std::uint32_t size = 16;
  RegistryFixture fixture({.default_multicast_limit = groups});
  fixture.job();
  // Column by column, so that all groups wait until the last column; every group has hosts of its
  // own.
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    for (std::uint32_t g = 0; g < groups; ++g) {
      const Nid nid{g * size + rank};
      fixture->located(nid, fixture.now);
      ASSERT_TRUE(
          fixture->join(request_to_join(rank, nid.value, size, std::to_string(g)), fixture.now)
              .ok());
      ASSERT_TRUE(fixture->renew("j1", std::to_string(g), rank, fixture.now).ok());
    }
    if (rank + 1 < size) {
      fixture.expect_nothing();
    }
  }
  std::size_t computed = 0;
  for (const auto& action : fixture.act()) {
    const GroupId id = std::get<group::ComputeRoutes>(action).group;
    ASSERT_TRUE(fixture->routes_ready(id, routes_over("s"), fixture.now));
    fixture->installed(id, fixture.now);
    ++computed;
  }
  EXPECT_EQ(computed, groups);
  EXPECT_EQ(fixture->trees_in_use(), groups);

  fixture.pass(30 * second);
  EXPECT_EQ(fixture.act().size(), std::size_t{groups} * 2) << "all leases ran out";
}

} // namespace
} // namespace tributary::test
