// The life of a group's trees against the table of docs/protocol/groups.md; and due and pending
// work on the way.
#include "controlplane/trees/life.hpp"

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
    {"switches are updated", Event::tell},
    {"one has refused", Event::failed},
    {"all switches have them", Event::everywhere},
    {"a link or a member is gone", Event::torn},
    {"the group ends", Event::remove},
    {"no switch has any", Event::removed},
}};

/// Brings the group into a state by the shortest path.
void lead_to(Lives& lives, State wanted) {
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
    ASSERT_TRUE(lives.apply(group, event, now));
  }
  ASSERT_EQ(lives.state(group), wanted);
}

TEST(Life, every_event_in_every_state_does_what_the_page_says) {
  const auto table = test::page_table("docs/protocol/groups.md", "| | A absent | W wanted ");
  ASSERT_EQ(table.size(), rows.size()) << "rows of the table of the page";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& [label, event] = rows[r];
    const std::vector<std::string>& row = table[r];
    ASSERT_EQ(row.size(), 1 + state_count) << label;
    ASSERT_EQ(row[0], label);
    for (std::size_t s = 0; s < state_count; ++s) {
      const auto state = static_cast<State>(s);
      Lives lives;
      lead_to(lives, state);
      const bool accepted = lives.apply(group, event, now);
      const std::string is =
          accepted ? std::string(1, letters[static_cast<std::size_t>(lives.state(group))]) : ".";
      EXPECT_EQ(is, row[1 + s]) << name_of(event) << " in " << name_of(state);
      EXPECT_TRUE(accepted || lives.state(group) == state);
      for (std::size_t i = 1; i < state_count; ++i) {
        EXPECT_EQ(lives.in_state(static_cast<State>(i)).contains(group),
                  lives.state(group) == static_cast<State>(i));
      }
    }
  }
}

TEST(Life, whatever_happens_it_can_end) {
  for (std::size_t s = 0; s < state_count; ++s) {
    Lives lives;
    lead_to(lives, static_cast<State>(s));
    EXPECT_TRUE(lives.apply(group, Event::remove, now));
    EXPECT_TRUE(lives.apply(group, Event::removed, now));
    EXPECT_EQ(lives.find(group), nullptr);
    EXPECT_EQ(lives.next_due(), never);
    EXPECT_TRUE(lives.behind().empty());
  }
}

TEST(Life, what_is_wanted_or_planned_is_due_at_once_and_only_once) {
  Lives lives;
  lives.apply(group, Event::want, now);
  EXPECT_EQ(lives.next_due(), now);
  EXPECT_EQ(lives.take_due(now), group);
  EXPECT_EQ(lives.take_due(now), std::nullopt);
  lives.apply(group, Event::no_path, now);
  EXPECT_EQ(lives.next_due(), never);
  lives.set_due(group, now + 5);
  lives.set_due(group, now + 9);
  EXPECT_EQ(lives.take_due(now + 8), std::nullopt);
  EXPECT_EQ(lives.take_due(now + 9), group);
  lives.apply(group, Event::plan, now + 10);
  EXPECT_EQ(lives.next_due(), now + 10);
  lives.apply(group, Event::tell, now + 10);
  EXPECT_EQ(lives.next_due(), never);
}

TEST(Life, the_last_transaction_decides) {
  Lives lives;
  lead_to(lives, State::installing);
  lives.wait_for(group, {TransactionNumber{1}, TransactionNumber{2}});
  EXPECT_TRUE(lives.behind().empty());
  EXPECT_EQ(lives.owner(TransactionNumber{2}), group);
  EXPECT_EQ(lives.ended(TransactionNumber{2}, "leaf0: no room"), std::nullopt);
  EXPECT_EQ(lives.ended(TransactionNumber{1}, ""), group);
  EXPECT_EQ(lives.find(group)->failure, "leaf0: no room");
  EXPECT_TRUE(lives.behind().empty()) << "it failed";
  EXPECT_EQ(lives.owner(TransactionNumber{1}), std::nullopt);
}

TEST(Life, when_all_are_committed_only_switches_are_behind) {
  Lives lives;
  lead_to(lives, State::installing);
  lives.wait_for(group, {TransactionNumber{1}});
  EXPECT_EQ(lives.ended(TransactionNumber{1}, ""), group);
  EXPECT_EQ(lives.behind(), (std::vector{group}));
  lives.apply(group, Event::everywhere, now);
  EXPECT_TRUE(lives.behind().empty());
}

TEST(Life, a_transaction_that_another_one_followed_decides_nothing) {
  Lives lives;
  lead_to(lives, State::installing);
  lives.wait_for(group, {TransactionNumber{1}});
  lives.apply(group, Event::torn, now); // a link is cut meanwhile
  lives.apply(group, Event::plan, now);
  EXPECT_EQ(lives.ended(TransactionNumber{1}, "leaf0 is lost"), std::nullopt);
  EXPECT_EQ(lives.state(group), State::planned);
  lives.apply(group, Event::tell, now);
  lives.wait_for(group, {TransactionNumber{2}});
  EXPECT_EQ(lives.ended(TransactionNumber{2}, ""), group);
  EXPECT_EQ(lives.find(group)->failure, "");
}

} // namespace
} // namespace tributary::trees
