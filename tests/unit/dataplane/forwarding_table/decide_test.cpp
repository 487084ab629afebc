// One switch, one frame: first choice, spares, U-turn, reasons. Tables are written by hand.
#include "dataplane/forwarding_table/decide.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

namespace tributary::forwarding_table {
namespace {

/// Ports 0 and 70 are first choices, ports 1, 2 and 71 spares. Everything is for destination 1.
class Deciding : public testing::Test {
protected:
  SwitchTable table{.self = 0,
                    .destinations = 2,
                    .vcs = 2,
                    .words = 2,
                    .classes = std::vector<std::uint16_t>(80),
                    .row_of = {0, 0},
                    .rows = {0, 0},
                    .actions = {Action{.ports = 1, .spares = 2, .spare_turns = 1, .u_turn = true}},
                    .port_words = {0, 0, 1, 1U << 6, 6, 1U << 7}};
  std::array<std::uint64_t, 2> up{~std::uint64_t{0}, ~std::uint64_t{0}};

  void down(Port port) { up[port / 64U] &= ~(std::uint64_t{1} << (port % 64U)); }
  Decision decide_at(Port in, std::uint8_t vc, std::uint32_t entropy = 0) const {
    return decide(table, in, vc, 1, up, entropy);
  }
};

TEST_F(Deciding, DeliversWhatIsForItself) {
  EXPECT_EQ(decide(table, 5, 0, 0, up, 0).outcome, Outcome::deliver);
}

TEST_F(Deciding, SpreadsEvenlyOverAllPortsThatAreUp) {
  std::map<Port, int> picked;
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    ++picked[decide_at(5, 0, i * 4'294'967U).port];
  }
  EXPECT_EQ(picked.size(), 2U);
  EXPECT_NEAR(picked[0], 500, 2);
  EXPECT_NEAR(picked[70], 500, 2);
  down(0);
  EXPECT_EQ(decide_at(5, 0, 0).port, 70);
  EXPECT_EQ(decide_at(5, 0, 0xFFFFFFFF).port, 70);
}

TEST_F(Deciding, TakesSparesOnlyWhenNoneOfTheFirstIsUpAndNeverTheWayBack) {
  down(0);
  down(70);
  std::map<Port, int> picked;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const Decision d = decide_at(2, 0, i * 42'949'672U);
    EXPECT_EQ(d.outcome, Outcome::forward);
    ++picked[d.port];
  }
  EXPECT_EQ(picked.size(), 2U);
  EXPECT_EQ(picked.count(2), 0U);
}

TEST_F(Deciding, TurnsBackAsALastResort) {
  for (const Port port : std::array<Port, 4>{0, 70, 1, 71}) {
    down(port);
  }
  EXPECT_EQ(decide_at(2, 0).port, 2);
  EXPECT_EQ(decide_at(5, 0).port, 2) << "a spare is up";
  down(2);
  EXPECT_EQ(decide_at(5, 0).port, 5);
  EXPECT_EQ(decide_at(local_port, 0).outcome, Outcome::no_route);
  table.actions[0].u_turn = false;
  table.actions[0].otherwise = Outcome::dest_dead;
  EXPECT_EQ(decide_at(5, 0).outcome, Outcome::dest_dead);
}

TEST_F(Deciding, DropsWhatWouldNeedOneMoreVc) {
  EXPECT_EQ(decide_at(5, 1).outcome, Outcome::forward);
  down(0);
  down(70);
  EXPECT_EQ(decide_at(5, 0).outcome, Outcome::forward);
  EXPECT_EQ(decide_at(5, 1).outcome, Outcome::no_vc);
  table.actions[0] = {.ports = 2, .step = 1};
  EXPECT_EQ(decide_at(5, 0).lowest_vc, 1);
  EXPECT_EQ(decide_at(5, 1).outcome, Outcome::no_vc);
  table.actions[0].turns = 1;
  EXPECT_EQ(decide_at(5, 0).outcome, Outcome::no_vc);
}

TEST_F(Deciding, SaysWhichVcsWillDo) {
  Decision d = decide_at(5, 0);
  EXPECT_EQ(d.lowest_vc, 0);
  EXPECT_EQ(d.highest_vc, 0);
  table.actions[0].rises = true;
  d = decide_at(5, 0);
  EXPECT_EQ(d.lowest_vc, 0);
  EXPECT_EQ(d.highest_vc, 1);
}

TEST_F(Deciding, GoesByTheClassOfThePortAndTheVc) {
  table.classes[5] = 1;
  table.row_of = {0, 0, 1, 2};
  table.actions.push_back({.ports = 2});
  table.actions.push_back({.otherwise = Outcome::no_route});
  table.rows = {0, 0, 0, 1, 0, 2};
  EXPECT_EQ(decide_at(4, 0).port, 0);
  EXPECT_EQ(decide_at(local_port, 1).port, 0);
  EXPECT_EQ(decide_at(5, 0).port, 1);
  EXPECT_EQ(decide_at(5, 1).outcome, Outcome::no_route);
}

} // namespace
} // namespace tributary::forwarding_table
