#include "endpoint/contexts/agreement.hpp"
#include "endpoint/contexts/call_history.hpp"
#include "tests/unit/endpoint/contexts/nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

namespace tributary::test {
namespace {

using contexts::Agreement;
using contexts::Context;
using contexts::IdRange;
using contexts::NodeSet;
using contexts::NodeTable;
using contexts::OfferWords;
using contexts::Outcome;
using contexts::Parent;
using contexts::ProcessId;
using contexts::RangeSize;
using contexts::Request;
using contexts::Result;

IdRange ids(unsigned first, unsigned count) {
  return {ReductionId{static_cast<std::uint8_t>(first)}, static_cast<std::uint8_t>(count)};
}

Parent another_parent(std::uint32_t cookie) { return {some_nodes, {Cookie{cookie}, 0}}; }

// ---- ranges of one tree, and the next one ----

TEST(Agreement, the_first_one_of_a_set_of_nodes_asks_for_a_tree) {
  Nodes nodes(4);
  const Outcome outcome = nodes.agree();
  EXPECT_EQ(outcome.result, Result::used_up);
  EXPECT_EQ(outcome.wanted.size(), 1U);
  EXPECT_EQ(outcome.reductions, 2U);
  EXPECT_EQ(outcome.page, 0);
}

TEST(Agreement, a_dup_takes_the_first_common_range_in_one_reduction) {
  Nodes nodes(4);
  static_cast<void>(nodes.agree());
  EXPECT_EQ(nodes.context().ids, ids(0, 64));
  for (unsigned first = 64; first < 104; first += 8) {
    const Outcome outcome = nodes.agree();
    ASSERT_TRUE(outcome.context);
    EXPECT_EQ(outcome.context->ids, ids(first, 8));
    EXPECT_EQ(outcome.reductions, 1U);
    EXPECT_TRUE(outcome.wanted.empty());
  }
}

TEST(Agreement, the_one_that_takes_the_last_of_three_quarters_asks_for_the_next_tree) {
  Nodes nodes(3);
  static_cast<void>(nodes.agree());
  for (int i = 0; i < 6; ++i) {
    static_cast<void>(nodes.context());
  }
  Together last(nodes.tables, Nodes::process, nodes.parent.next(RangeSize::full, false));
  const Outcome outcome = last.run(); // its tree is not there yet
  ASSERT_TRUE(outcome.context);
  EXPECT_EQ(outcome.context->ids, ids(104, 8));
  EXPECT_EQ(outcome.reductions, 2U);
  ASSERT_EQ(outcome.wanted.size(), 1U);
  EXPECT_EQ(outcome.wanted[0].entry, 1);
  // The reserve serves until it is there, in two reductions each, and nothing else is asked for.
  for (const unsigned first : {112U, 120U}) {
    const Outcome next = nodes.agree();
    ASSERT_TRUE(next.context);
    EXPECT_EQ(next.context->ids, ids(first, 8));
    EXPECT_EQ(next.reductions, 2U);
    EXPECT_TRUE(next.wanted.empty());
  }
  EXPECT_EQ(nodes.agree().result, Result::used_up);
  nodes.ready(outcome.wanted[0].name);
  const Outcome next = nodes.agree();
  ASSERT_TRUE(next.context);
  EXPECT_EQ(next.context->ids, ids(0, 64));
  EXPECT_EQ(next.context->tree, outcome.wanted[0].name);
}

TEST(Agreement, trees_of_eight_ids_serve_five_contexts) {
  Nodes nodes(2, 8);
  static_cast<void>(nodes.agree());
  std::vector<IdRange> given;
  for (int i = 0; i < 5; ++i) { // the tree that the fourth asks for does not come
    const Request request = nodes.parent.next(RangeSize::full, false);
    given.push_back(Together(nodes.tables, Nodes::process, request).run().context.value().ids);
  }
  EXPECT_EQ(given, (std::vector{ids(0, 4), ids(4, 1), ids(5, 1), ids(6, 1), ids(7, 1)}));
}

TEST(Agreement, a_tree_that_not_all_nodes_have_is_not_given_out) {
  Nodes nodes(3);
  Together first(nodes.tables, Nodes::process, nodes.parent.next(RangeSize::full, false));
  const Outcome outcome = first.run();
  ASSERT_EQ(outcome.wanted.size(), 1U);
  const contexts::TreeFacts facts{.tree = TreeNumber{1}, .slots = 128};
  EXPECT_TRUE(nodes.tables[0]->ready(outcome.wanted[0].name, facts));
  EXPECT_TRUE(nodes.tables[1]->ready(outcome.wanted[0].name, facts));
  EXPECT_EQ(nodes.agree().result, Result::used_up);
  EXPECT_TRUE(nodes.tables[2]->ready(outcome.wanted[0].name, facts));
  EXPECT_TRUE(nodes.agree().context);
}

TEST(Agreement, a_range_is_given_out_again_when_all_nodes_are_done_with_it) {
  Nodes nodes(3);
  static_cast<void>(nodes.agree());
  const Context first = nodes.context();
  EXPECT_TRUE(nodes.tables[0]->release(Nodes::process, first));
  EXPECT_TRUE(nodes.tables[1]->release(Nodes::process, first));
  EXPECT_EQ(nodes.context().ids, ids(64, 8));
  EXPECT_TRUE(nodes.tables[2]->release(Nodes::process, first));
  const Context again = nodes.context();
  EXPECT_EQ(again.ids, first.ids);
  EXPECT_NE(again.cookie, first.cookie);
}

TEST(Agreement, short_calls_get_four_or_two_ids_where_no_full_range_is_left) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  std::vector<Context> all;
  for (int i = 0; i < 9; ++i) { // the half is the last of the eager parts; then the reserve
    all.push_back(*Together(nodes.tables, Nodes::process, nodes.parent.next(RangeSize::full, true))
                       .run()
                       .context);
  }
  EXPECT_EQ(all[6].ids, ids(0, 64));
  EXPECT_EQ(all[8].ids, ids(120, 8));
  for (const auto& table : nodes.tables) {
    Context shrunk = all[0];
    EXPECT_TRUE(table->shrink(Nodes::process, shrunk, 2));
  }
  const auto agree = [&](bool short_calls) {
    return Together(nodes.tables, Nodes::process, nodes.parent.next(RangeSize::full, short_calls))
        .run();
  };
  EXPECT_EQ(agree(false).result, Result::used_up);
  EXPECT_EQ(agree(true).context->ids, ids(68, 4));
  EXPECT_EQ(agree(true).context->ids, ids(66, 2));
  EXPECT_EQ(agree(true).result, Result::used_up);
}

TEST(Agreement, a_tree_of_128_serves_33_contexts_of_short_calls) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  std::set<std::pair<unsigned, unsigned>> given;
  for (int i = 0; i < 40; ++i) {
    auto outcome =
        Together(nodes.tables, Nodes::process, nodes.parent.next(RangeSize::full, true)).run();
    if (!outcome.context) {
      break;
    }
    if (outcome.context->ids.count > 2 && outcome.context->ids.first.value != 0) {
      Context here = *outcome.context;
      for (const auto& table : nodes.tables) {
        here = *outcome.context;
        EXPECT_TRUE(table->shrink(Nodes::process, here, 2));
      }
      outcome.context = here;
    }
    given.emplace(outcome.context->ids.first.value, outcome.context->ids.count);
  }
  EXPECT_EQ(given.size(), 33U);
}

TEST(Agreement, gives_out_what_short_calls_leave_when_the_last_node_has_made_them) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  const auto agree = [&] {
    return Together(nodes.tables, Nodes::process, nodes.parent.next(RangeSize::full, true)).run();
  };
  struct AtNode {
    Context context;
    contexts::CallHistory history;
  };
  std::vector<std::array<AtNode, 2>> all;
  for (auto outcome = agree(); outcome.context; outcome = agree()) {
    const AtNode made{*outcome.context, {outcome.context->ids, 8}};
    all.push_back({made, made});
  }
  ASSERT_EQ(all.size(), 9U);
  // Each node makes its calls at a pace of its own, and knows nothing of the others'.
  const auto call = [&](std::size_t node, std::uint64_t times) {
    for (std::array<AtNode, 2>& one : all) {
      auto& [context, history] = one[node];
      for (std::uint64_t i = 0; i < times; ++i) {
        history.count(1);
        if (const auto kept = history.take_shrink()) {
          EXPECT_TRUE(nodes.tables[node]->shrink(Nodes::process, context, kept));
        }
      }
    }
  };
  call(0, contexts::CallHistory::calls_until_judged);
  EXPECT_EQ(agree().result, Result::used_up);
  call(1, contexts::CallHistory::calls_until_judged - 1);
  EXPECT_EQ(agree().result, Result::used_up);
  call(1, 1);
  const Outcome outcome = agree();
  ASSERT_TRUE(outcome.context);
  EXPECT_EQ(outcome.context->ids.count, 4);
  for (const std::array<AtNode, 2>& one : all) {
    EXPECT_EQ(one[0].context, one[1].context);
    EXPECT_FALSE(outcome.context->ids.overlaps(one[0].context.ids));
  }
}

TEST(Agreement, a_heavy_context_gets_a_half_or_a_tree_is_asked_for) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  const Context first = nodes.context();
  static_cast<void>(nodes.context());
  const Outcome outcome = nodes.agree(RangeSize::half); // six eager ranges are free: not a half
  EXPECT_EQ(outcome.result, Result::used_up);
  ASSERT_EQ(outcome.wanted.size(), 1U);
  const Outcome next = nodes.agree(RangeSize::half);
  ASSERT_TRUE(next.context);
  EXPECT_EQ(next.context->ids, ids(0, 64));
  EXPECT_NE(next.context->tree, first.tree);
}

TEST(Agreement, finds_what_is_free_on_any_page_and_begins_there_the_next_time) {
  Nodes nodes(2, 8);
  std::vector<Context> all;
  std::set<contexts::TreeName> trees;
  while (trees.size() < 30) {
    all.push_back(nodes.context());
    trees.insert(all.back().tree);
  }
  EXPECT_EQ(nodes.parent.page(), 2);
  // Only a tree of the first page has something left.
  while (nodes.agree().context) {
  }
  const auto before = nodes.parent.page();
  EXPECT_GE(before, 2);
  nodes.release(all[3]);
  Together search(nodes.tables, Nodes::process, nodes.parent.next(RangeSize::full, false));
  const Outcome outcome = search.run();
  ASSERT_TRUE(outcome.context);
  EXPECT_EQ(outcome.context->ids, all[3].ids);
  EXPECT_EQ(outcome.page, 0);
  EXPECT_GT(outcome.reductions, 2U);
}

TEST(Agreement, asks_for_more_trees_at_once_the_more_there_are) {
  Nodes nodes(2, 8);
  std::size_t most = 0;
  for (int i = 0; i < 200; ++i) {
    most = std::max(most, nodes.agree().wanted.size());
  }
  EXPECT_EQ(most, 3U); // a page of 12 entries, all used
  EXPECT_LE(nodes.tables[0]->trees(), 200U / 5 + 4);
}

TEST(Agreement, a_tree_is_not_asked_for_again_while_one_is_awaited_or_was_refused) {
  Nodes nodes(2);
  const auto agree = [&] {
    return Together(nodes.tables, Nodes::process, nodes.parent.next(RangeSize::full, false)).run();
  };
  const Outcome first = agree();
  ASSERT_EQ(first.wanted.size(), 1U);
  EXPECT_TRUE(agree().wanted.empty());
  EXPECT_TRUE(nodes.tables[0]->refused(first.wanted[0].name));
  EXPECT_TRUE(agree().wanted.empty()) << "the other node still waits for it";
  EXPECT_TRUE(nodes.tables[1]->refused(first.wanted[0].name));
  EXPECT_TRUE(agree().wanted.empty()) << "it was refused a moment ago";
  const Outcome again = agree();
  ASSERT_EQ(again.wanted.size(), 1U);
  EXPECT_NE(again.wanted[0].name, first.wanted[0].name);
}

TEST(Agreement, the_entry_of_a_tree_that_ended_is_used_again_when_it_is_vacant_everywhere) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  const Context context = nodes.context();
  EXPECT_TRUE(nodes.tables[0]->ended(context.tree));
  Outcome outcome = nodes.agree();
  EXPECT_EQ(outcome.result, Result::used_up) << "it ended at one node";
  ASSERT_EQ(outcome.wanted.size(), 1U);
  EXPECT_EQ(outcome.wanted[0].entry, 1);
  EXPECT_TRUE(nodes.tables[1]->ended(context.tree));
  nodes.release(context);
  EXPECT_TRUE(nodes.tables[1]->ended(outcome.wanted[0].name));
  EXPECT_TRUE(nodes.tables[0]->ended(outcome.wanted[0].name));
  outcome = nodes.agree();
  ASSERT_EQ(outcome.wanted.size(), 1U);
  EXPECT_EQ(outcome.wanted[0].entry, 0);
}

// ---- several at once ----

TEST(Agreement, one_whose_member_is_late_does_not_keep_another_from_the_reserve) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  // A thread of node 0 is in a dup; that of node 1 makes other dups first.
  Parent late = another_parent(1);
  const Request request = late.next(RangeSize::full, false);
  Agreement at_0(ProcessId{8}, request);
  Agreement at_1(ProcessId{8}, request);
  const OfferWords words_0 = at_0.begin(*nodes.tables[0]);
  const Outcome meanwhile = nodes.agree();
  ASSERT_TRUE(meanwhile.context);
  EXPECT_EQ(meanwhile.context->ids, ids(112, 8)) << "of the reserve";
  const OfferWords words_1 = at_1.begin(*nodes.tables[1]);
  const OfferWords result = band({words_0, words_1});
  EXPECT_EQ(at_0.reduced(*nodes.tables[0], result), std::nullopt);
  EXPECT_EQ(at_1.reduced(*nodes.tables[1], result), std::nullopt);
  ASSERT_TRUE(at_0.outcome().context);
  EXPECT_EQ(at_0.outcome().context, at_1.outcome().context);
  EXPECT_EQ(at_0.outcome().context->ids, ids(0, 64));
}

TEST(Agreement, two_that_own_a_node_each_both_end_and_the_lower_one_first) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  Parent low = another_parent(1);
  Parent high = another_parent(2);
  const Request request_low = low.next(RangeSize::full, false);
  const Request request_high = high.next(RangeSize::full, false);
  std::vector<Agreement> lows(2, Agreement(ProcessId{1}, request_low));
  std::vector<Agreement> highs(2, Agreement(ProcessId{2}, request_high));
  std::vector<OfferWords> low_words(2);
  std::vector<OfferWords> high_words(2);
  // Crosswise: each comes first at one node, in each reduction.
  low_words[0] = lows[0].begin(*nodes.tables[0]);
  high_words[1] = highs[1].begin(*nodes.tables[1]);
  high_words[0] = highs[0].begin(*nodes.tables[0]);
  low_words[1] = lows[1].begin(*nodes.tables[1]);
  std::vector<char> ended;
  for (int round = 0; round < 20 && ended.size() < 2; ++round) {
    const auto take = [&](std::vector<Agreement>& all, std::vector<OfferWords>& words,
                          const OfferWords& result, std::size_t node) {
      if (const auto next = all[node].reduced(*nodes.tables[node], result)) {
        words[node] = *next;
      }
    };
    const OfferWords low_result = band(low_words);
    const OfferWords high_result = band(high_words);
    take(lows, low_words, low_result, 0);
    take(highs, high_words, high_result, 1);
    take(highs, high_words, high_result, 0);
    take(lows, low_words, low_result, 1);
    for (const auto& [name, all] : {std::pair{'l', &lows}, std::pair{'h', &highs}}) {
      if ((*all)[0].is_over() && std::find(ended.begin(), ended.end(), name) == ended.end()) {
        ended.push_back(name);
      }
    }
  }
  EXPECT_EQ(ended, (std::vector{'l', 'h'}));
  ASSERT_TRUE(lows[0].outcome().context && highs[0].outcome().context);
  EXPECT_EQ(lows[0].outcome().context, lows[1].outcome().context);
  EXPECT_EQ(highs[0].outcome().context, highs[1].outcome().context);
  EXPECT_FALSE(lows[0].outcome().context->ids.overlaps(highs[0].outcome().context->ids));
  EXPECT_TRUE(nodes.tables[0]->is_quiet() && nodes.tables[1]->is_quiet());
}

TEST(Agreement, what_a_dead_process_owned_is_owned_by_the_next_one) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  Parent dead = another_parent(1);
  Agreement dies(ProcessId{5}, dead.next(RangeSize::full, false));
  static_cast<void>(dies.begin(*nodes.tables[0]));
  EXPECT_EQ(nodes.agree().reductions, 2U) << "the eager parts of node 0 are owned";
  nodes.tables[0]->process_ended(ProcessId{5});
  const Outcome outcome = nodes.agree();
  EXPECT_EQ(outcome.reductions, 1U);
  EXPECT_TRUE(outcome.context);
}

TEST(Agreement, a_member_that_dies_before_the_first_call_holds_up_no_ids_for_ever) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  Parent parent = another_parent(1);
  const Request request = parent.next(RangeSize::full, false);
  Agreement at_0(ProcessId{5}, request);
  Agreement at_1(ProcessId{6}, request);
  const OfferWords result =
      band({at_0.begin(*nodes.tables[0]), at_1.begin(*nodes.tables[1])}); // then 6 dies
  nodes.tables[1]->process_ended(ProcessId{6});
  EXPECT_EQ(at_0.reduced(*nodes.tables[0], result), std::nullopt);
  const Context context = at_0.outcome().context.value();
  EXPECT_FALSE(nodes.context().ids.overlaps(context.ids)) << "the survivor holds it";
  EXPECT_TRUE(nodes.tables[0]->release(ProcessId{5}, context));
  EXPECT_EQ(nodes.context().ids, context.ids);
}

TEST(Agreement, one_that_is_abandoned_owns_nothing_any_more) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  Parent parent = another_parent(1);
  Agreement one(ProcessId{5}, parent.next(RangeSize::full, false));
  static_cast<void>(one.begin(*nodes.tables[0]));
  EXPECT_FALSE(nodes.tables[0]->is_quiet());
  one.abandon(*nodes.tables[0]);
  EXPECT_EQ(one.outcome().result, Result::abandoned);
  EXPECT_TRUE(nodes.tables[0]->is_quiet());
  EXPECT_EQ(one.reduced(*nodes.tables[0], OfferWords{}), std::nullopt);
  EXPECT_EQ(one.outcome().result, Result::abandoned);
}

TEST(Agreement, ends_where_another_one_keeps_the_reserve) {
  Nodes nodes(1);
  static_cast<void>(nodes.agree());
  static_cast<void>(nodes.context());
  const auto pool = nodes.tables[0]->open(some_nodes);
  ASSERT_TRUE(nodes.tables[0]->take_eager(*pool, {ProcessId{9}, {Cookie{1}, 1}}));
  ASSERT_TRUE(nodes.tables[0]->take_reserve(*pool, {ProcessId{9}, {Cookie{1}, 1}}));
  const Outcome outcome = nodes.agree();
  EXPECT_EQ(outcome.result, Result::unowned);
  EXPECT_EQ(outcome.reductions, 1 + Agreement::most_unowned);
}

// ---- bad input ----

TEST(Agreement, members_with_different_parents_numbers_sizes_or_nodes_all_learn_it) {
  const Request base{some_nodes, {Cookie{1}, 0}, 4, RangeSize::full, false, 0};
  std::vector<Request> others(7, base);
  others[0].parent.cookie = Cookie{2};
  others[1].parent.tie = 1;
  others[2].number = 5;
  others[3].size = RangeSize::half;
  others[4].short_calls = true;
  others[5].nodes = NodeSet{0xA12};
  others[6].page = 1;
  for (const Request& other : others) {
    Nodes nodes(2);
    static_cast<void>(nodes.agree());
    Agreement at_0(ProcessId{5}, base);
    Agreement at_1(ProcessId{5}, other);
    const OfferWords result = band({at_0.begin(*nodes.tables[0]), at_1.begin(*nodes.tables[1])});
    EXPECT_EQ(at_0.reduced(*nodes.tables[0], result), std::nullopt);
    EXPECT_EQ(at_1.reduced(*nodes.tables[1], result), std::nullopt);
    EXPECT_EQ(at_0.outcome().result, Result::differs);
    EXPECT_EQ(at_1.outcome().result, Result::differs);
    EXPECT_TRUE(nodes.tables[0]->is_quiet() && nodes.tables[1]->is_quiet());
    EXPECT_EQ(nodes.tables[0]->contexts(), 0U);
  }
}

TEST(Agreement, a_result_with_ids_that_were_not_offered_here_is_damaged) {
  Nodes nodes(1);
  static_cast<void>(nodes.agree());
  const Context context = nodes.context();
  Agreement one(ProcessId{5}, another_parent(1).next(RangeSize::full, false));
  OfferWords result = one.begin(*nodes.tables[0]);
  result[1] |= 1; // the half, which is taken
  EXPECT_EQ(one.reduced(*nodes.tables[0], result), std::nullopt);
  EXPECT_EQ(one.outcome().result, Result::damaged);
  EXPECT_EQ(nodes.tables[0]->contexts(), 1U);
  EXPECT_FALSE(nodes.tables[0]->is_over(context));
}

TEST(Agreement, no_result_makes_a_node_give_ids_that_it_has_given) {
  // Every result that a hostile member can make of an offer, bit by bit.
  for (std::size_t bit = 0; bit < 256; ++bit) {
    Nodes nodes(1);
    static_cast<void>(nodes.agree());
    for (int i = 0; i < 4; ++i) {
      static_cast<void>(nodes.context());
    }
    Agreement one(ProcessId{5}, another_parent(1).next(RangeSize::full, true));
    OfferWords result = one.begin(*nodes.tables[0]);
    for (int steps = 0; steps < 4; ++steps) {
      result[bit / 64] ^= std::uint64_t{1} << bit % 64;
      const auto next = one.reduced(*nodes.tables[0], result);
      if (!next) {
        break;
      }
      result = *next;
    }
    contexts::PartMask seen = 0;
    nodes.tables[0]->for_each_use([&](const contexts::Tree& tree, const contexts::Use& use) {
      if (tree.entry == 0) {
        EXPECT_EQ(seen & use.parts, 0U) << "bit " << bit;
        seen |= use.parts;
      }
    });
  }
}

TEST(Agreement, ends_also_where_a_member_always_says_that_there_is_another_page) {
  constexpr std::uint64_t nothing_beyond = std::uint64_t{1} << 62U;
  Nodes nodes(1);
  static_cast<void>(nodes.agree());
  while (nodes.agree(nodes.parent.next(RangeSize::full, true)).wanted.empty()) {
  }
  for (const std::uint16_t page : std::initializer_list<std::uint16_t>{0, 3, 19, 20, 65'535}) {
    Agreement one(ProcessId{5}, {some_nodes, {Cookie{1}, 0}, page, RangeSize::half, false, page});
    Agreement other(ProcessId{5}, {some_nodes, {Cookie{2}, 0}, page, RangeSize::full, true, page});
    for (Agreement* const each : {&one, &other}) {
      auto next = std::optional(each->begin(*nodes.tables[0]));
      while (next) {
        OfferWords result = *next;
        result = {result[0] & ~nothing_beyond, 0, 0, 0};
        next = each->reduced(*nodes.tables[0], result);
      }
      EXPECT_EQ(each->outcome().result, Result::used_up);
      EXPECT_LE(each->outcome().reductions, 1U + 20 + 40);
      EXPECT_LT(each->outcome().page, 20);
    }
  }
  EXPECT_TRUE(nodes.tables[0]->is_quiet());
}

TEST(Agreement, a_node_whose_table_is_full_ends_it_for_all) {
  Nodes nodes(2);
  std::uint64_t set = 10;
  while (const auto pool = nodes.tables[1]->open(NodeSet{++set})) {
    ASSERT_TRUE(nodes.tables[1]->assign(*pool, 0, contexts::TreeName{set}, ProcessId{1}));
  }
  Together all(nodes.tables, Nodes::process, nodes.parent.next(RangeSize::full, true));
  const Outcome outcome = all.run();
  EXPECT_EQ(outcome.result, Result::used_up);
  EXPECT_TRUE(outcome.wanted.empty());
  EXPECT_FALSE(all.at(0).outcome().table_full);
  EXPECT_TRUE(all.at(1).outcome().table_full);
  EXPECT_LE(outcome.reductions, 3U);
}

// ---- very many ----

TEST(Agreement, a_hundred_thousand_dups_and_frees_take_one_reduction_each_and_one_tree) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  static_cast<void>(nodes.context());
  std::uint64_t reductions = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Outcome outcome = nodes.agree();
    ASSERT_TRUE(outcome.context) << "dup " << i;
    reductions += outcome.reductions;
    nodes.release(*outcome.context);
  }
  EXPECT_EQ(reductions, 100'000U);
  EXPECT_EQ(nodes.tables[0]->trees(), 1U);
  EXPECT_EQ(nodes.tables[0]->contexts(), 1U);
}

TEST(Agreement, a_hundred_thousand_dups_without_a_free_fill_the_table_and_end_soon_then) {
  Nodes nodes(2);
  std::uint64_t contexts = 0;
  std::uint32_t longest = 0;
  std::uint64_t reductions = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (nodes.parent.looks()) {
      const Outcome outcome = nodes.agree();
      contexts += outcome.context ? 1 : 0;
      longest = std::max(longest, outcome.reductions);
      reductions += outcome.reductions;
    }
  }
  EXPECT_EQ(contexts, 9U * NodeTable::entries_per_pool);
  EXPECT_EQ(nodes.tables[0]->trees(), NodeTable::entries_per_pool);
  // The eager one, and the pages of the pool.
  EXPECT_LE(longest, 2 + NodeTable::entries_per_pool / 12);
  EXPECT_LT(reductions, 100'000U);
}

} // namespace
} // namespace tributary::test
