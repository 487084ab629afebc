// Any topology, any number of virtual channels: all reached, nothing waits in a circle.
#include "controlplane/unicast/general.hpp"

#include "controlplane/topology/builders.hpp"
#include "controlplane/unicast/acyclic_graph.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/controlplane/unicast/situation.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace tributary::unicast {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Verification check(const topology::Graph& graph, std::uint8_t vcs) {
  const Network network = network_of(graph);
  const PortStates up = port_states(graph, network);
  const auto endpoints = endpoints_of(graph);
  const TableSet tables = general_tables(network, up, endpoints, vcs);
  const std::array<const TableSet*, 1> sets{&tables};
  const Verification found = verify(network, sets, up, endpoints);
  EXPECT_TRUE(found.safe()) << found.describe(network);
  EXPECT_LE(found.vcs_used, vcs);
  return found;
}

class AnyTopology : public testing::TestWithParam<std::tuple<const char*, std::uint8_t>> {};

TEST_P(AnyTopology, IsRoutedWithoutACycle) {
  const auto [name, vcs] = GetParam();
  check(topology::build_model(name).graph, vcs);
}

TEST_P(AnyTopology, IsRoutedRoundDeadLinksAndSwitches) {
  const auto [name, vcs] = GetParam();
  Random random(test::seed());
  topology::Graph graph = topology::build_model(name).graph;
  int dead = 0;
  for (int round = 0; round < 12; ++round) {
    topology::Graph worse = graph;
    worse.set_up(topology::LinkId{static_cast<std::uint32_t>(random.below(graph.links().size()))},
                 false);
    if (round % 4 == 0) {
      worse.set_up(
          topology::SwitchId{static_cast<std::uint32_t>(random.below(graph.switches().size()))},
          false);
    }
    const Network network = network_of(worse);
    try {
      (void)general_tables(network, port_states(worse, network), endpoints_of(worse), vcs);
    } catch (const RouteError&) {
      continue; // That one would cut somebody off.
    }
    graph = std::move(worse);
    ++dead;
  }
  EXPECT_GT(dead, 0);
  check(graph, vcs);
}

INSTANTIATE_TEST_SUITE_P(
    All, AnyTopology,
    testing::Combine(testing::Values("ft3:4", "torus:5x4x1", "torus:3x3x3x1", "torus:9x1",
                                     "dragonfly:3,1,2", "kdft:5x5x1", "tft:3,2,1,4,4,2"),
                     testing::Values(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{4})),
    [](const auto& one) {
      std::string name = std::get<0>(one.param);
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(c) == 0; }, '_');
      return name + "_vcs" + std::to_string(std::get<1>(one.param));
    });

TEST(General, RoutesIrregularGraphs) {
  Random random(test::seed());
  for (int round = 0; round < 10; ++round) {
    topology::Graph graph;
    const auto n = static_cast<std::uint32_t>(random.between(2, 24));
    for (std::uint32_t s = 0; s < n; ++s) {
      graph.add_switch({.name = "s" + std::to_string(s), .ports = 40});
      graph.add_host(
          {.name = "h" + std::to_string(s), .nid = Nid{s}, .at = {topology::SwitchId{s}, 0}});
    }
    std::vector<topology::Port> used(n, 1);
    const auto connect = [&](std::uint32_t a, std::uint32_t b) {
      if (a != b && used[a] < 40 && used[b] < 40) {
        graph.connect({topology::SwitchId{a}, used[a]}, {topology::SwitchId{b}, used[b]});
        ++used[a];
        ++used[b];
      }
    };
    for (std::uint32_t s = 1; s < n; ++s) {
      connect(s, static_cast<std::uint32_t>(random.below(s)));
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      connect(static_cast<std::uint32_t>(random.below(n)),
              static_cast<std::uint32_t>(random.below(n)));
    }
    check(graph, static_cast<std::uint8_t>(random.between(1, 3)));
  }
}

TEST(General, IsMinimalOnAFatTree) {
  EXPECT_EQ(check(topology::build_model("ft3:4").graph, 2).most_hops, 4U);
  EXPECT_EQ(check(topology::build_model("tft:3,2,1,4,4,2").graph, 1).most_hops, 4U);
}

TEST(General, NeedsATreeOnARingWithOneVc) {
  // Eight switches: minimal routes close the ring, so with one virtual channel one link is left out
  // by somebody; with two nobody has to go the long way by much.
  EXPECT_GT(check(topology::build_model("torus:8x1").graph, 1).most_hops, 4U);
}

TEST(General, NamesThePartsOfADisconnectedFabric) {
  topology::Graph graph = topology::build_model("torus:4x1").graph;
  graph.set_up(topology::LinkId{0}, false);
  graph.set_up(topology::LinkId{1}, false);
  EXPECT_THAT(test::message_of<RouteError>([&] {
                const Network network = network_of(graph);
                return general_tables(network, port_states(graph, network), endpoints_of(graph), 1);
              }),
              AllOf(HasSubstr("in parts"), HasSubstr("1 of 4"), HasSubstr("from s0: s1")));
}

TEST(General, RoutesAFatTreeWithoutKnowingItsShape) {
  const Fabric fabric(Shape::grid(5, 4, 2));
  Random random(test::seed());
  const auto general = make_algorithm("general", fabric.shape, {.vcs = 1});
  Faults dead = draw_faults(fabric.shape, {.leaves = 3}, random);
  const Verification found = fabric.check(*general, dead);
  EXPECT_TRUE(found.safe()) << found.describe(fabric.network);
}

TEST(AcyclicGraph, RefusesExactlyTheEdgesThatCloseACycle) {
  Random random(test::seed());
  for (int round = 0; round < 20; ++round) {
    const auto n = static_cast<std::uint32_t>(random.between(2, 14));
    AcyclicGraph graph(n);
    std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n));
    for (std::uint32_t i = 0; i < n; ++i) {
      reaches[i][i] = true;
    }
    for (int edge = 0; edge < 60; ++edge) {
      const auto from = static_cast<std::uint32_t>(random.below(n));
      const auto to = static_cast<std::uint32_t>(random.below(n));
      ASSERT_EQ(graph.add(from, to), !reaches[to][from]);
      for (std::uint32_t a = 0; !reaches[to][from] && a < n; ++a) {
        for (std::uint32_t b = 0; b < n; ++b) {
          reaches[a][b] = reaches[a][b] || (reaches[a][from] && reaches[to][b]);
        }
      }
    }
  }
  AcyclicGraph graph(2);
  EXPECT_TRUE(graph.add(1, 0));
  EXPECT_TRUE(graph.has(1, 0));
  graph.remove(1, 0);
  EXPECT_TRUE(graph.add(0, 1));
  EXPECT_FALSE(graph.add(1, 1));
}

} // namespace
} // namespace tributary::unicast
