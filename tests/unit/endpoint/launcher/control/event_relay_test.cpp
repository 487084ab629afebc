#include "endpoint/launcher/control/event_relay.hpp"

#include "tributary/event_codes.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace tributary::launch::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t epoch = std::uint64_t{3} << 32U;

FabricEvent made(std::uint64_t number, const std::string& code = "link_down") {
  return {.number = epoch + number,
          .code = code,
          .time = "2026-11-25T16:39:43.123456Z",
          .text = "link " + std::to_string(number),
          .details = "{}"};
}

messages::Query asking(std::uint64_t after, const std::string& environment = "") {
  messages::Query query;
  query.set_number(9);
  query.set_key("fm.events");
  for (const auto& [name, value] :
       {std::pair<std::string, std::string>{"fm.after", std::to_string(after)},
        {"fm.environment", environment}}) {
    messages::Variable& qualifier = *query.add_qualifiers();
    qualifier.set_name(name);
    qualifier.set_value(value);
  }
  return query;
}

struct Answered {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::vector<std::uint64_t> sequences;
};

Answered answered(EventRelay& relay, const messages::Query& query) {
  const messages::QueryAnswer answer = relay.answer(query);
  EXPECT_EQ(answer.number(), 9U);
  Answered all;
  for (const messages::Value& value : answer.values()) {
    if (value.name() == "fm.first") {
      all.first = value.number();
    } else if (value.name() == "fm.last") {
      all.last = value.number();
    } else {
      const auto event = events::event_of(value.text());
      EXPECT_TRUE(event) << value.text();
      all.sequences.push_back(event ? event->sequence : 0);
    }
  }
  return all;
}

TEST(event_relay, numbers_what_the_job_hears_without_holes) {
  EventRelay relay(epoch + 10);
  EXPECT_FALSE(relay.take(made(10))) << "it was before the job";
  const auto first = relay.take(made(14));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->code(), find_event_code("link_down")->number);
  ASSERT_EQ(first->values(0).name(), "fm.event");
  const auto event = events::event_of(first->values(0).text());
  ASSERT_TRUE(event);
  EXPECT_EQ(event->sequence, 1U);
  EXPECT_EQ(event->epoch, 3U);
  EXPECT_EQ(event->text, "link 14");
  EXPECT_EQ(event->time_ns % 1'000'000'000, 123'456'000);
  EXPECT_FALSE(relay.take(made(14))) << "the stream was opened again";
  EXPECT_FALSE(relay.take(made(15, "of_another_version")));
  const auto second = relay.take(made(17));
  ASSERT_TRUE(second);
  EXPECT_EQ(events::event_of(second->values(0).text())->sequence, 2U);
  EXPECT_FALSE(relay.take(made(17)));
}

TEST(event_relay, a_gap_is_an_event_even_where_numbers_restart) {
  EventRelay relay;
  ASSERT_TRUE(relay.take(made(100)));
  ASSERT_TRUE(relay.take(made(7, "events_lost")));
  const auto third = relay.take(made(8));
  ASSERT_TRUE(third);
  EXPECT_EQ(events::event_of(third->values(0).text())->sequence, 3U);
}

TEST(event_relay, keeps_what_ranks_ask_for) {
  EventRelay relay;
  EXPECT_THAT(answered(relay, asking(0)).sequences, IsEmpty());
  for (std::uint64_t number = 1; number <= 3; ++number) {
    static_cast<void>(relay.take(made(number)));
  }
  EXPECT_THAT(answered(relay, asking(0)).sequences, ElementsAre(1, 2, 3));
  const Answered behind = answered(relay, asking(2));
  EXPECT_THAT(behind.sequences, ElementsAre(3));
  EXPECT_EQ(behind.first, 1U);
  EXPECT_EQ(behind.last, 3U);
  for (std::uint64_t number = 4; number <= EventRelay::most_kept + 5; ++number) {
    static_cast<void>(relay.take(made(number)));
  }
  const Answered much = answered(relay, asking(0));
  EXPECT_EQ(much.first, 6U) << "what is in front of it is not kept";
  EXPECT_EQ(much.sequences.front(), 6U);
  EXPECT_EQ(much.sequences.size(), EventRelay::most_in_an_answer);
  EXPECT_EQ(much.last, EventRelay::most_kept + 5);
}

TEST(event_relay, remembers_which_events_of_the_environment_a_rank_wants) {
  EventRelay relay;
  static_cast<void>(relay.answer(asking(0)));
  EXPECT_FALSE(relay.take_subscription_changed());
  static_cast<void>(relay.answer(asking(0, "link_down,congestion,tree_repaired,nonsense")));
  EXPECT_TRUE(relay.take_subscription_changed());
  EXPECT_THAT(relay.environment(), ElementsAre("congestion", "link_down"));
  static_cast<void>(relay.answer(asking(0, "link_down")));
  EXPECT_FALSE(relay.take_subscription_changed()) << "it is followed already";
}

TEST(event_relay, reads_the_manager_s_time) {
  EXPECT_EQ(nanoseconds_of("1970-01-01T00:00:01.5Z"), 1'500'000'000);
  EXPECT_EQ(nanoseconds_of("2026-01-31T12:34:56.789123Z"), 1'769'862'896'789'123'000);
  EXPECT_EQ(nanoseconds_of("2026-01-31T12:34:56Z"), 1'769'862'896'000'000'000);
  for (const char* const bad : {"", "now", "2026-13-31T12:34:56Z", "2026-01-31 12:34:56Z",
                                "2026-01-31T12:34:56", "T+5 ns"}) {
    EXPECT_EQ(nanoseconds_of(bad), 0) << bad;
  }
}

} // namespace
} // namespace tributary::launch::control
