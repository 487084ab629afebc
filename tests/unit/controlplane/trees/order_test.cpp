#include "controlplane/trees/order.hpp"

#include "tests/unit/include/wire/seed.hpp"
#include "trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace tributary::trees {
namespace {

using Parents = std::map<std::uint32_t, std::uint32_t>; // the root is its own parent

std::uint32_t depth(const Parents& parents, std::uint32_t at) {
  std::uint32_t depth = 0;
  for (; parents.at(at) != at; at = parents.at(at)) {
    ++depth;
  }
  return depth;
}

std::vector<HeldPart> held(const Parents& parents) {
  std::vector<HeldPart> parts;
  for (const auto& [at, parent] : parents) {
    parts.push_back(
        {.at = SwitchId{at},
         .up = at == parent ? std::vector<SwitchId>{} : std::vector<SwitchId>{SwitchId{parent}},
         .depth = depth(parents, at)});
  }
  return parts;
}

std::vector<WantedPart> wanted(const Parents& parents, const Parents& old) {
  std::vector<WantedPart> parts;
  for (const auto& [at, parent] : parents) {
    const auto before = old.find(at);
    parts.push_back({.at = SwitchId{at},
                     .up = at == parent ? std::nullopt : std::optional(SwitchId{parent}),
                     .depth = depth(parents, at),
                     .changes = before == old.end() || before->second != parent});
  }
  return parts;
}

Order order_of(const Parents& from, const Parents& to) {
  const auto order = order_moves(held(from), wanted(to, from));
  EXPECT_TRUE(order.has_value());
  return order.value_or(Order{});
}

unsigned stage_of(const Order& order, std::uint32_t at, bool removes = false) {
  for (const Move& move : order.moves) {
    if (move.at == SwitchId{at} && move.removes == removes) {
      return move.stage;
    }
  }
  ADD_FAILURE() << "switch " << at << " has no move";
  return 0;
}

/// Whether following the pointers loops, found by following them.
bool runs_in_circle(const Parents& pointers) {
  for (const auto& [start, ignored] : pointers) {
    std::uint32_t at = start;
    for (std::size_t hops = 0; pointers.contains(at) && pointers.at(at) != at; ++hops) {
      if (hops > pointers.size()) {
        return true;
      }
      at = pointers.at(at);
    }
  }
  return false;
}

/// Calls `visit` with every state the fabric may be in while the moves are made: after each stage,
/// and within a stage with each subset of its moves.
void visit_states(const Parents& from, const Parents& to, const Order& order,
                  const std::function<void(const Parents&)>& visit) {
  Parents current = from;
  const auto make = [&](Parents& state, const Move& move) {
    if (move.removes) {
      state.erase(move.at.value);
    } else {
      state[move.at.value] = to.at(move.at.value);
    }
  };
  visit(current);
  for (auto first = order.moves.begin(); first != order.moves.end();) {
    const auto last = std::find_if(first, order.moves.end(),
                                   [&](const Move& m) { return m.stage != first->stage; });
    const auto count = static_cast<unsigned>(last - first);
    for (unsigned subset = 0; subset < 1U << count; ++subset) {
      Parents state = current;
      for (unsigned i = 0; i < count; ++i) {
        if ((subset >> i & 1U) != 0) {
          make(state, first[i]);
        }
      }
      visit(state);
    }
    for (; first != last; ++first) {
      make(current, *first);
    }
  }
  EXPECT_EQ(current, to);
}

bool some_state_runs_in_circle(const Parents& from, const Parents& to, const Order& order) {
  bool circle = false;
  visit_states(from, to, order, [&](const Parents& state) { circle |= runs_in_circle(state); });
  return circle;
}

/// All pointers of both.
Pointers together(const Parents& from, const Parents& to) {
  Pointers all;
  for (const Parents* parents : {&from, &to}) {
    for (const auto& [at, parent] : *parents) {
      if (at != parent) {
        all[SwitchId{at}].push_back(SwitchId{parent});
      }
    }
  }
  return all;
}

/// Make before break as order.hpp describes it, implemented again.
Order make_before_break(const Parents& from, const Parents& to) {
  std::map<std::tuple<int, int, std::uint32_t>, bool> moves;
  for (const auto& [at, parent] : to) {
    const int d = static_cast<int>(depth(to, at));
    if (!from.contains(at) || from.at(at) != parent) {
      moves[{d == 0 ? 3 : from.contains(at) ? 2 : 1, -d, at}] = false;
    }
  }
  for (const auto& [at, parent] : from) {
    if (!to.contains(at)) {
      moves[{4, static_cast<int>(depth(from, at)), at}] = true;
    }
  }
  Order order;
  std::optional<std::pair<int, int>> last;
  unsigned stage = 0;
  for (const auto& [key, removes] : moves) {
    const std::pair place(std::get<0>(key), std::get<1>(key));
    stage += last && *last != place;
    last = place;
    order.moves.push_back({SwitchId{std::get<2>(key)}, removes, stage});
  }
  return order;
}

TEST(Order, InstallsFromTheLeavesUpWithTheRootLast) {
  const Order order = order_of({}, {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 0}});
  EXPECT_FALSE(order.remove_first);
  EXPECT_EQ(stage_of(order, 2), 0U);
  EXPECT_EQ(stage_of(order, 3), 0U);
  EXPECT_EQ(stage_of(order, 1), 1U);
  EXPECT_EQ(stage_of(order, 4), 1U);
  EXPECT_EQ(stage_of(order, 0), 2U);
}

TEST(Order, RemovesFromTheRootDown) {
  const Order order = order_of({{0, 0}, {1, 0}, {2, 1}}, {});
  EXPECT_EQ(stage_of(order, 0, true), 0U);
  EXPECT_EQ(stage_of(order, 1, true), 1U);
  EXPECT_EQ(stage_of(order, 2, true), 2U);
}

TEST(Order, ChangesTheNewBeforeTheOldIsTakenAway) {
  // 2 moves from below 1 to below 3; 1 is left, 3 is new.
  const Order order = order_of({{0, 0}, {1, 0}, {2, 1}}, {{0, 0}, {3, 0}, {2, 3}});
  EXPECT_FALSE(order.remove_first);
  ASSERT_EQ(order.moves.size(), 3U) << "the root's entry is the same";
  EXPECT_EQ(stage_of(order, 3), 0U);
  EXPECT_EQ(stage_of(order, 2), 1U);
  EXPECT_EQ(stage_of(order, 1, true), 2U);
}

TEST(Order, ARootSwitchThatIsNewIsStillTheLastToBeSet) {
  const Order order = order_of({{0, 0}, {1, 0}}, {{2, 2}, {1, 2}});
  EXPECT_LT(stage_of(order, 1), stage_of(order, 2));
  EXPECT_LT(stage_of(order, 2), stage_of(order, 0, true));
}

TEST(Order, TwoSwitchesThatChangePlacesAreRemovedFirst) {
  const Order order = order_of({{0, 0}, {1, 0}, {2, 1}}, {{0, 0}, {2, 0}, {1, 2}});
  EXPECT_TRUE(order.remove_first);
  EXPECT_LT(stage_of(order, 1, true), stage_of(order, 2, true));
  EXPECT_LT(stage_of(order, 2, true), stage_of(order, 1));
  EXPECT_LT(stage_of(order, 1), stage_of(order, 2)) << "deepest first";
}

TEST(Order, ALoopOfOldAndNewPointersThatNoStageCanFormIsNoReasonToRemoveFirst) {
  // New 1 -> 2, old 2 -> 3, new 3 -> 4, old 4 -> 1. But 2 has left 3 before 3 turns to 4.
  const Parents from{{0, 0}, {1, 0}, {2, 3}, {3, 0}, {4, 1}, {5, 0}, {6, 5}};
  const Parents to{{0, 0}, {1, 2}, {2, 6}, {3, 4}, {4, 0}, {5, 0}, {6, 5}};
  EXPECT_TRUE(has_loop(together(from, to)));
  const Order order = order_of(from, to);
  EXPECT_FALSE(order.remove_first);
  EXPECT_FALSE(some_state_runs_in_circle(from, to, order));
}

TEST(Order, WhatCannotBeToldStaysAndIsCountedIn) {
  std::vector<HeldPart> lost = held({{1, 2}, {2, 2}});
  lost.erase(lost.begin() + 1); // only switch 1, which points to 2
  lost.front().reachable = false;
  const Parents to{{1, 1}, {2, 1}};
  auto parts = wanted(to, {});
  parts.front().changes = false; // 1 cannot be notified that it is the root now
  EXPECT_FALSE(order_moves(lost, parts).has_value()) << "2 -> 1 -> 2";
}

TEST(Order, PartsThatFormALoopAreRefused) {
  const std::vector<WantedPart> parts{{.at = SwitchId{0}, .up = SwitchId{1}, .depth = 0},
                                      {.at = SwitchId{1}, .up = SwitchId{0}, .depth = 1}};
  EXPECT_FALSE(order_moves({}, parts).has_value());
}

TEST(Order, RandomChangesNeverRunInCirclesAndRemoveFirstOnlyWhenTheyWouldHave) {
  test::Random random(test::seed());
  unsigned removed_first = 0;
  unsigned removed_by_the_rough_check = 0;
  constexpr unsigned pairs = 4000;
  for (unsigned i = 0; i < pairs; ++i) {
    const unsigned switches = 2 + static_cast<unsigned>(random() % 6);
    const Parents from = test::random_parents(random, switches);
    const Parents to = test::random_parents(random, switches);
    const Order order = order_of(from, to);
    EXPECT_FALSE(some_state_runs_in_circle(from, to, order));
    const bool would_have = some_state_runs_in_circle(from, to, make_before_break(from, to));
    EXPECT_EQ(order.remove_first, would_have);
    removed_first += order.remove_first;

    removed_by_the_rough_check += has_loop(together(from, to));
    ASSERT_FALSE(HasFailure()) << "pair " << i;
  }
  EXPECT_GT(removed_first, 0U);
  EXPECT_LT(removed_first, pairs);
  EXPECT_LE(removed_first, removed_by_the_rough_check);
  std::cout << removed_first << " of " << pairs << " changes remove first; old and new pointers "
            << "together have a loop in " << removed_by_the_rough_check << '\n';
}

} // namespace
} // namespace tributary::trees
