#include "endpoint/launcher/control/gathering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tributary::launch::control {
namespace {

using messages::Fence;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Given {
  bool wants_id = true;
  bool local = false;
  std::uint64_t limit_ms = 0;
  int status = 0;
};

/// Three nodes with two ranks each.
class Gathering : public ::testing::Test {
protected:
  static Fence part(Fence::Kind kind, const std::string& name,
                    const std::vector<std::uint32_t>& ranks, const std::string& data = "",
                    const Given& given = {}) {
    Fence made;
    made.set_kind(kind);
    made.set_name(name);
    made.mutable_ranks()->Add(ranks.begin(), ranks.end());
    made.set_data(data);
    made.set_wants_id(given.wants_id && kind == Fence::CONSTRUCT);
    made.set_local(given.local);
    made.set_limit_ms(given.limit_ms);
    made.set_status(given.status);
    made.set_number(next_number++);
    return made;
  }
  Gatherings::Answers construct(NodeIndex node, const std::string& name,
                                const std::vector<std::uint32_t>& ranks,
                                const std::string& data = "", const Given& given = {}) {
    return gatherings.contribute(node, part(Fence::CONSTRUCT, name, ranks, data, given), now);
  }
  Gatherings::Answers destruct(NodeIndex node, const std::string& name,
                               const std::vector<std::uint32_t>& ranks) {
    return gatherings.contribute(node, part(Fence::DESTRUCT, name, ranks), now);
  }
  /// The status that all of them have, for these nodes.
  static int status_of(const Gatherings::Answers& answers, const std::set<NodeIndex>& nodes) {
    std::set<NodeIndex> found;
    std::set<int> statuses;
    for (const auto& answer : answers) {
      EXPECT_TRUE(found.insert(answer.node).second) << "one answer for each";
      statuses.insert(answer.fence.status());
    }
    EXPECT_EQ(found, nodes);
    EXPECT_EQ(statuses.size(), 1U);
    return statuses.empty() ? 1 : *statuses.begin();
  }

  inline static std::uint64_t next_number = 1;
  static constexpr GatheringLimits limits{
      .name_bytes = 20, .data_bytes = 100, .operations = 5, .all_bytes = 1000, .failed = 3};
  Gatherings gatherings{{0, 0, 1, 1, 2, 2}, limits};
  TimeNs now{ns_per_second};
};

TEST_F(Gathering, AGroupIsThereWhenAllNodesOfItsMembersAreIn) {
  EXPECT_THAT(construct(0, "g", {0, 2, 3}, "a"), IsEmpty());
  const auto answers = construct(1, "g", {3, 2, 0, 0}, "b");
  EXPECT_EQ(status_of(answers, {0, 1}), messages::success) << "in whatever order they are named";
  for (const auto& answer : answers) {
    EXPECT_EQ(answer.fence.data(), "ab");
    EXPECT_EQ(answer.fence.name(), "g");
    EXPECT_EQ(answer.fence.kind(), Fence::CONSTRUCT);
    EXPECT_EQ(answer.fence.context_id(), UINT32_MAX);
    EXPECT_EQ(answer.fence.number(), next_number - 2 + answer.node);
  }
  EXPECT_EQ(gatherings.open(), 0U);
}

TEST_F(Gathering, NoRanksAreAllOfTheJob) {
  EXPECT_THAT(construct(0, "g", {}), IsEmpty());
  EXPECT_THAT(construct(1, "g", {0, 1, 2, 3, 4, 5}), IsEmpty());
  EXPECT_EQ(status_of(construct(2, "g", {}), {0, 1, 2}), messages::success);
}

TEST_F(Gathering, ContextIdsAreNeverGivenTwice) {
  std::set<std::uint32_t> ids;
  for (int each = 0; each < 3000; ++each) {
    construct(0, "g", {0, 2});
    ids.insert(construct(1, "g", {0, 2}).at(0).fence.context_id());
    destruct(0, "g", {0, 2});
    EXPECT_EQ(destruct(1, "g", {0, 2}).at(0).fence.context_id(), 0U);
  }
  EXPECT_EQ(ids.size(), 3000U);
  EXPECT_EQ(ids.count(0), 0U);
  EXPECT_EQ(gatherings.open(), 0U) << "nothing is kept of them";
}

TEST_F(Gathering, AnIdIsGivenWhenOneNodeAsksForIt) {
  construct(0, "g", {0, 2}, "", {.wants_id = false});
  EXPECT_NE(construct(1, "g", {0, 2}).at(0).fence.context_id(), 0U);
  construct(0, "g", {0, 2}, "", {.wants_id = false});
  EXPECT_EQ(construct(1, "g", {0, 2}, "", {.wants_id = false}).at(0).fence.context_id(), 0U);
}

TEST_F(Gathering, OneNameMayBeThatOfTwoGroupsAtOnce) {
  EXPECT_THAT(construct(0, "g", {0, 2}), IsEmpty());
  EXPECT_THAT(construct(1, "g", {3, 4}), IsEmpty());
  EXPECT_THAT(destruct(2, "g", {3, 4}), IsEmpty()) << "another operation";
  const auto second = construct(2, "g", {3, 4});
  EXPECT_EQ(status_of(second, {1, 2}), messages::success);
  const auto first = construct(1, "g", {0, 2});
  EXPECT_EQ(status_of(first, {0, 1}), messages::success);
  EXPECT_NE(first[0].fence.context_id(), second[0].fence.context_id());
}

TEST_F(Gathering, ANodeThatContributesTwiceIsTurnedAway) {
  construct(0, "g", {0, 2}, "a");
  EXPECT_EQ(status_of(construct(0, "g", {0, 2}, "x"), {0}), messages::bad_parameter);
  EXPECT_EQ(construct(1, "g", {0, 2}, "b").at(0).fence.data(), "ab") << "the first one counts";
}

TEST_F(Gathering, MembersThatAreNotInTheJobAreNotFound) {
  EXPECT_EQ(status_of(construct(0, "g", {0, 6}), {0}), messages::not_found);
  EXPECT_EQ(status_of(construct(0, "g", {0, UINT32_MAX - 3}), {0}), messages::not_found);
  EXPECT_EQ(status_of(construct(0, "g", {2, 3}), {0}), messages::bad_parameter)
      << "none of them is on this node";
  EXPECT_EQ(status_of(construct(0, std::string(21, 'n'), {0}), {0}), messages::bad_parameter);
  EXPECT_EQ(gatherings.open(), 0U);
}

TEST_F(Gathering, LocalGroupsConcernTheirNodeOnly) {
  EXPECT_EQ(status_of(construct(1, "g", {}, "", {.local = true}), {1}), messages::success);
  EXPECT_EQ(status_of(construct(1, "g", {0, 2}, "", {.local = true}), {1}), messages::success);
  EXPECT_EQ(status_of(construct(1, "g", {0}, "", {.local = true}), {1}), messages::bad_parameter);
}

TEST_F(Gathering, NoRankWaitsForARankThatHasEnded) {
  construct(0, "g", {0, 2, 4});
  construct(1, "g", {0, 2, 4});
  construct(0, "other", {0, 2});
  EXPECT_EQ(status_of(gatherings.rank_ended(4), {0, 1}), messages::ended_without_sync);
  EXPECT_EQ(gatherings.open(), 1U) << "the other continues";
  EXPECT_EQ(status_of(construct(2, "g", {0, 2, 4}), {2}), messages::ended_without_sync);
  EXPECT_EQ(status_of(gatherings.contribute(0, part(Fence::FENCE, "", {}), now), {0}),
            messages::ended_without_sync);
  EXPECT_EQ(status_of(construct(1, "other", {0, 2}), {0, 1}), messages::success);
}

TEST_F(Gathering, OneThatHasContributedAndEndsFailsTheOthers) {
  construct(0, "g", {0, 2});
  EXPECT_EQ(status_of(gatherings.rank_ended(0), {0}), messages::ended_without_sync);
  EXPECT_EQ(status_of(construct(1, "g", {0, 2}), {1}), messages::ended_without_sync);
}

TEST_F(Gathering, ALostNodeFailsWhatItsRanksAreIn) {
  construct(0, "g", {0, 4});
  EXPECT_EQ(status_of(gatherings.node_lost(2), {0}), messages::lost_connection);
  EXPECT_EQ(status_of(construct(1, "h", {2, 5}), {1}), messages::lost_connection);
}

TEST_F(Gathering, APartWithoutARankOfItsNodeFailsForAll) {
  construct(0, "g", {0, 2, 4});
  EXPECT_EQ(status_of(construct(1, "g", {0, 2, 4}, "", {.status = -52}), {0, 1}),
            messages::ended_without_sync);
  EXPECT_EQ(status_of(construct(2, "g", {0, 2, 4}), {2}), messages::ended_without_sync);
}

TEST_F(Gathering, WhoDoesNotComeInTimeFailsIt) {
  EXPECT_EQ(gatherings.deadline(), never);
  construct(0, "g", {0, 2, 4}, "", {.limit_ms = 2000});
  construct(1, "g", {0, 2, 4}, "", {.limit_ms = 1000});
  EXPECT_EQ(gatherings.deadline(), now + ns_per_second);
  EXPECT_THAT(gatherings.time_is(now), IsEmpty());
  now = gatherings.deadline();
  EXPECT_EQ(status_of(gatherings.time_is(now), {0, 1}), messages::timed_out);
  EXPECT_EQ(gatherings.deadline(), never);
  EXPECT_EQ(status_of(construct(2, "g", {0, 2, 4}), {2}), messages::timed_out)
      << "the others do not wait for it any more";
  construct(0, "g", {0, 2, 4});
  construct(1, "g", {0, 2, 4});
  EXPECT_EQ(status_of(construct(2, "g", {0, 2, 4}), {0, 1, 2}), messages::success);
}

TEST_F(Gathering, OneThatBeginsAgainDoesNotMeetTheFailure) {
  construct(0, "g", {0, 2}, "", {.limit_ms = 1000});
  now = gatherings.deadline();
  EXPECT_EQ(status_of(gatherings.time_is(now), {0}), messages::timed_out);
  EXPECT_THAT(construct(0, "g", {0, 2}), IsEmpty());
  EXPECT_EQ(status_of(construct(1, "g", {0, 2}), {0, 1}), messages::success);
}

TEST_F(Gathering, TheLongestLimitIsNotInThePast) {
  construct(0, "g", {0, 2}, "", {.limit_ms = UINT64_MAX});
  EXPECT_GT(gatherings.deadline(), now);
}

TEST_F(Gathering, MemoryIsBounded) {
  construct(0, "g", {0, 2, 4}, std::string(60, 'a'));
  EXPECT_EQ(status_of(construct(1, "g", {0, 2, 4}, std::string(60, 'b')), {0, 1}),
            messages::out_of_resource)
      << "of one operation";
  EXPECT_EQ(status_of(construct(2, "g", {0, 2, 4}), {2}), messages::out_of_resource);
  for (int each = 0; each < 5; ++each) {
    EXPECT_THAT(construct(0, std::to_string(each), {0, 2}, std::string(99, 'a')), IsEmpty());
  }
  EXPECT_EQ(status_of(construct(0, "sixth", {0, 2}), {0}), messages::out_of_resource);
  EXPECT_EQ(status_of(construct(1, "0", {0, 2}), {0, 1}), messages::success) << "those there end";
  EXPECT_THAT(construct(0, "sixth", {0, 2}), IsEmpty());
}

TEST_F(Gathering, AllOperationsTogetherAreBounded) {
  Gatherings small({0, 1}, {.all_bytes = 100});
  EXPECT_THAT(small.contribute(0, part(Fence::FENCE, "a", {}, std::string(80, 'a')), now),
              IsEmpty());
  EXPECT_EQ(
      status_of(small.contribute(0, part(Fence::FENCE, "b", {}, std::string(80, 'a')), now), {0}),
      messages::out_of_resource);
  EXPECT_THAT(small.contribute(1, part(Fence::FENCE, "a", {}, "b"), now), SizeIs(2));
  EXPECT_THAT(small.contribute(0, part(Fence::FENCE, "c", {}, std::string(80, 'a')), now),
              IsEmpty())
      << "what has ended holds nothing";
}

TEST_F(Gathering, FailuresThatAreKeptAreBounded) {
  for (int each = 0; each < 10; ++each) {
    construct(0, std::to_string(each), {0, 2}, "", {.limit_ms = 1});
    now = gatherings.deadline();
    (void)gatherings.time_is(now);
  }
  EXPECT_EQ(status_of(construct(1, "9", {0, 2}), {1}), messages::timed_out);
  EXPECT_THAT(construct(1, "0", {0, 2}), IsEmpty()) << "forgotten";
}

} // namespace
} // namespace tributary::launch::control
