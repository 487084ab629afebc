#include "endpoint/events/sequencer.hpp"

#include "made_events.hpp"
#include "tributary/random.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

namespace tributary::events {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint64_t> taken(Sequencer& sequencer) {
  std::vector<std::uint64_t> all;
  while (const auto event = sequencer.take()) {
    all.push_back(event->sequence);
  }
  return all;
}

TEST(sequencer, gives_each_once_in_order_however_it_comes) {
  Sequencer sequencer;
  for (const std::uint64_t sequence : {3U, 2U, 1U, 2U, 3U, 1U}) { // a replay, newest first, twice
    sequencer.arrived(made(sequence));
  }
  EXPECT_THAT(taken(sequencer), ElementsAre(1, 2, 3));
  EXPECT_EQ(sequencer.repeated(), 3U);
  sequencer.arrived(made(2)); // again, after deregister and register
  EXPECT_THAT(taken(sequencer), ElementsAre());
}

TEST(sequencer, holds_what_is_ahead_and_says_what_is_missing) {
  Sequencer sequencer;
  EXPECT_FALSE(sequencer.gap());
  sequencer.arrived(made(1));
  sequencer.arrived(made(4));
  EXPECT_THAT(taken(sequencer), ElementsAre(1));
  ASSERT_TRUE(sequencer.gap());
  EXPECT_EQ(sequencer.gap()->after, 1U);
  EXPECT_EQ(sequencer.gap()->next, 4U);
  sequencer.arrived(made(3));
  EXPECT_THAT(taken(sequencer), ElementsAre());
  sequencer.arrived(made(2));
  EXPECT_THAT(taken(sequencer), ElementsAre(2, 3, 4));
  EXPECT_FALSE(sequencer.gap());
}

TEST(sequencer, says_what_is_lost_where_it_belongs) {
  Sequencer sequencer;
  sequencer.arrived(made(3)); // earlier than the kept ones, and yet delivered
  sequencer.arrived(made(8));
  sequencer.give_up_before(7);
  const auto lost = sequencer.take();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->code, code("events_lost"));
  EXPECT_THAT(lost->text, HasSubstr("events 1 to 6 are lost"));
  EXPECT_FALSE(sequencer.take()) << "7 is still to come";
  sequencer.arrived(made(7));
  EXPECT_THAT(taken(sequencer), ElementsAre(7, 8));
  sequencer.give_up_before(5);
  EXPECT_FALSE(sequencer.take()) << "all of these were there";
}

TEST(sequencer, does_not_hold_without_end) {
  Sequencer sequencer;
  for (std::uint64_t sequence = 2; sequence < Sequencer::most_held + 3; ++sequence) {
    sequencer.arrived(made(sequence));
  }
  const auto lost = sequencer.take();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->code, code("events_lost"));
  EXPECT_EQ(lost->sequence, 1U);
  EXPECT_EQ(taken(sequencer).size(), Sequencer::most_held + 1);
}

TEST(sequencer, asks_later_for_what_there_was_no_room_for) {
  Sequencer sequencer;
  for (std::uint64_t sequence = 1; sequence <= Sequencer::most_untaken + 7; ++sequence) {
    sequencer.arrived(made(sequence));
  }
  EXPECT_FALSE(sequencer.gap()) << "no room for the answer";
  EXPECT_EQ(taken(sequencer).size(), Sequencer::most_untaken);
  ASSERT_TRUE(sequencer.gap());
  EXPECT_EQ(sequencer.gap()->after, Sequencer::most_untaken);
  EXPECT_EQ(sequencer.gap()->next, Sequencer::most_untaken + 7);
}

TEST(sequencer, survives_any_order) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    std::vector<std::uint64_t> arrivals;
    for (std::uint64_t sequence = 1; sequence <= 100; ++sequence) {
      arrivals.insert(arrivals.end(), 1 + random.below(3), sequence);
    }
    random.shuffle(arrivals);
    Sequencer sequencer;
    std::vector<std::uint64_t> got;
    for (const std::uint64_t sequence : arrivals) {
      sequencer.arrived(made(sequence));
      const std::vector<std::uint64_t> now = taken(sequencer);
      got.insert(got.end(), now.begin(), now.end());
    }
    std::vector<std::uint64_t> wanted(100);
    std::iota(wanted.begin(), wanted.end(), 1);
    EXPECT_EQ(got, wanted) << "seed " << seed;
  }
}

TEST(event, travels_as_text) {
  Event event = made(17, "switch_suspect", Scope::environment);
  event.time_ns = 1'795'619'983'123'456'000;
  event.text = "switch leaf1 is\nsuspected";
  event.details = R"({"switches": ["leaf1"]})";
  const auto read = event_of(text_of(event));
  ASSERT_TRUE(read);
  event.text = "switch leaf1 is suspected";
  EXPECT_EQ(*read, event);
  for (const char* const bad :
       {"", "x", "-3101 job 1", "-3101 other 1 2 3\n\n", "-3101 job 1 0 3\n\n",
        "-3101 job -1 2 3\n\n", "-3101 job 1 2 3x\n\n"}) {
    EXPECT_FALSE(event_of(bad)) << bad;
  }
}

} // namespace
} // namespace tributary::events
