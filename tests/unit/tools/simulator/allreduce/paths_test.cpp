#include "tools/simulator/allreduce/paths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tributary::simulator::allreduce {
namespace {

using topology::HostId;

TEST(paths, hosts_of_a_leaf_cross_their_switch_only) {
  const Paths paths("ft3:4", Routes::shortest, 2);
  const Path path = paths.between(HostId{0}, HostId{1});
  EXPECT_EQ(path.switches.size(), 1U);
  EXPECT_EQ(path.links, (std::vector<std::uint32_t>{0, paths.hosts() + 1}));
}

TEST(paths, hosts_of_two_pods_cross_five_switches) {
  for (const Routes routes : {Routes::shortest, Routes::planned}) {
    const Paths paths("ft3:4", routes, 2);
    const Path path = paths.between(HostId{0}, HostId{15});
    EXPECT_EQ(path.switches.size(), 5U);
    EXPECT_EQ(path.links.size(), 6U);
    EXPECT_EQ(std::set(path.links.begin(), path.links.end()).size(), 6U);
  }
}

TEST(paths, a_shift_among_packed_hosts_of_a_fat_tree_shares_no_link) {
  const Paths paths("ft3:4", Routes::shortest, 2);
  for (std::uint32_t shift = 1; shift < paths.hosts(); ++shift) {
    std::set<std::uint32_t> used;
    std::size_t all = 0;
    for (std::uint32_t from = 0; from < paths.hosts(); ++from) {
      const Path path = paths.between(HostId{from}, HostId{(from + shift) % paths.hosts()});
      used.insert(path.links.begin(), path.links.end());
      all += path.links.size();
    }
    EXPECT_EQ(used.size(), all) << "shift by " << shift;
  }
}

TEST(paths, a_dragonflys_groups_are_joined_by_one_link) {
  const Paths paths("dragonfly:4,2,2", Routes::shortest, 2);
  EXPECT_EQ(paths.hosts(), 72U);
  std::set<std::uint32_t> first_to_second;
  for (std::uint32_t from = 0; from < 8; ++from) {
    const Path path = paths.between(HostId{from}, HostId{8 + from});
    EXPECT_LE(path.switches.size(), 4U);
    first_to_second.insert(path.links.begin(), path.links.end());
  }
  EXPECT_LT(first_to_second.size(), 8U * 4) << "they share the global link";
}

TEST(paths, scattered_hosts_are_different_and_follow_from_the_seed) {
  const Paths paths("ft3:8", Routes::shortest, 2);
  const auto drawn = paths.place(64, Placement::scattered, 7);
  EXPECT_EQ(drawn, paths.place(64, Placement::scattered, 7));
  EXPECT_NE(drawn, paths.place(64, Placement::scattered, 8));
  EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), 64U);
}

TEST(paths, more_ranks_than_hosts_are_refused_with_the_numbers) {
  const Paths paths("ft3:4", Routes::shortest, 2);
  try {
    static_cast<void>(paths.place(17, Placement::packed, 1));
    FAIL();
  } catch (const AllreduceError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("17 hosts: ft3:4 has 16"));
  }
}

} // namespace
} // namespace tributary::simulator::allreduce
