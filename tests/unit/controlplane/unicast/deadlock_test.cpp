// Cycles of waits: none under the rules, whatever the tables know; and without the rules they are
// found, at their full length (docs/protocol/unicast-routes.md, "Why no deadlock occurs").
#include "controlplane/unicast/vtftr.hpp"
#include "controlplane/unicast/vtftr_plus.hpp"
#include "tests/unit/controlplane/unicast/situation.hpp"
#include "tests/unit/include/wire/seed.hpp"
#include "tools/simulator/algorithms/algorithm_a.hpp"
#include "tools/simulator/algorithms/make_algorithm.hpp"

#include <gtest/gtest.h>

namespace tributary::unicast {
namespace {

class Mixes : public testing::TestWithParam<std::pair<std::uint32_t, std::uint32_t>> {};

TEST_P(Mixes, OfKnownAndUnknownFaultsHaveNoCycleUnderAnyPolicy) {
  const auto [known_leaves, unknown_leaves] = GetParam();
  const Fabric fabric(Shape::grid(6, 6));
  Random random(test::seed());
  for (const Policy policy : {Policy::safe, Policy::plus, Policy::fast}) {
    Vtftr vtftr(fabric.shape, {2, policy});
    VtftrPlus plus(fabric.shape, {2, policy});
    for (int round = 0; round < 4; ++round) {
      const Faults known = draw_faults(fabric.shape, {.leaves = known_leaves}, random);
      Faults real = known;
      draw_faults(fabric.shape, {.leaves = unknown_leaves}, random)
          .leaves.for_each([&](std::size_t leaf) { real.leaves.insert(leaf); });
      for (Algorithm* const algorithm :
           {static_cast<Algorithm*>(&vtftr), static_cast<Algorithm*>(&plus)}) {
        const Verification found = fabric.check(*algorithm, known, real);
        EXPECT_TRUE(found.acyclic()) << found.describe(fabric.network);
        EXPECT_EQ(found.loops, 0U);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Mixes,
                         testing::Values(std::pair{0U, 1U}, std::pair{1U, 0U}, std::pair{1U, 1U},
                                         std::pair{2U, 2U}, std::pair{5U, 1U}, std::pair{8U, 1U}),
                         [](const auto& one) {
                           return std::to_string(one.param.first) + "Known" +
                                  std::to_string(one.param.second) + "Unknown";
                         });

TEST(MixedTables, OfManyMomentsAtOnceHaveNoCycle) {
  const Fabric fabric(Shape::grid(6, 6));
  Random random(test::seed());
  VtftrPlus plus(fabric.shape, {2, Policy::fast});
  Vtftr vtftr(fabric.shape, {});
  std::vector<TableSet> moments;
  for (std::uint32_t i = 0; i < 10; ++i) {
    moments.push_back(plus.tables(draw_faults(fabric.shape, {.leaves = i}, random)));
    moments.push_back(vtftr.tables(draw_faults(fabric.shape, {.leaves = i}, random)));
  }
  std::vector<const TableSet*> sets;
  for (const TableSet& one : moments) {
    sets.push_back(&one);
  }
  const Verification found = fabric.check(sets, draw_faults(fabric.shape, {.leaves = 3}, random));
  EXPECT_TRUE(found.acyclic()) << found.describe(fabric.network);
  EXPECT_EQ(found.loops, 0U);
}

TEST(MixedTables, OfBeforeAndAfterAFaultStrandNobody) {
  const Fabric fabric(Shape::grid(5, 5));
  VtftrPlus plus(fabric.shape, {});
  const Faults before = fabric.dead_leaves({7});
  const Faults after = fabric.dead_leaves({7, 12});
  const TableSet old_set = plus.tables(before);
  const TableSet new_set = plus.tables(after);
  const std::array<const TableSet*, 2> both{&old_set, &new_set};
  const Verification found = fabric.check(both, after);
  EXPECT_TRUE(found.safe()) << found.describe(fabric.network);
}

TEST(LiteralReading, SendsFramesRoundInALoopOfFourAfterOneUnknownFault) {
  const Fabric fabric(Shape::grid(6, 6));
  const auto literal = simulator::algorithms::make_algorithm("literal", fabric.shape, {});
  for (std::uint32_t leaf = 0; leaf < fabric.shape.leaves(); ++leaf) {
    const Verification found =
        fabric.check(*literal, Faults(fabric.shape), fabric.dead_leaves({leaf}));
    EXPECT_EQ(found.cycle.size(), 4U);
    EXPECT_GT(found.loops, 0U);
  }
  EXPECT_TRUE(fabric.check(*literal, Faults(fabric.shape)).safe());
}

TEST(VirtualChannelThatStays, ClosesACycleOfEightWithOneKnownFault) {
  const Fabric fabric(Shape::grid(6, 6));
  Vtftr vtftr(fabric.shape, {});
  Changed no_turn(vtftr, [](forwarding_table::Action& action) {
    action.step = 0;
    action.spare_turns = 0;
  });
  for (std::uint32_t leaf = 0; leaf < fabric.shape.leaves(); ++leaf) {
    const Verification found = fabric.check(no_turn, fabric.dead_leaves({leaf}));
    EXPECT_EQ(found.cycle.size(), 8U);
    EXPECT_EQ(found.loops, 0U);
    EXPECT_EQ(found.stranded, 0U);
  }
}

TEST(AlgorithmA, ReachesAllByEightLinksAndClosesACycleOfEightWithOneKnownFault) {
  const Fabric fabric(Shape::grid(6, 6));
  simulator::algorithms::AlgorithmA a(fabric.shape);
  const Verification without = fabric.check(a, Faults(fabric.shape));
  EXPECT_TRUE(without.safe()) << without.describe(fabric.network);
  EXPECT_EQ(without.most_hops, 4U);
  for (std::uint32_t leaf = 0; leaf < fabric.shape.leaves(); ++leaf) {
    const Verification found = fabric.check(a, fabric.dead_leaves({leaf}));
    EXPECT_EQ(found.cycle.size(), 8U);
    EXPECT_EQ(found.loops, 0U);
    EXPECT_EQ(found.stranded + found.at_risk, 0U);
    EXPECT_EQ(found.most_hops, 8U);
    EXPECT_EQ(found.vcs_used, 1U);
  }
}

} // namespace
} // namespace tributary::unicast
