#include "endpoint/contexts/call_history.hpp"
#include "endpoint/contexts/context.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace tributary::test {
namespace {

using contexts::CallHistory;
using contexts::Context;
using contexts::cookie_of_child;
using contexts::IdRange;
using contexts::Lifetime;
using contexts::Parent;
using contexts::ParentIdentity;
using contexts::RangeSize;
using contexts::Request;

constexpr IdRange full_range{ReductionId{64}, 8};

TEST(Cookie, of_a_child_depends_on_its_parent_and_its_number_alone) {
  const ParentIdentity parent{Cookie{5}, 1};
  EXPECT_EQ(cookie_of_child(parent, 0), cookie_of_child(parent, 0));
  EXPECT_NE(cookie_of_child(parent, 0), cookie_of_child(parent, 1));
  EXPECT_NE(cookie_of_child(parent, 0), cookie_of_child({Cookie{6}, 1}, 0));
  EXPECT_NE(cookie_of_child(parent, 0), cookie_of_child({Cookie{5}, 2}, 0));
}

TEST(Cookie, of_a_hundred_thousand_children_are_hardly_ever_equal_and_never_zero) {
  std::set<Cookie> seen;
  for (std::uint32_t number = 0; number < 100'000; ++number) {
    const Cookie cookie = cookie_of_child({Cookie{0xC0FFEE}, 0}, number);
    EXPECT_NE(cookie.value, 0U);
    seen.insert(cookie);
  }
  EXPECT_GT(seen.size(), 99'990U); // 1.2 pairs of 2^32 are expected
}

TEST(Context, begins_with_a_sequence_that_hosts_may_use) {
  for (std::uint32_t cookie = 1; cookie < 5'000; ++cookie) {
    const Context context{.ids = full_range, .cookie = Cookie{cookie * 0x01000193U}};
    EXPECT_LT(context.first_sequence().value(), usable_sequences);
  }
}

TEST(Parent, counts_its_agreements_and_continues_where_the_last_one_ended) {
  Parent parent(contexts::NodeSet{1}, {Cookie{2}, 3}, 4);
  EXPECT_EQ(parent.next(RangeSize::full, true),
            (Request{contexts::NodeSet{1}, {Cookie{2}, 3}, 0, RangeSize::full, true, 4}));
  parent.learn(7, true);
  EXPECT_EQ(parent.next(RangeSize::half, false),
            (Request{contexts::NodeSet{1}, {Cookie{2}, 3}, 1, RangeSize::half, false, 7}));
}

TEST(Parent, that_found_nothing_looks_ever_less_often_until_it_does) {
  Parent parent(contexts::NodeSet{1}, {Cookie{2}, 3});
  std::vector<int> pauses;
  for (int search = 0; search < 9; ++search) {
    int pause = 0;
    while (!parent.looks()) {
      ++pause;
    }
    pauses.push_back(pause);
    parent.learn(0, false);
  }
  EXPECT_EQ(pauses, (std::vector{0, 0, 1, 3, 7, 15, 31, 63, 63}));
  parent.learn(0, true);
  EXPECT_TRUE(parent.looks());
  parent.learn(0, false);
  EXPECT_TRUE(parent.looks());
}

TEST(Lifetime, ends_when_it_is_freed_and_the_last_call_is_complete) {
  Lifetime one;
  EXPECT_TRUE(one.begin());
  EXPECT_TRUE(one.begin());
  EXPECT_FALSE(one.end());
  EXPECT_FALSE(one.free()) << "a call is in flight";
  EXPECT_FALSE(one.begin()) << "it was freed";
  EXPECT_TRUE(one.end());

  Lifetime idle;
  EXPECT_TRUE(idle.begin());
  EXPECT_FALSE(idle.end()) << "it was not freed";
  EXPECT_TRUE(idle.free());
}

TEST(CallHistory, of_short_calls_keeps_two_ids_or_four) {
  for (const auto& [pieces, kept] : {std::pair{1, 2}, std::pair{2, 2}, std::pair{4, 4}}) {
    CallHistory history(full_range, 8);
    EXPECT_FALSE(history.is_short()) << "nothing is known";
    for (std::uint64_t call = 1; call < CallHistory::calls_until_judged; ++call) {
      history.count(static_cast<std::uint64_t>(pieces));
      EXPECT_EQ(history.take_shrink(), 0) << "call " << call;
      EXPECT_TRUE(history.is_short());
    }
    history.count(1);
    EXPECT_EQ(history.take_shrink(), kept);
    EXPECT_EQ(history.take_shrink(), 0) << "once";
    EXPECT_EQ(history.ids(), kept);
  }
}

TEST(CallHistory, with_a_longer_call_keeps_its_range) {
  CallHistory history(full_range, 8);
  history.count(5);
  EXPECT_FALSE(history.is_short());
  for (int call = 0; call < 200; ++call) {
    history.count(1);
    EXPECT_EQ(history.take_shrink(), 0);
  }
}

TEST(CallHistory, of_a_half_or_of_single_ids_never_shrinks) {
  for (const IdRange& range :
       {IdRange{ReductionId{0}, 64}, IdRange{ReductionId{6}, 1}, IdRange{ReductionId{70}, 2}}) {
    CallHistory history(range, 8);
    for (int call = 0; call < 200; ++call) {
      history.count(1);
      EXPECT_EQ(history.take_shrink(), 0);
    }
  }
}

TEST(CallHistory, of_long_calls_asks_for_a_half_after_8_16_and_32_of_them) {
  CallHistory history(full_range, 8);
  std::vector<int> asked;
  for (int call = 1; call <= 40; ++call) {
    history.count(31); // less than four times eight
    EXPECT_FALSE(history.take_question());
    history.count(32);
    if (history.take_question()) {
      asked.push_back(call);
      EXPECT_FALSE(history.take_question()) << "once";
    }
  }
  EXPECT_EQ(asked, (std::vector{8, 16, 32}));
}

TEST(CallHistory, a_question_waits_until_it_can_be_asked) {
  CallHistory history(full_range, 8);
  for (int call = 1; call <= 10; ++call) { // the last ones do not block, and cannot ask
    history.count(32);
  }
  EXPECT_TRUE(history.take_question());
  EXPECT_FALSE(history.take_question());
}

TEST(CallHistory, calls_that_are_cut_are_long_whatever_the_range_is) {
  for (const IdRange& range : {full_range, IdRange{ReductionId{0}, 64}}) {
    CallHistory history(range, 8);
    std::vector<int> asked;
    for (int call = 1; call <= 20; ++call) {
      history.count(3, true);
      if (history.take_question()) {
        asked.push_back(call);
      }
    }
    EXPECT_EQ(asked, (std::vector{8, 16}));
  }
}

TEST(CallHistory, of_a_range_that_has_shrunk_is_long_with_fewer_pieces) {
  CallHistory history(full_range, 8);
  for (std::uint64_t call = 1; call <= CallHistory::calls_until_judged; ++call) {
    history.count(1);
  }
  EXPECT_EQ(history.take_shrink(), 2);
  for (int call = 1; call <= 8; ++call) {
    history.count(7);
  }
  EXPECT_FALSE(history.take_question());
  for (int call = 1; call <= 8; ++call) {
    EXPECT_FALSE(history.take_question());
    history.count(8);
  }
  EXPECT_TRUE(history.take_question());
}

TEST(CallHistory, of_a_half_asks_for_nothing) {
  CallHistory history({ReductionId{0}, 64}, 8);
  for (int call = 1; call <= 100; ++call) {
    history.count(10'000);
    EXPECT_FALSE(history.take_question());
  }
}

TEST(CallHistory, a_communicator_without_context_looks_again_before_ever_fewer_calls) {
  int looks = 0;
  for (std::uint64_t call = 1; call <= 1'000; ++call) {
    looks += contexts::looks_again_before(call) ? 1 : 0;
  }
  EXPECT_EQ(looks, 8);
}

} // namespace
} // namespace tributary::test
