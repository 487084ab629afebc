// Distances of 512 simultaneous searches equal those of sequential ones.
#include "controlplane/multicast/distances.hpp"

#include "controlplane/topology/builders.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>

namespace tributary::multicast {
namespace {

std::vector<std::uint8_t> one_search(const RoutingView& view, SwitchId from) {
  std::vector<std::uint8_t> distance(view.switch_count(), Distances::unreachable);
  if (!view.usable(from)) {
    return distance;
  }
  distance[from.value] = 0;
  std::queue<SwitchId> queue;
  for (queue.push(from); !queue.empty(); queue.pop()) {
    const SwitchId s = queue.front();
    for (const Arc& arc : view.arcs(s)) {
      if (distance[arc.to.value] == Distances::unreachable) {
        distance[arc.to.value] = static_cast<std::uint8_t>(distance[s.value] + 1);
        queue.push(arc.to);
      }
    }
  }
  return distance;
}

void expect_right(const Graph& graph) {
  const RoutingView view(graph);
  Distances distances(view);
  for (std::uint32_t s = view.switch_count(); s-- > 0;) { // the last block first
    const auto expected = one_search(view, SwitchId{s});
    const std::uint8_t* const row = distances.row(SwitchId{s});
    ASSERT_TRUE(std::ranges::equal(expected, std::span(row, expected.size()))) << "from " << s;
    ASSERT_TRUE(
        std::ranges::all_of(std::span(row + expected.size(), row + distances.row_bytes()),
                            [](std::uint8_t byte) { return byte == Distances::unreachable; }));
  }
}

/// One of a hundred links and switches down.
void break_some(Graph& graph, test::Random& random) {
  for (std::uint32_t c = 0; c < graph.links().size(); ++c) {
    graph.set_up(LinkId{c}, random() % 100 != 0);
  }
  for (std::uint32_t s = 0; s < graph.switches().size(); ++s) {
    graph.set_up(SwitchId{s}, random() % 100 != 0);
  }
}

TEST(Distances, EveryRowIsThatOfABreadthFirstSearch) {
  test::Random random(test::seed());
  for (const char* const name : {"ft3:4", "ft3:16", "torus:11x9x7x1", "torus:2x1", "torus:1x1",
                                 "dragonfly:4,2,2", "kdft:8x8x1,2", "tft:9,3,1,4,6,2"}) {
    auto model = topology::build_model(name);
    expect_right(model.graph);
    break_some(model.graph, random);
    expect_right(model.graph);
  }
}

TEST(Distances, AWayOfMoreThan254LinksIsNone) {
  Graph chain;
  for (std::uint32_t s = 0; s < 300; ++s) {
    chain.add_switch({.name = std::to_string(s), .ports = 2});
    if (s > 0) {
      chain.connect({SwitchId{s - 1}, 1}, {SwitchId{s}, 0});
    }
  }
  const RoutingView view(chain);
  Distances singly(view);
  Distances together(view);
  together.complete();
  for (Distances* const distances : {&singly, &together}) {
    EXPECT_EQ(distances->between(SwitchId{0}, SwitchId{254}), 254);
    EXPECT_EQ(distances->between(SwitchId{0}, SwitchId{255}), Distances::unreachable);
    EXPECT_EQ(distances->between(SwitchId{299}, SwitchId{45}), 254);
  }
}

TEST(Distances, ARowStaysWhereItIsWhenItsBlockIsMade) {
  const auto model = topology::build_model("torus:11x9x7x1");
  const RoutingView view(model.graph);
  Distances distances(view);
  const std::uint8_t* const row = distances.row(SwitchId{5});
  const std::vector<std::uint8_t> before(row, row + distances.row_bytes());
  for (std::uint32_t s = 0; s < view.switch_count(); ++s) {
    static_cast<void>(distances.row(SwitchId{s}));
  }
  EXPECT_EQ(distances.row(SwitchId{5}), row);
  EXPECT_TRUE(std::ranges::equal(before, std::span(row, distances.row_bytes())));
}

TEST(Eccentricities, AreTheFarthestOfTheGivenSwitchesForEverySwitch) {
  const auto model = topology::build_model("torus:7x5x4x1");
  const RoutingView view(model.graph);
  Distances distances(view);
  test::Random random(test::seed());
  std::vector<SwitchId> members;
  for (int i = 0; i < 12; ++i) {
    members.push_back(SwitchId{static_cast<std::uint32_t>(random() % view.switch_count())});
  }
  std::vector<std::uint8_t> farthest(distances.row_bytes());
  eccentricities(distances, members, farthest);
  for (std::uint32_t s = 0; s < view.switch_count(); ++s) {
    std::uint8_t expected = 0;
    for (const SwitchId m : members) {
      expected = std::max(expected, distances.between(SwitchId{s}, m));
    }
    EXPECT_EQ(farthest[s], expected);
  }
}

} // namespace
} // namespace tributary::multicast
