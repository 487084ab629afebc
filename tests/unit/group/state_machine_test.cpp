// The state machine against a second table of all pairs, written from docs/protocol/groups.md.
#include "controlplane/group/state_machine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <sstream>
#include <string>

namespace tributary::group {
namespace {

using store::GroupState;

// R receiving_join_req, C computing_routes, Y ready, L receiving_leave_req, D destroying, G gone;
// . ignored; 404 and 409 refused.
constexpr const char* expected = R"(
                      R    C    Y    L    D    G
  join                R   409  409  409  409  404
  join_again          R    C    Y    L   409  404
  join_after_leaving  R   409  409  409  409  404
  completed           C    .    .    .    .    .
  routes_ready        .    C    Y    L    .    .
  routes_failed       .    D    Y    L    .    .
  installed           .    Y    Y    L    .    .
  install_failed      .    D    Y    L    .    .
  renew               R    C    Y    L   409  404
  renew_after_leaving 409 409  409  409  409  404
  leave               R    C    L    L    D   404
  leave_again         .    .    .    .    .   404
  lease_ended         R    C    L    L    .    .
  emptied             D    D    D    D    .    .
  time_limit          D    .    .    D    .    .
  destroy             D    D    D    D    D   404
  removed             .    .    .    .    G    .
)";

constexpr std::string_view letters = "RCYLDG";

std::string written(const Reaction& r) {
  switch (r.kind) {
  case Reaction::Kind::ignored: return ".";
  case Reaction::Kind::refused: return std::to_string(r.status);
  case Reaction::Kind::accepted: return std::string(1, letters[static_cast<std::size_t>(r.next)]);
  }
  return "?";
}

TEST(StateMachine, every_pair_of_state_and_event_does_what_the_page_says) {
  std::istringstream text(expected);
  std::string word;
  for (const char letter : letters) {
    text >> word;
    ASSERT_EQ(word, std::string(1, letter));
  }
  std::size_t pairs = 0;
  for (std::size_t e = 0; e < event_count; ++e) {
    const auto event = static_cast<Event>(e);
    text >> word;
    ASSERT_EQ(word, name_of(event));
    for (std::size_t s = 0; s < state_count; ++s) {
      const auto state = static_cast<GroupState>(s);
      text >> word;
      EXPECT_EQ(written(reaction(state, event)), word)
          << name_of(event) << " in " << store::name_of(state);
      ++pairs;
    }
  }
  EXPECT_EQ(pairs, 17U * 6U);
  EXPECT_FALSE(text >> word) << "a row too many: " << word;
}

TEST(StateMachine, every_refusal_has_words_and_a_status) {
  for (std::size_t e = 0; e < event_count; ++e) {
    for (std::size_t s = 0; s < state_count; ++s) {
      const Reaction& r = reaction(static_cast<GroupState>(s), static_cast<Event>(e));
      EXPECT_EQ(r.kind == Reaction::Kind::refused, !r.message.empty());
      EXPECT_EQ(r.kind == Reaction::Kind::refused, r.status >= 400);
    }
  }
}

TEST(StateMachine, nothing_leads_back_and_everything_leads_to_gone) {
  for (std::size_t s = 0; s < state_count; ++s) {
    bool onward = false;
    for (std::size_t e = 0; e < event_count; ++e) {
      const Reaction& r = reaction(static_cast<GroupState>(s), static_cast<Event>(e));
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
