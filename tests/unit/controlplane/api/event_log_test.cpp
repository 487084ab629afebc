// The log of events and its readers: which events each receives, in which form, and the cost of a
// reader.
#include "controlplane/api/event_log.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tributary::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Of = EventInterest::Of;

boost::json::object text(const std::string& words) { return {{"time", "now"}, {"text", words}}; }

/// The events that the reader receives now.
std::vector<std::string> shown_to(EventReader& reader) {
  std::vector<std::string> all;
  while (const auto event = reader.next()) {
    all.emplace_back(event->text);
  }
  return all;
}

class Log : public testing::Test {
protected:
  std::unique_ptr<EventReader> read(EventInterest interest, std::uint64_t after = 0) {
    return log.read(std::move(interest), after, "now", [this] { ++woken; });
  }
  EventLog log{1, 8};
  int woken = 0;
};

TEST_F(Log, shows_each_what_concerns_it_and_in_its_form) {
  const auto all = read({});
  const auto red = read({Of::job, "red", {}});
  const auto blue = read({Of::job, "blue", {"link_down"}});
  log.add("link", text("a link"), "link_down", {"red", "green"});
  log.add("group", text("a group"), "group_destroyed", {"blue"});
  log.add("switch", text("a switch"));
  EXPECT_EQ(woken, 3) << "once each, until they have looked";
  EXPECT_THAT(shown_to(*all), ElementsAre("a link", "a group", "a switch"));
  const auto event = red->next();
  ASSERT_TRUE(event);
  EXPECT_THAT(std::string(event->data), HasSubstr(R"("scope":"job","epoch":1,"sequence":1)"));
  EXPECT_FALSE(red->next());
  const auto seen = blue->next();
  ASSERT_TRUE(seen);
  EXPECT_THAT(std::string(seen->data), HasSubstr(R"("scope":"environment")"));
  EXPECT_THAT(shown_to(*blue), ElementsAre("a group"));
  log.add("link", text("again"), "link_up", {"green"});
  EXPECT_EQ(woken, 4) << "only who reads all";
}

TEST_F(Log, own_job_s_are_those_of_no_job_and_of_the_reader_s) {
  const auto own = read({Of::own_job, "red", {}});
  log.add("job", {{"text", "of red"}, {"job", "red"}});
  log.add("job", {{"text", "of blue"}, {"job", "blue"}});
  log.add("transaction", {{"text", "a transaction"}});
  log.add("switch", {{"text", "a switch"}});
  EXPECT_THAT(shown_to(*own), ElementsAre("of red", "a switch"));
}

TEST_F(Log, a_reader_that_lags_has_missed_what_is_not_kept_and_is_shown_no_hole) {
  const auto slow = read({});
  for (int i = 0; i < 8; ++i) {
    log.add("switch", text("one"));
  }
  EXPECT_FALSE(slow->has_missed());
  EXPECT_TRUE(slow->next());
  log.add("switch", text("one more"));
  EXPECT_FALSE(slow->has_missed());
  log.add("switch", text("and another"));
  EXPECT_TRUE(slow->has_missed());
  EXPECT_FALSE(slow->next());
}

TEST_F(Log, a_reader_for_whom_nothing_comes_misses_nothing) {
  const auto quiet = read({Of::job, "quiet", {}});
  for (int i = 0; i < 100; ++i) {
    log.add("job", text("another's"), "group_destroyed", {"busy"});
  }
  EXPECT_EQ(woken, 0);
  EXPECT_FALSE(quiet->has_missed());
  EXPECT_EQ(quiet->seen(), log.last_number()) << "where it continues, should it come again";
  const auto again = read({Of::job, "quiet", {}}, quiet->seen());
  EXPECT_THAT(shown_to(*again), IsEmpty()) << "no gap";
  log.add("group", text("its own"), "group_destroyed", {"quiet"});
  EXPECT_EQ(quiet->seen(), log.last_number() - 1);
  EXPECT_THAT(shown_to(*quiet), ElementsAre("its own"));
}

TEST_F(Log, a_number_of_no_start_is_no_restart) {
  log.add("switch", text("one"));
  EXPECT_THAT(shown_to(*read({}, 5)).front(), HasSubstr("no event has this number"));
  EXPECT_THAT(shown_to(*read({}, (std::uint64_t{9} << 32U) + 1)).front(),
              HasSubstr("no event has this number"));
  EventLog later{3};
  const auto reader = later.read({}, log.last_number(), "now", [] {});
  EXPECT_THAT(shown_to(*reader).front(), HasSubstr("restarted"));
}

TEST_F(Log, events_that_touch_very_many_are_kept_in_lower_number) {
  std::vector<std::string> jobs;
  for (std::size_t i = 0; i < EventLog::most_touched / 4; ++i) {
    jobs.push_back(std::to_string(i));
  }
  for (int i = 0; i < 8; ++i) {
    log.add("routes", text(fmt::format("{}", i)), "route_changed", jobs);
  }
  EXPECT_THAT(shown_to(*read({})), ElementsAre("4", "5", "6", "7"));
}

TEST_F(Log, a_reader_may_end_others_while_it_is_woken) {
  auto second = log.read({}, 0, "now", [this] { ++woken; });
  std::unique_ptr<EventReader> first;
  first = log.read({}, 0, "now", [&] { second.reset(); });
  log.add("switch", text("one"));
  EXPECT_EQ(woken, 1);
  log.add("switch", text("two"));
  EXPECT_EQ(log.readers(), 1U);
}

} // namespace
} // namespace tributary::api
