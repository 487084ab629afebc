// The loads of links and switches balance.
#include "controlplane/multicast/loads.hpp"

#include "controlplane/topology/builders.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace tributary::multicast {
namespace {

TEST(Loads, AreWhatACountOfAllTreesGivesAndZeroWhenAllAreGone) {
  const auto model = topology::build_model("torus:4x4x1");
  const RoutingView view(model.graph);
  Loads loads(view);
  test::Random random(test::seed());
  std::vector<Tree> trees;
  for (int round = 0; round < 300; ++round) {
    if (trees.empty() || random() % 3 != 0) {
      Tree tree{SwitchId{static_cast<std::uint32_t>(random() % 16)}, {}, 0};
      std::set<LinkId> links;
      for (std::size_t i = random() % 6; i > 0; --i) {
        links.insert(LinkId{static_cast<std::uint32_t>(random() % view.link_count())});
      }
      tree.links.assign(links.begin(), links.end());
      loads.add(tree);
      trees.push_back(tree);
    } else {
      std::swap(trees[random() % trees.size()], trees.back());
      loads.remove(trees.back());
      trees.pop_back();
    }
    std::vector<std::uint32_t> efi(view.link_count());
    std::map<SwitchId, std::uint32_t> rooted;
    std::map<SwitchId, std::uint32_t> through;
    std::uint64_t total = 0;
    for (const Tree& tree : trees) {
      std::set<SwitchId> switches{tree.root_switch};
      for (const LinkId c : tree.links) {
        ++efi[c.value];
        ++total;
        switches.insert(view.ends(c)[0]);
        switches.insert(view.ends(c)[1]);
      }
      ++rooted[tree.root_switch];
      for (const SwitchId s : switches) {
        ++through[s];
      }
    }
    for (std::uint32_t c = 0; c < view.link_count(); ++c) {
      ASSERT_EQ(loads[LinkId{c}], efi[c]);
    }
    for (std::uint32_t s = 0; s < view.switch_count(); ++s) {
      ASSERT_EQ(loads.rooted(SwitchId{s}), rooted[SwitchId{s}]);
      ASSERT_EQ(loads.through(SwitchId{s}), through[SwitchId{s}]);
    }
    ASSERT_EQ(loads.max(), std::ranges::max(efi));
    ASSERT_EQ(loads.count_at(loads.max()), std::ranges::count(efi, loads.max()));
    ASSERT_EQ(loads.total(), total);
  }
  for (const Tree& tree : trees) {
    loads.remove(tree);
  }
  EXPECT_EQ(loads.max(), 0U);
  EXPECT_EQ(loads.count_at(0), view.link_count());
}

TEST(Loads, StayWhenTheFabricGrows) {
  auto model = topology::build_model("torus:4x1");
  const RoutingView before(model.graph);
  Loads loads(before);
  const Tree tree{SwitchId{0}, {LinkId{0}}, 1};
  loads.add(tree);
  const SwitchId added = model.graph.add_switch({.name = "new", .ports = 2});
  const SwitchId other = model.graph.add_switch({.name = "other", .ports = 2});
  const LinkId link = model.graph.connect({added, 0}, {other, 0});
  const RoutingView after(model.graph);
  loads.rebind(after);
  loads.add({added, {link}, 1});
  EXPECT_EQ(loads.count_at(1), 2U);
  EXPECT_EQ(loads.count_at(0), 3U);
  EXPECT_EQ(loads.through(other), 1U);
  loads.remove(tree);
  EXPECT_EQ(loads[LinkId{0}], 0U);
}

} // namespace
} // namespace tributary::multicast
