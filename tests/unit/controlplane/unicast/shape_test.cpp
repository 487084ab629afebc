#include "controlplane/topology/builders.hpp"
#include "controlplane/unicast/faults.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/shape.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

namespace tributary::unicast {
namespace {

using testing::HasSubstr;

TEST(Shape, NumbersLeavesLinesAndRoots) {
  const Shape shape(std::array{4U, 3U, 5U}, 2);
  EXPECT_EQ(shape.leaves(), 60U);
  EXPECT_EQ(shape.lines(0), 15U);
  EXPECT_EQ(shape.roots(), 2U * (15 + 20 + 12));
  for (std::uint32_t leaf = 0; leaf < shape.leaves(); ++leaf) {
    const std::array place{shape.coordinate(leaf, 0), shape.coordinate(leaf, 1),
                           shape.coordinate(leaf, 2)};
    EXPECT_EQ(shape.leaf_at(place), leaf);
    for (std::uint32_t d = 0; d < 3; ++d) {
      EXPECT_EQ(shape.leaf_on(d, shape.line(leaf, d), place[d]), leaf);
    }
  }
  for (std::uint32_t r = 0; r < shape.roots(); ++r) {
    EXPECT_EQ(shape.root(shape.root(r)), r);
  }
}

TEST(Shape, CallsSwitchesAsTheBuilderDoesAndConnectsThemSo) {
  const auto model = topology::build_model("kdft:5x3x4x1,2");
  const Shape shape(std::array{4U, 3U, 5U}, 2);
  const Network network = network_of(shape);
  ASSERT_EQ(network.switches(), model.graph.switches().size());
  std::set<std::pair<std::string, std::string>> links;
  for (const topology::Link& link : model.graph.links()) {
    links.emplace(model.graph[link.ends[0].at].name, model.graph[link.ends[1].at].name);
  }
  std::size_t found = 0;
  for (std::uint32_t l = 0; l < network.links(); ++l) {
    found += links.contains({network.name(network.end(l).at), network.name(network.peer(l)->at)});
  }
  EXPECT_EQ(found, links.size());
  EXPECT_EQ(network.links(), 2 * links.size());
}

TEST(Shape, RefusesWhatIsNone) {
  EXPECT_THAT(test::message_of<RouteError>([] { return Shape({}, 1); }),
              HasSubstr("at least one dimension"));
  EXPECT_THAT(test::message_of<RouteError>([] { return Shape::grid(3, 0); }),
              HasSubstr("0 leaves"));
  EXPECT_THAT(test::message_of<RouteError>([] { return Shape::grid(3, 3, 0); }),
              HasSubstr("plane"));
  EXPECT_THAT(test::message_of<RouteError>([] { return Shape::grid(4'000, 4'000); }),
              HasSubstr("65536"));
  EXPECT_THAT(test::message_of<RouteError>([] { return Shape::grid(3, 3, 4'000); }),
              HasSubstr("ports"));
}

TEST(Faults, AreDrawnAgainFromTheSameSeed) {
  const Shape shape = Shape::grid(9, 9, 2);
  Random one(test::seed());
  Random other(test::seed());
  const FaultCounts counts{.leaves = 7, .links = 20, .roots = 3};
  const Faults faults = draw_faults(shape, counts, one);
  EXPECT_EQ(faults, draw_faults(shape, counts, other));
  EXPECT_EQ(faults.leaves.count(), 7U);
  EXPECT_EQ(faults.links.count(), 20U);
  EXPECT_EQ(faults.roots.count(), 3U);
  EXPECT_NE(faults, draw_faults(shape, counts, one));
  EXPECT_EQ(draw_faults(shape, {.leaves = 500}, one).leaves.count(), 81U);
}

TEST(Faults, TakeDownThePortsOnBothSides) {
  const Shape shape = Shape::grid(3, 4, 2);
  const Network network = network_of(shape);
  Random random(test::seed());
  const Faults faults = draw_faults(shape, {.leaves = 2, .links = 4, .roots = 2}, random);
  const PortStates up = port_states(shape, network, faults);
  for (std::uint32_t leaf = 0; leaf < shape.leaves(); ++leaf) {
    for (std::uint32_t port = 0; port < shape.leaf_ports(); ++port) {
      const bool alive = faults.alive(shape, leaf, port / 2, port % 2);
      EXPECT_EQ(up.up(leaf, port), alive);
      const Network::End root = *network.peer({leaf, static_cast<forwarding_table::Port>(port)});
      EXPECT_EQ(up.up(root.at, root.port), alive);
    }
  }
}

TEST(Bitmap, HoldsMoreThanAWord) {
  Bitmap one(200);
  Bitmap other(200);
  for (const std::size_t i : {0U, 63U, 64U, 130U, 199U}) {
    one.insert(i);
  }
  EXPECT_EQ(one.count(), 5U);
  other.insert(130);
  EXPECT_TRUE(one.meets(other));
  EXPECT_EQ((one & other).count(), 1U);
  one.erase(130);
  EXPECT_FALSE(one.meets(other));
  std::vector<std::size_t> members;
  one.for_each([&](std::size_t i) { members.push_back(i); });
  EXPECT_EQ(members, (std::vector<std::size_t>{0, 63, 64, 199}));
}

} // namespace
} // namespace tributary::unicast
