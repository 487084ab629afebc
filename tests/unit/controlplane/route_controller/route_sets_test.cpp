// The life of a set of routes against the table of docs/protocol/unicast-routes.md; and which sets
// exist at a time.
#include "controlplane/route_controller/route_sets.hpp"

#include "tests/support/page_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::route_controller {
namespace {

constexpr std::string_view letters = "WCXVIFR";
constexpr TimeNs now{1000};

/// The page's rows, in the order of its table.
constexpr std::array<std::pair<std::string_view, Event>, event_count> rows = {{
    {"its computation begins", Event::begin},
    {"the fabric or the settings change", Event::changed},
    {"the algorithm or the verifier refuses", Event::refuse},
    {"it is safe", Event::pass},
    {"switches are updated", Event::install},
    {"the transaction fails", Event::failed},
    {"it stalls on the way", Event::stalled},
    {"all switches have it", Event::everywhere},
    {"another set takes its place", Event::replace},
    {"routes are switched off", Event::withdraw},
}};

TEST(RoutesLife, every_event_in_every_state_does_what_the_page_says) {
  const auto table =
      tributary::test::page_table("docs/protocol/unicast-routes.md", "| | W wanted | C computing ");
  ASSERT_EQ(table.size(), rows.size()) << "rows of the table of the page";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& [label, event] = rows[r];
    const std::vector<std::string>& row = table[r];
    ASSERT_EQ(row.size(), 1 + state_count) << label;
    ASSERT_EQ(row[0], label);
    for (std::size_t s = 0; s < state_count; ++s) {
      const auto state = static_cast<State>(s);
      const auto next = transition(state, event);
      const std::string is = next ? std::string(1, letters[static_cast<std::size_t>(*next)]) : ".";
      EXPECT_EQ(is, row[1 + s]) << name_of(event) << " in " << name_of(state);
    }
  }
}

PlanPtr plan_of(Epoch between, std::string refused = "") {
  Plan plan;
  plan.epoch = between + 1;
  plan.refused = std::move(refused);
  return std::make_shared<const Plan>(std::move(plan));
}

class RoutesLifeTest : public ::testing::Test {
protected:
  /// Makes a set, and sends it under this transaction.
  void make_and_install(std::uint64_t transaction) {
    life.want(now);
    EXPECT_TRUE(life.computed(plan_of(life.begin())));
    life.install(TransactionNumber{transaction});
  }
  RouteSets life{Epoch{100}};
};

TEST_F(RoutesLifeTest, a_set_is_made_installed_and_in_force_everywhere) {
  EXPECT_EQ(life.next_due(), never);
  life.want(now);
  EXPECT_EQ(life.next_due(), now);
  const Epoch between = life.begin();
  EXPECT_EQ(between, 101U);
  EXPECT_EQ(life.next()->state, State::computing);
  EXPECT_EQ(life.next()->epoch, 102U);
  EXPECT_TRUE(life.computed(plan_of(between)));
  EXPECT_EQ(life.next()->state, State::verified);
  life.install(TransactionNumber{7});
  EXPECT_EQ(life.next(), nullptr);
  EXPECT_EQ(life.installing()->state, State::installing);
  EXPECT_FALSE(life.everywhere()) << "the transaction has not ended";
  EXPECT_TRUE(life.ended(TransactionNumber{7}, "", now));
  EXPECT_TRUE(life.everywhere());
  EXPECT_EQ(life.current()->state, State::in_force);
  EXPECT_EQ(life.current()->epoch, 102U);
  EXPECT_EQ(life.installing(), nullptr);
}

TEST_F(RoutesLifeTest, what_is_computed_of_an_old_fabric_comes_late_and_does_not_count) {
  life.want(now);
  const Epoch old = life.begin();
  life.want(now + 5);
  EXPECT_EQ(life.next()->state, State::wanted);
  EXPECT_FALSE(life.computed(plan_of(old)));
  const Epoch later = life.begin();
  EXPECT_GT(later, old);
  EXPECT_FALSE(life.computed(plan_of(old)));
  EXPECT_TRUE(life.computed(plan_of(later)));
}

TEST_F(RoutesLifeTest, a_refused_set_leaves_the_one_in_force_and_is_recomputed_after_a_change) {
  make_and_install(7);
  life.ended(TransactionNumber{7}, "", now);
  life.everywhere();
  life.want(now);
  EXPECT_TRUE(life.computed(plan_of(life.begin(), "a cycle of 4 channels")));
  EXPECT_EQ(life.next()->state, State::refused);
  EXPECT_EQ(life.next()->plan->refused, "a cycle of 4 channels");
  EXPECT_EQ(life.next_due(), never);
  EXPECT_EQ(life.current()->epoch, 102U);
  life.want(now);
  EXPECT_EQ(life.next_due(), now);
}

TEST_F(RoutesLifeTest, a_change_during_an_installation_makes_another_set_that_follows) {
  make_and_install(7);
  life.want(now);
  EXPECT_EQ(life.installing()->state, State::installing);
  EXPECT_EQ(life.next()->state, State::wanted);
  const Epoch between = life.begin();
  EXPECT_TRUE(life.ended(TransactionNumber{7}, "", now));
  EXPECT_TRUE(life.everywhere());
  EXPECT_TRUE(life.computed(plan_of(between)));
  life.install(TransactionNumber{8});
  EXPECT_EQ(life.current()->epoch, 102U);
  EXPECT_EQ(life.installing()->epoch, 104U);
  EXPECT_FALSE(life.ended(TransactionNumber{7}, "", now));
}

TEST_F(RoutesLifeTest, a_transaction_that_fails_is_tried_again_later) {
  make_and_install(7);
  EXPECT_TRUE(life.ended(TransactionNumber{7}, "leaf0 has refused", now + 500));
  EXPECT_EQ(life.installing(), nullptr);
  EXPECT_EQ(life.next()->state, State::wanted);
  EXPECT_EQ(life.next()->failure, "leaf0 has refused");
  EXPECT_EQ(life.next_due(), now + 500);
  life.want(now);
  EXPECT_EQ(life.next_due(), now) << "a change does not wait for that";
}

TEST_F(RoutesLifeTest, one_that_fails_while_the_next_is_made_is_left) {
  make_and_install(7);
  life.want(now);
  const Epoch between = life.begin();
  EXPECT_TRUE(life.ended(TransactionNumber{7}, "leaf0 has refused", now + 500));
  EXPECT_EQ(life.next()->state, State::computing);
  EXPECT_TRUE(life.computed(plan_of(between)));
}

TEST_F(RoutesLifeTest, withdrawn_there_are_none_and_epochs_go_on) {
  make_and_install(7);
  life.withdraw();
  EXPECT_EQ(life.next(), nullptr);
  EXPECT_EQ(life.installing(), nullptr);
  EXPECT_EQ(life.current(), nullptr);
  EXPECT_EQ(life.next_due(), never);
  life.want(now);
  EXPECT_EQ(life.begin(), 103U);
}

} // namespace
} // namespace tributary::route_controller
