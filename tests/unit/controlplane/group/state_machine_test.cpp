// The state machine against the table of docs/protocol/groups.md.
#include "controlplane/api/status.hpp"
#include "controlplane/group/state_machine.hpp"

#include "tests/support/page_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::group {
namespace {

using records::GroupState;

constexpr std::string_view letters = "RCYLDG";

std::string written(const Transition& r) {
  switch (r.kind) {
  case Transition::Kind::ignored: return ".";
  case Transition::Kind::refused: return std::to_string(api::status_of(r.error));
  case Transition::Kind::accepted: return std::string(1, letters[static_cast<std::size_t>(r.next)]);
  }
  return "?";
}

/// The page's rows, in the order of its table.
constexpr std::array<std::pair<std::string_view, Event>, event_count> rows = {{
    {"a rank that is free joins", Event::join},
    {"a member joins again, same NID", Event::join_again},
    {"one that left, or whose lease ended, joins", Event::join_after_leaving},
    {"all are there", Event::completed},
    {"routes are ready", Event::routes_ready},
    {"routes failed", Event::routes_failed},
    {"installed", Event::installed},
    {"installation failed", Event::install_failed},
    {"a member renews its lease", Event::renew},
    {"one that left renews", Event::renew_after_leaving},
    {"a member leaves", Event::leave},
    {"one that left leaves again", Event::leave_again},
    {"a lease ends", Event::lease_ended},
    {"the last one is away", Event::emptied},
    {"the time limit", Event::time_limit},
    {"destroyed on request", Event::destroy},
    {"no switch has its trees", Event::removed},
}};

TEST(StateMachine, every_pair_of_state_and_event_does_what_the_page_says) {
  const auto table = test::page_table("docs/protocol/groups.md", "| | R receiving joins | C ");
  ASSERT_EQ(table.size(), rows.size()) << "rows of the table of the page";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& [label, event] = rows[r];
    const std::vector<std::string>& row = table[r];
    ASSERT_EQ(row.size(), 1 + state_count) << label;
    ASSERT_EQ(row[0], label);
    for (std::size_t s = 0; s < state_count; ++s) {
      const auto state = static_cast<GroupState>(s);
      EXPECT_EQ(written(transition(state, event)), row[1 + s])
          << name_of(event) << " in " << records::name_of(state);
    }
  }
}

TEST(StateMachine, every_refusal_has_words_and_nothing_else_has) {
  for (std::size_t e = 0; e < event_count; ++e) {
    for (std::size_t s = 0; s < state_count; ++s) {
      const Transition& r = transition(static_cast<GroupState>(s), static_cast<Event>(e));
      EXPECT_EQ(r.kind == Transition::Kind::refused, !r.message.empty());
    }
  }
}

TEST(StateMachine, nothing_leads_back_and_everything_leads_to_gone) {
  for (std::size_t s = 0; s < state_count; ++s) {
    bool onward = false;
    for (std::size_t e = 0; e < event_count; ++e) {
      const Transition& r = transition(static_cast<GroupState>(s), static_cast<Event>(e));
      if (r.accepted()) {
        EXPECT_GE(static_cast<std::size_t>(r.next), s);
        onward |= static_cast<std::size_t>(r.next) > s;
      }
    }
    EXPECT_EQ(onward, static_cast<GroupState>(s) != GroupState::gone);
  }
}

TEST(StateMachine, events_have_names_of_their_own) {
  std::set<std::string_view> names;
  for (std::size_t e = 0; e < event_count; ++e) {
    names.insert(name_of(static_cast<Event>(e)));
  }
  EXPECT_EQ(names.size(), event_count);
}

} // namespace
} // namespace tributary::group
