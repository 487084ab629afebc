#include "endpoint/events/event_dispatcher.hpp"

#include "made_events.hpp"
#include "tributary/random.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tributary::events {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class EventCenter : public testing::Test {
protected:
  HandlerId add_with(HandlerOptions options) {
    const Handlers::Added added = dispatcher.add(std::move(options));
    return std::get<HandlerId>(added);
  }
  HandlerId add(const std::string& name, bool past = true) {
    return add_with({.name = name, .codes = {code("link_down")}, .past = past});
  }
  /// "a 1" for each call, until none is left.
  std::vector<std::string> run(Outcome outcome = Outcome::go_on) {
    std::vector<std::string> calls;
    while (const auto call = dispatcher.next()) {
      calls.push_back(shown(*call));
      dispatcher.returned(outcome, {});
    }
    return calls;
  }
  std::string shown(const EventDispatcher::Call& call) {
    const HandlerOptions* const handler = dispatcher.handlers().find(call.handler);
    return (handler == nullptr ? "?" : handler->name) + " " + std::to_string(call.event->sequence);
  }
  EventDispatcher dispatcher;
};

TEST_F(EventCenter, finishes_one_event_before_the_next) {
  add("a");
  add("b");
  dispatcher.arrived(made(2));
  EXPECT_THAT(run(), IsEmpty());
  dispatcher.arrived(made(1));
  EXPECT_THAT(run(), ElementsAre("b 1", "a 1", "b 2", "a 2"));
}

TEST_F(EventCenter, a_handler_may_end_the_chain_and_the_last_is_left_out) {
  add_with({.name = "last", .codes = {code("link_down")}, .place = Place::last});
  add("a");
  add("b");
  dispatcher.arrived(made(1));
  EXPECT_THAT(run(Outcome::complete), ElementsAre("b 1"));
  const auto ends = dispatcher.take_ends();
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].ended_by, "b");
  EXPECT_EQ(ends[0].called, 1U);
  dispatcher.arrived(made(2));
  EXPECT_THAT(run(), ElementsAre("b 2", "a 2", "last 2")) << "1 is over for all of them";
}

TEST_F(EventCenter, results_are_seen_by_those_behind_and_at_the_end) {
  add("a");
  add("b");
  dispatcher.arrived(made(1));
  auto call = dispatcher.next();
  ASSERT_TRUE(call);
  EXPECT_THAT(call->results, IsEmpty());
  dispatcher.returned(Outcome::go_on, {{"", "way", "retry"}});
  call = dispatcher.next();
  ASSERT_TRUE(call);
  EXPECT_THAT(call->results, ElementsAre(HandlerResult{"b", "way", "retry"}));
  dispatcher.returned(Outcome::go_on, {{"", "seen", "yes"}});
  EXPECT_FALSE(dispatcher.next());
  const auto ends = dispatcher.take_ends();
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_THAT(ends[0].results,
              ElementsAre(HandlerResult{"b", "way", "retry"}, HandlerResult{"a", "seen", "yes"}));
  EXPECT_EQ(ends[0].ended_by, "");
  EXPECT_EQ(ends[0].called, 2U);
}

TEST_F(EventCenter, who_comes_late_gets_the_past_first_and_alone) {
  add("a");
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    dispatcher.arrived(made(sequence));
  }
  EXPECT_THAT(run(), ElementsAre("a 1", "a 2", "a 3"));
  add("b");
  add("c", false);
  dispatcher.arrived(made(4));
  EXPECT_THAT(run(), ElementsAre("b 1", "b 2", "b 3", "c 4", "b 4", "a 4"));
}

TEST_F(EventCenter, a_second_handler_of_a_known_code_gets_the_past_of_its_own_codes_alone) {
  add("a");
  dispatcher.arrived(made(1));
  dispatcher.arrived(made(2, "congestion"));
  dispatcher.arrived(made(3, "congestion", Scope::environment));
  EXPECT_THAT(run(), ElementsAre("a 1"));
  add_with({.name = "b", .codes = {code("congestion"), code("link_down")}});
  EXPECT_THAT(run(), ElementsAre("b 1", "b 2"));
  add_with({.name = "c", .environment = true});
  EXPECT_THAT(run(), ElementsAre("c 1", "c 2", "c 3"));
}

TEST_F(EventCenter, registered_within_a_call_hears_that_event_as_the_past) {
  add("a");
  dispatcher.arrived(made(1));
  dispatcher.arrived(made(2));
  ASSERT_TRUE(dispatcher.next());
  add("b");
  dispatcher.returned(Outcome::go_on, {});
  EXPECT_THAT(run(), ElementsAre("b 1", "b 2", "a 2"));
}

TEST_F(EventCenter, deregistered_within_a_chain_is_called_no_more) {
  const HandlerId a = add("a");
  const HandlerId b = add("b");
  dispatcher.arrived(made(1));
  ASSERT_TRUE(dispatcher.next()); // b
  EXPECT_TRUE(dispatcher.remove(a));
  EXPECT_TRUE(dispatcher.remove(b)) << "its own call is out";
  dispatcher.returned(Outcome::go_on, {});
  EXPECT_THAT(run(), IsEmpty());
  // Both return under their names: b has received it, a has not.
  add("b");
  add("a");
  dispatcher.arrived(made(2));
  EXPECT_THAT(run(), ElementsAre("a 1", "a 2", "b 2"));
}

TEST_F(EventCenter, registered_again_under_its_name_repeats_nothing) {
  const HandlerId a = add("a");
  dispatcher.arrived(made(1));
  EXPECT_THAT(run(), ElementsAre("a 1"));
  EXPECT_TRUE(dispatcher.remove(a));
  dispatcher.arrived(made(2));
  EXPECT_THAT(run(), IsEmpty());
  add("a");
  EXPECT_THAT(run(), ElementsAre("a 2")) << "what came meanwhile, and nothing twice";
}

TEST_F(EventCenter, who_comes_too_late_learns_that_some_are_lost) {
  for (std::uint64_t sequence = 1; sequence <= EventDispatcher::most_kept + 5; ++sequence) {
    dispatcher.arrived(made(sequence));
  }
  EXPECT_THAT(run(), IsEmpty());
  add_with({.name = "any"});
  const auto call = dispatcher.next();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->event->code, code("events_lost"));
  EXPECT_EQ(call->event->sequence, 5U);
  dispatcher.returned(Outcome::go_on, {});
  EXPECT_EQ(run().size(), EventDispatcher::most_kept);
}

TEST_F(EventCenter, each_handler_hears_each_event_once_whatever_happens) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    dispatcher = {};
    constexpr std::uint64_t events = 60;
    std::vector<std::uint64_t> arrivals;
    for (std::uint64_t sequence = 1; sequence <= events; ++sequence) {
      arrivals.insert(arrivals.end(), 1 + random.below(2), sequence);
    }
    random.shuffle(arrivals);
    std::map<std::string, HandlerId> there;
    std::map<std::string, std::vector<std::uint64_t>> heard;
    const auto change_somebody = [&] {
      const std::string name(1, static_cast<char>('a' + random.below(5)));
      if (const auto found = there.extract(name)) {
        EXPECT_TRUE(dispatcher.remove(found.mapped()));
      } else {
        there[name] = add(name);
      }
    };
    const auto some = [&](std::uint64_t most) {
      for (std::uint64_t i = 0; i < most; ++i) {
        const auto call = dispatcher.next();
        if (!call) {
          return;
        }
        heard[dispatcher.handlers().find(call->handler)->name].push_back(call->event->sequence);
        if (random.below(4) == 0) {
          change_somebody();
        }
        dispatcher.returned(Outcome::go_on, {});
      }
    };
    for (const std::uint64_t sequence : arrivals) {
      dispatcher.arrived(made(sequence));
      some(random.below(4));
      if (random.below(3) == 0) {
        change_somebody();
      }
    }
    for (const char name : std::string("abcde")) {
      if (!there.contains(std::string(1, name))) {
        there[std::string(1, name)] = add(std::string(1, name));
      }
    }
    while (const auto call = dispatcher.next()) {
      heard[dispatcher.handlers().find(call->handler)->name].push_back(call->event->sequence);
      dispatcher.returned(Outcome::go_on, {});
    }
    for (const auto& [name, sequences] : heard) {
      ASSERT_EQ(sequences.size(), events) << "seed " << seed << ", handler " << name;
      for (std::uint64_t i = 0; i < events; ++i) {
        ASSERT_EQ(sequences[i], i + 1) << "seed " << seed << ", handler " << name;
      }
    }
    EXPECT_EQ(heard.size(), 5U) << "seed " << seed;
  }
}

} // namespace
} // namespace tributary::events
