// The hosts that draining a switch would cut off.
#include "controlplane/route_controller/drain.hpp"

#include "tests/unit/controlplane/route_controller/fabrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::route_controller {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using topology::SwitchId;

TEST(Drain, a_root_with_others_beside_it_cuts_no_host_off) {
  const topology::Graph graph = test::fabric("kdft:3x3x1");
  EXPECT_TRUE(cut_off_by(graph, {}, SwitchId{9}).empty());
}

TEST(Drain, a_leaf_cuts_off_its_own_hosts) {
  const topology::Graph graph = test::fabric("kdft:3x3x4");
  const CutOff cut = cut_off_by(graph, {}, SwitchId{4});
  EXPECT_THAT(cut.on_it, SizeIs(4));
  EXPECT_THAT(cut.behind_it, IsEmpty());
  EXPECT_THAT(cut.describe("leaf1.1"),
              testing::MatchesRegex("4 hosts are attached to leaf1.1 \\(.*, .*, .* and 1 more\\)"));
}

TEST(Drain, the_last_way_to_others_cuts_them_off) {
  const topology::Graph graph = test::fabric("kdft:3x3x1");
  // Leaf 0 has a root of its row and one of its column.
  std::vector<SwitchId> roots;
  for (const topology::Hop& hop : graph.hops(SwitchId{0})) {
    roots.push_back(hop.to);
  }
  ASSERT_THAT(roots, SizeIs(2));
  const CutOff cut = cut_off_by(graph, {roots[0]}, roots[1]);
  EXPECT_THAT(cut.on_it, IsEmpty());
  EXPECT_THAT(cut.behind_it, ElementsAre(graph[*graph.host_at({SwitchId{0}, 0})].name));
  EXPECT_THAT(cut.describe("r"), testing::HasSubstr("1 host is reached only through r ("));
}

TEST(Drain, who_is_cut_off_already_does_not_count) {
  topology::Graph graph = test::fabric("kdft:3x3x1");
  for (const topology::Hop& hop : graph.hops(SwitchId{0})) {
    graph.set_up(hop.link, false);
  }
  EXPECT_TRUE(cut_off_by(graph, {}, SwitchId{9}).empty());
}

} // namespace
} // namespace tributary::route_controller
