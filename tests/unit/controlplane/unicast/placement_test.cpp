// A fat tree is found in a graph by its links, and contradictions are reported.
#include "controlplane/unicast/placement.hpp"

#include "controlplane/topology/builders.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace tributary::unicast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using topology::Graph;
using topology::LinkId;
using topology::SwitchId;

/// The same fabric with other names, switches in another order, and other ports.
Graph disguised(const Graph& graph, Random& random) {
  std::vector<std::uint32_t> order(graph.switches().size());
  std::iota(order.begin(), order.end(), 0U);
  random.shuffle(order);
  std::vector<std::uint32_t> number(order.size());
  std::vector<std::vector<topology::Port>> ports(order.size());
  Graph other;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    number[order[i]] = i;
    ports[order[i]].resize(graph[SwitchId{order[i]}].ports);
    std::iota(ports[order[i]].begin(), ports[order[i]].end(), topology::Port{0});
    random.shuffle(ports[order[i]]);
    other.add_switch({.name = "s" + std::to_string(i), .ports = graph[SwitchId{order[i]}].ports});
  }
  const auto moved = [&](topology::Attachment end) {
    return topology::Attachment{SwitchId{number[end.at.value]}, ports[end.at.value][end.port]};
  };
  for (const topology::Link& link : graph.links()) {
    other.connect(moved(link.ends[0]), moved(link.ends[1]));
  }
  for (const topology::Host& host : graph.hosts()) {
    other.add_host({.name = host.name, .nid = host.nid, .at = moved(host.at)});
  }
  return other;
}

/// Every link of the shape is one of the graph, between the switches in those places.
void expect_same_links(const Placement& placed, const Graph& graph) {
  ASSERT_EQ(placed.network.links(), 2 * graph.links().size());
  for (std::uint32_t l = 0; l < placed.network.links(); ++l) {
    const Network::End from = placed.network.end(l);
    const Network::End to = *placed.network.peer(l);
    const auto link = graph.find_link({*placed.switches[from.at], *placed.port(from)},
                                      {*placed.switches[to.at], *placed.port(to)});
    ASSERT_TRUE(link) << placed.network.name(from.at);
  }
}

class Placed : public testing::TestWithParam<const char*> {};

TEST_P(Placed, IsFoundWithNamesOrderAndPortsShuffled) {
  Random random(test::seed());
  const auto model = topology::build_model(GetParam());
  const Placement as_built = place(model.graph);
  expect_same_links(as_built, model.graph);
  for (std::uint32_t s = 0; s < as_built.switches.size(); ++s) {
    EXPECT_EQ(model.graph[*as_built.switches[s]].name, as_built.shape.name(s));
  }
  for (int round = 0; round < 5; ++round) {
    const Graph graph = disguised(model.graph, random);
    const Placement found = place(graph, as_built.shape);
    EXPECT_EQ(found.shape, as_built.shape);
    expect_same_links(found, graph);
    EXPECT_EQ(found.faults(graph), Faults(found.shape));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Placed,
                         testing::Values("kdft:5x1", "kdft:3x4x1", "kdft:4x4x2,2", "kdft:3x4x5x1",
                                         "kdft:2x2x2x1,3", "kdft:3x3x3x3x1"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(Placement, TurnsWhatIsDownIntoFaults) {
  Graph graph = topology::build_model("kdft:4x3x1,2").graph;
  const Placement placed = place(graph);
  const Shape& shape = placed.shape;
  graph.set_up(*placed.switches[5], false);
  graph.set_up(*placed.switches[shape.switch_of_root(3)], false);
  const auto link = graph.link_at({*placed.switches[1], *placed.port({1, 2})});
  graph.set_up(*link, false);
  const Faults found = placed.faults(graph);
  Faults expected(shape);
  expected.leaves.insert(5);
  expected.roots.insert(3);
  expected.links.insert(shape.uplink(1, 1, 0));
  EXPECT_EQ(found, expected);
  EXPECT_EQ(place(graph).shape, shape) << "what is down is wired";
}

TEST(Placement, TakesAMissingLinkForADeadOne) {
  Graph graph = topology::build_model("kdft:4x4x1").graph;
  const Placement before = place(graph);
  graph.unplug(*graph.link_at({*before.switches[9], *before.port({9, 1})}));
  const Placement after = place(graph, before.shape);
  Faults expected(before.shape);
  expected.links.insert(before.shape.uplink(9, 1, 0));
  EXPECT_EQ(after.faults(graph), expected);
}

std::string complaint(const Graph& graph, const std::optional<Shape>& declared = std::nullopt) {
  return test::message_of<RouteError>([&] { return place(graph, declared); });
}

TEST(Placement, NamesTheLinkThatContradicts) {
  const Graph good = topology::build_model("kdft:4x4x1").graph;
  const auto leaf = [&](const char* name) { return *good.find_switch(name); };

  Graph joined = good;
  joined.set_ports(leaf("leaf1.1"), 9);
  joined.set_ports(leaf("leaf2.2"), 9);
  joined.connect({leaf("leaf1.1"), 8}, {leaf("leaf2.2"), 8});
  EXPECT_THAT(complaint(joined),
              AllOf(HasSubstr("leaf1.1 port 8 - leaf2.2 port 8"), HasSubstr("with hosts")));

  Graph twice = good;
  const SwitchId root = leaf("root1:2.0:0");
  twice.set_ports(root, 9);
  twice.set_ports(leaf("leaf2.2"), 9);
  twice.connect({leaf("leaf2.2"), 8}, {root, 8});
  EXPECT_THAT(complaint(twice),
              AllOf(HasSubstr("leaf2.2 port 8 - root1:2.0:0 port 8"), HasSubstr("second link")));

  Graph wrong_line = good;
  wrong_line.set_ports(root, 9);
  wrong_line.set_ports(leaf("leaf3.3"), 9);
  wrong_line.connect({leaf("leaf3.3"), 8}, {root, 8});
  EXPECT_THAT(complaint(wrong_line), AllOf(HasSubstr("leaf3.3 port 8 - root1:2.0:0 port 8"),
                                           HasSubstr("fat tree of 4x4")));

  // A leaf of two planes that is placed well, and one of its links leads elsewhere.
  Graph stray = topology::build_model("kdft:4x4x1,2").graph;
  const SwitchId other = *stray.find_switch("root0:0.1:1");
  const SwitchId last = *stray.find_switch("leaf3.3");
  stray.set_ports(other, 9);
  stray.set_ports(last, 9);
  stray.connect({last, 8}, {other, 8});
  EXPECT_THAT(complaint(stray), HasSubstr("leaf3.3 port 8 - root0:0.1:1 port 8"));
}

TEST(Placement, HoldsTheDeclaredShapeAgainstWhatIsThere) {
  const Graph graph = topology::build_model("kdft:4x3x1,2").graph;
  EXPECT_EQ(place(graph, Shape::grid(3, 4, 2)).shape, Shape::grid(3, 4, 2)) << "turned";
  EXPECT_THAT(complaint(graph, Shape::grid(4, 4, 2)),
              AllOf(HasSubstr("4 and 3 leaves"), HasSubstr("4x4, 2 planes")));
  EXPECT_THAT(complaint(graph, Shape::grid(4, 3, 1)), HasSubstr("one root too many"));
  EXPECT_THAT(complaint(Graph()), HasSubstr("no switch has hosts"));
}

} // namespace
} // namespace tributary::unicast
