// Model fabrics have the switches, hosts and links that their names promise.
#include "controlplane/topology/builders.hpp"

#include "controlplane/multicast/routing_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tributary::topology {
namespace {

struct Counts {
  const char* name;
  std::size_t switches;
  std::size_t hosts;
  std::size_t links;
};

class BuildModel : public testing::TestWithParam<Counts> {};

TEST_P(BuildModel, HasItsSwitchesHostsAndLinksInOnePiece) {
  const auto [name, switches, hosts, links] = GetParam();
  const Model model = build_model(name);
  EXPECT_EQ(model.name, name);
  EXPECT_EQ(model.graph.switches().size(), switches);
  EXPECT_EQ(model.graph.hosts().size(), hosts);
  EXPECT_EQ(model.graph.links().size(), links);
  EXPECT_EQ(model.regions.size(), switches);
  const multicast::RoutingView view(model.graph);
  for (std::uint32_t s = 0; s < switches; ++s) {
    ASSERT_EQ(view.part(SwitchId{s}), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Names, BuildModel,
    testing::Values(Counts{"ft40", 2000, 16000, 32000}, Counts{"dragonfly", 2934, 26406, 38142},
                    Counts{"bluelight", 696, 8704, 6528}, Counts{"taihulight", 2048, 40960, 30720},
                    Counts{"ft3:4", 20, 16, 32}, Counts{"tft:8,8,8,4,8,4", 104, 512, 512},
                    Counts{"torus:5x4x3x2", 60, 120, 180}, Counts{"torus:2x2x1", 4, 4, 4},
                    Counts{"torus:1x7x1", 7, 7, 7}, Counts{"torus:2x2x2x2x1", 16, 16, 32},
                    Counts{"dragonfly:4,2,2", 36, 72, 90}, Counts{"dragonfly:1,1,1", 2, 2, 1},
                    Counts{"kdft:4x3x2", 19, 24, 24}, Counts{"kdft:4x4x4x1,2", 160, 64, 384}),
    [](const auto& one) {
      std::string name = one.param.name;
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

TEST(Dragonfly, EveryTwoGroupsAreJoinedOnceWhateverTheArrangement) {
  for (const char* const name :
       {"dragonfly:4,1,3", "dragonfly:4,1,3,absolute", "dragonfly:4,1,3,relative"}) {
    const Model model = build_model(name);
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> joined;
    std::map<SwitchId, int> globals;
    for (const Link& link : model.graph.links()) {
      const std::uint32_t a = model.regions[link.ends[0].at.value];
      const std::uint32_t b = model.regions[link.ends[1].at.value];
      if (a != b) {
        ++joined[std::minmax(a, b)];
        ++globals[link.ends[0].at];
        ++globals[link.ends[1].at];
      }
    }
    EXPECT_EQ(joined.size(), 13U * 12 / 2) << name;
    EXPECT_TRUE(std::ranges::all_of(joined, [](const auto& one) { return one.second == 1; }));
    EXPECT_EQ(globals.size(), 52U);
    EXPECT_TRUE(std::ranges::all_of(globals, [](const auto& one) { return one.second == 3; }));
  }
}

TEST(Dragonfly, ArrangementsLeadWhereTheirRuleSays) {
  const auto behind = [](const char* name, std::uint32_t group, std::uint32_t global_port) {
    const Model model = build_model(name); // 13 groups; hosts on port 0, locals on 1 to 3
    const Attachment end{SwitchId{group * 4 + global_port / 3},
                         static_cast<Port>(4 + global_port % 3)};
    const Link& link = model.graph[*model.graph.link_at(end)];
    const Attachment other = link.ends[0] == end ? link.ends[1] : link.ends[0];
    return model.regions[other.at.value];
  };
  EXPECT_EQ(behind("dragonfly:4,1,3", 5, 0), 4U);
  EXPECT_EQ(behind("dragonfly:4,1,3", 5, 11), 6U);
  EXPECT_EQ(behind("dragonfly:4,1,3,relative", 5, 0), 6U);
  EXPECT_EQ(behind("dragonfly:4,1,3,relative", 5, 11), 4U);
  EXPECT_EQ(behind("dragonfly:4,1,3,absolute", 5, 4), 4U);
  EXPECT_EQ(behind("dragonfly:4,1,3,absolute", 5, 5), 6U);
}

TEST(TrimmedFatTree, EveryLeafReachesEveryTopByAsManyMiddlesAsThereArePaths) {
  const Model model = build_model("tft:3,4,1,6,9,2");
  const Graph& graph = model.graph;
  std::map<std::pair<SwitchId, SwitchId>, int> paths;
  for (std::uint32_t leaf = 0; leaf < 12; ++leaf) {
    for (const Hop& up : graph.hops(SwitchId{leaf})) {
      for (const Hop& top : graph.hops(up.to)) {
        if (model.regions[top.to.value] == Model::no_region) {
          ++paths[{SwitchId{leaf}, top.to}];
        }
      }
    }
  }
  EXPECT_EQ(paths.size(), 12U * 9);
  EXPECT_TRUE(std::ranges::all_of(paths, [](const auto& one) { return one.second == 2; }));
}

TEST(Torus, RanksFollowTheLastDimensionAndPortsTheFirst) {
  const Model model = build_model("torus:3x4x5x2");
  const Graph& graph = model.graph;
  EXPECT_EQ(graph[*graph.find_host(Nid{2 * 7})].at.at, *graph.find_switch("s0.1.2"));
  const auto ahead = graph.link_at({*graph.find_switch("s2.1.2"), 2});
  EXPECT_EQ(graph.describe(*ahead), "s2.1.2 port 2 - s0.1.2 port 3");
}

TEST(KDimensionFatTree, LeavesOfALineShareTheRootsOfThatLine) {
  const Model model = build_model("kdft:4x3x1,2");
  const Graph& graph = model.graph;
  std::set<SwitchId> neighbours;
  for (const Hop& hop : graph.hops(*graph.find_switch("root1:2.0:1"))) {
    neighbours.insert(hop.to);
  }
  EXPECT_EQ(neighbours, (std::set{*graph.find_switch("leaf2.0"), *graph.find_switch("leaf2.1"),
                                  *graph.find_switch("leaf2.2")}));
}

TEST(BuildModel, SaysWhatIsWrongWithAName) {
  const auto refusal = [](const char* name) -> std::string {
    try {
      (void)build_model(name);
    } catch (const ModelError& e) {
      return e.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal("mesh:3"), HasSubstr("unknown topology \"mesh:3\"; models: ft40"));
  EXPECT_THAT(refusal("ft3:5"), HasSubstr("even number of ports"));
  EXPECT_THAT(refusal("ft3:"), HasSubstr("\"\" is not a number"));
  EXPECT_THAT(refusal("ft3:4,4"), HasSubstr("1 numbers are needed, 2 given"));
  EXPECT_THAT(refusal("torus:3xax2"), HasSubstr("\"a\" is not a number from 1 to 65535"));
  EXPECT_THAT(refusal("torus:3"), HasSubstr("hosts a switch are needed"));
  EXPECT_THAT(refusal("torus:300x300x300x1"), HasSubstr("too many"));
  EXPECT_THAT(refusal("torus:0x3x1"), HasSubstr("\"0\" is not a number"));
  EXPECT_THAT(refusal("dragonfly:4,2,2,ring"), HasSubstr("\"ring\" is not an arrangement"));
  EXPECT_THAT(refusal("dragonfly:65535,65535,65535"), HasSubstr("too many"));
  EXPECT_THAT(refusal("tft:8,8,8,4,8,3"), HasSubstr("must divide 4"));
  EXPECT_THAT(refusal("kdft:65535x65535x65535,65535"), HasSubstr("too many"));
}

} // namespace
} // namespace tributary::topology
