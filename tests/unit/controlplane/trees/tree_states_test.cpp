// The life of a group's trees against the table of docs/protocol/groups.md; and due and pending
// work on the way.
#include "controlplane/trees/tree_states.hpp"

#include "tests/support/page_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::trees {
namespace {

constexpr std::string_view letters = "AWPIFBTR";
constexpr GroupId group{7};
constexpr TimeNs now{1000};

/// The page's rows, in the order of its table.
constexpr std::array<std::pair<std::string_view, Event>, event_count> rows = {{
    {"the group asks for trees", Event::want},
    {"the store has some", Event::restored},
    {"there is a plan", Event::plan},
    {"there is no path", Event::no_path},
    {"switches are updated", Event::install},
    {"one has refused", Event::failed},
    {"all switches have them", Event::everywhere},
    {"a link or a member is gone", Event::torn},
    {"the group ends", Event::remove},
    {"no switch has any", Event::removed},
}};

/// Brings the group into a state by the shortest path.
void lead_to(TreeStates& states, State wanted) {
  std::map<State, std::vector<Event>> ways{{State::absent, {}}};
  std::queue<State> ahead;
  ahead.push(State::absent);
  while (!ahead.empty() && !ways.contains(wanted)) {
    const State from = ahead.front();
    ahead.pop();
    for (std::size_t e = 0; e < event_count; ++e) {
      const auto event = static_cast<Event>(e);
      if (const auto next = transition(from, event); next && !ways.contains(*next)) {
        ways[*next] = ways[from];
        ways[*next].push_back(event);
        ahead.push(*next);
      }
    }
  }
  ASSERT_TRUE(ways.contains(wanted)) << name_of(wanted) << " cannot be reached";
  for (const Event event : ways[wanted]) {
    ASSERT_TRUE(states.apply(group, event, now));
  }
  ASSERT_EQ(states.state(group), wanted);
}

TEST(GroupTrees, every_event_in_every_state_does_what_the_page_says) {
  const auto table = test::page_table("docs/protocol/groups.md", "| | A absent | W wanted ");
  ASSERT_EQ(table.size(), rows.size()) << "rows of the table of the page";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& [label, event] = rows[r];
    const std::vector<std::string>& row = table[r];
    ASSERT_EQ(row.size(), 1 + state_count) << label;
    ASSERT_EQ(row[0], label);
    for (std::size_t s = 0; s < state_count; ++s) {
      const auto state = static_cast<State>(s);
      TreeStates states;
      lead_to(states, state);
      const bool accepted = states.apply(group, event, now);
      const std::string is =
          accepted ? std::string(1, letters[static_cast<std::size_t>(states.state(group))]) : ".";
      EXPECT_EQ(is, row[1 + s]) << name_of(event) << " in " << name_of(state);
      EXPECT_TRUE(accepted || states.state(group) == state);
      for (std::size_t i = 1; i < state_count; ++i) {
        EXPECT_EQ(states.in_state(static_cast<State>(i)).contains(group),
                  states.state(group) == static_cast<State>(i));
      }
    }
  }
}

TEST(GroupTrees, whatever_happens_it_can_end) {
  for (std::size_t s = 0; s < state_count; ++s) {
    TreeStates states;
    lead_to(states, static_cast<State>(s));
    EXPECT_TRUE(states.apply(group, Event::remove, now));
    EXPECT_TRUE(states.apply(group, Event::removed, now));
    EXPECT_EQ(states.find(group), nullptr);
    EXPECT_EQ(states.next_due(), never);
    EXPECT_TRUE(states.out_of_sync().empty());
  }
}

TEST(GroupTrees, what_is_wanted_or_planned_is_due_at_once_and_only_once) {
  TreeStates states;
  states.apply(group, Event::want, now);
  EXPECT_EQ(states.next_due(), now);
  EXPECT_EQ(states.take_due(now), group);
  EXPECT_EQ(states.take_due(now), std::nullopt);
  states.apply(group, Event::no_path, now);
  EXPECT_EQ(states.next_due(), never);
  states.set_due(group, now + 5);
  states.set_due(group, now + 9);
  EXPECT_EQ(states.take_due(now + 8), std::nullopt);
  EXPECT_EQ(states.take_due(now + 9), group);
  states.apply(group, Event::plan, now + 10);
  EXPECT_EQ(states.next_due(), now + 10);
  states.apply(group, Event::install, now + 10);
  EXPECT_EQ(states.next_due(), never);
}

TEST(GroupTrees, the_last_transaction_decides) {
  TreeStates states;
  lead_to(states, State::installing);
  states.wait_for(group, {TransactionNumber{1}, TransactionNumber{2}});
  EXPECT_TRUE(states.out_of_sync().empty());
  EXPECT_EQ(states.owner(TransactionNumber{2}), group);
  EXPECT_EQ(states.ended(TransactionNumber{2}, "leaf0: no room"), std::nullopt);
  EXPECT_EQ(states.ended(TransactionNumber{1}, ""), group);
  EXPECT_EQ(states.find(group)->failure, "leaf0: no room");
  EXPECT_TRUE(states.out_of_sync().empty()) << "it failed";
  EXPECT_EQ(states.owner(TransactionNumber{1}), std::nullopt);
}

TEST(GroupTrees, when_all_are_committed_only_switches_are_out_of_sync) {
  TreeStates states;
  lead_to(states, State::installing);
  states.wait_for(group, {TransactionNumber{1}});
  EXPECT_EQ(states.ended(TransactionNumber{1}, ""), group);
  EXPECT_EQ(states.out_of_sync(), (std::vector{group}));
  states.apply(group, Event::everywhere, now);
  EXPECT_TRUE(states.out_of_sync().empty());
}

TEST(GroupTrees, a_transaction_that_another_one_followed_decides_nothing) {
  TreeStates states;
  lead_to(states, State::installing);
  states.wait_for(group, {TransactionNumber{1}});
  states.apply(group, Event::torn, now); // a link is cut meanwhile
  states.apply(group, Event::plan, now);
  EXPECT_EQ(states.ended(TransactionNumber{1}, "leaf0 is lost"), std::nullopt);
  EXPECT_EQ(states.state(group), State::planned);
  states.apply(group, Event::install, now);
  states.wait_for(group, {TransactionNumber{2}});
  EXPECT_EQ(states.ended(TransactionNumber{2}, ""), group);
  EXPECT_EQ(states.find(group)->failure, "");
}

} // namespace
} // namespace tributary::trees
