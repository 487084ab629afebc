// The verifier detects errors: good tables, with one fault planted in each.
#include "controlplane/unicast/verify.hpp"
#include "controlplane/unicast/vtftr_plus.hpp"
#include "dataplane/forwarding_table/decide.hpp"
#include "tests/unit/controlplane/unicast/situation.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tributary::unicast {
namespace {

using forwarding_table::SwitchTable;
using testing::HasSubstr;

/// Gives the action of a switch for this input a copy of its own, to be changed.
forwarding_table::Action& own_action(SwitchTable& table, forwarding_table::Port in, std::uint8_t vc,
                                     std::uint32_t destination) {
  const std::size_t row = table.row_of[std::size_t{table.class_of(in)} * table.vcs + vc];
  std::uint16_t& number = table.rows[row * table.destinations + destination];
  table.actions.push_back(table.actions[number]);
  number = static_cast<std::uint16_t>(table.actions.size() - 1);
  return table.actions.back();
}

class PlantedFault : public testing::Test {
protected:
  Fabric fabric{Shape::grid(4, 4)};
  Faults none{fabric.shape};
  TableSet tables = VtftrPlus(fabric.shape, {}).tables(none);
};

TEST_F(PlantedFault, NoneIsSafe) {
  const Verification found = fabric.check(tables, none);
  EXPECT_TRUE(found.safe());
  EXPECT_EQ(found.pairs, 16U * 15U);
  EXPECT_EQ(found.most_hops, 4U);
  EXPECT_EQ(found.vcs_used, 1U);
  EXPECT_EQ(found.describe(fabric.network),
            "all 240 pairs have a route, and no deadlock is possible");
}

TEST_F(PlantedFault, AMissingRouteIsAStrandedPair) {
  own_action(tables.switches[5], forwarding_table::local_port, 0, 10) = {};
  const Verification found = fabric.check(tables, none);
  EXPECT_EQ(found.stranded, 1U);
  ASSERT_TRUE(found.lost);
  EXPECT_EQ(found.lost->source, 5U);
  EXPECT_EQ(found.lost->destination, 10U);
  EXPECT_EQ(found.describe(fabric.network),
            "1 of 240 pairs have no route: leaf1.1 to leaf2.2, ends with no_route at leaf1.1");
}

TEST_F(PlantedFault, AWrongPortOfARootEndsElsewhere) {
  // The root of row 1 sends frames for column 2 to column 3, whose leaf forwards them up its
  // column.
  SwitchTable& root = tables.switches[fabric.shape.switch_of_root(1)];
  const std::uint16_t to_3 = root.action(0, 0, 11).ports;
  own_action(root, 0, 0, 6) = {.ports = to_3};
  const Verification found = fabric.check(tables, none);
  EXPECT_FALSE(found.safe());
  EXPECT_THAT(found.describe(fabric.network), HasSubstr("to leaf1.2"));
}

TEST_F(PlantedFault, OneWrongChoiceAmongGoodOnesIsAPairAtRisk) {
  SwitchTable& leaf = tables.switches[0];
  forwarding_table::Action& action = own_action(leaf, forwarding_table::local_port, 0, 5);
  const std::uint16_t both = static_cast<std::uint16_t>(leaf.port_words.size());
  leaf.port_words.push_back(3); // the row's and the column's port
  action.ports = both;
  const Verification good = fabric.check(tables, none);
  EXPECT_EQ(good.stranded + good.at_risk, 0U);
  EXPECT_TRUE(good.acyclic()) << "xy and yx mixed are safe as long as the vc rises";
  own_action(tables.switches[4], 1, 0, 5) = {};
  const Verification found = fabric.check(tables, none);
  EXPECT_EQ(found.stranded, 0U);
  EXPECT_GT(found.at_risk, 0U);
  EXPECT_THAT(found.describe(fabric.network), HasSubstr("may lose frames"));
}

TEST_F(PlantedFault, AVcThatDoesNotRiseIsACycle) {
  for (std::uint32_t leaf = 0; leaf < fabric.shape.leaves(); ++leaf) {
    for (forwarding_table::Action& action : tables.switches[leaf].actions) {
      action.step = 0;
    }
  }
  // Without faults no route turns from columns to rows, and the missing step has no effect.
  EXPECT_TRUE(fabric.check(tables, none).acyclic());
  const Faults real = fabric.dead_leaves({5});
  const Verification found = fabric.check(tables, real);
  EXPECT_EQ(found.cycle.size(), 8U);
  EXPECT_THAT(found.describe(fabric.network),
              HasSubstr("deadlock is possible in a cycle of 8 channels"));
  for (std::size_t i = 0; i < found.cycle.size(); ++i) {
    const Channel& held = found.cycle[i];
    const Channel& next = found.cycle[(i + 1) % found.cycle.size()];
    EXPECT_EQ(fabric.network.peer(held.link)->at, fabric.network.end(next.link).at);
  }
}

TEST_F(PlantedFault, ALoopOfOneDestinationIsFound) {
  // Leaf 0 and its row's root pass frames for leaf 5 back and forth.
  SwitchTable& root = tables.switches[fabric.shape.switch_of_root(0)];
  own_action(root, 0, 0, 5) = {.ports = root.action(0, 0, 4).ports};
  own_action(tables.switches[0], 0, 0,
             5) = {.ports = tables.switches[0].action(forwarding_table::local_port, 0, 1).ports};
  const Verification found = fabric.check(tables, none);
  EXPECT_EQ(found.cycle.size(), 2U);
  EXPECT_EQ(found.loops, 1U);
  EXPECT_GT(found.stranded, 0U);
  EXPECT_EQ(found.most_hops, 0U);
  EXPECT_THAT(found.describe(fabric.network), HasSubstr("goes round"));
}

/// A change of any one action of any switch is either harmless or detected: the verifier's result
/// is compared with frames that are sent with many entropies.
TEST_F(PlantedFault, WhatGetsLostIsNeverCalledSafe) {
  std::mt19937_64 random(test::seed());
  const PortStates up = port_states(fabric.shape, fabric.network, none);
  int unsafe = 0;
  for (int round = 0; round < 200; ++round) {
    TableSet changed = tables;
    SwitchTable& table = changed.switches[random() % changed.switches.size()];
    std::uint16_t& number = table.rows[random() % table.rows.size()];
    number = static_cast<std::uint16_t>(random() % table.actions.size());
    const bool safe = fabric.check(changed, none).safe();
    unsafe += safe ? 0 : 1;
    for (std::uint32_t from = 0; safe && from < 16; ++from) {
      for (std::uint32_t to = 0; to < 16; ++to) {
        Network::End at{from, forwarding_table::local_port};
        forwarding_table::Decision next;
        std::uint8_t vc = 0;
        int hops = 0;
        do {
          next = forwarding_table::decide(changed.switches[at.at], at.port, vc, to, up.of(at.at),
                                          static_cast<std::uint32_t>(random()));
          at = next.outcome == forwarding_table::Outcome::forward
                   ? *fabric.network.peer({at.at, next.port})
                   : at;
          vc = next.lowest_vc;
        } while (next.outcome == forwarding_table::Outcome::forward && ++hops < 40);
        EXPECT_EQ(next.outcome, forwarding_table::Outcome::deliver);
      }
    }
  }
  EXPECT_GT(unsafe, 0);
}

} // namespace
} // namespace tributary::unicast
