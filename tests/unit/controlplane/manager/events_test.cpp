// The stream of events.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

TEST(events, are_numbered_kept_and_followed) {
  World world;
  world.create_job("job");
  std::vector<api::Event> heard;
  auto listener = world.listen(administrator, {}, [&](const api::Event& e) { heard.push_back(e); });
  const std::size_t before = heard.size();
  EXPECT_GT(before, 0U) << "what happened before is kept";
  world.connect_star("leaf", 1);
  ASSERT_GT(heard.size(), before);
  for (std::size_t i = 1; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i].number, heard[i - 1].number + 1);
  }
  listener.reset();
  const std::size_t then = heard.size();
  world.connect_star("other", 1, 50);
  EXPECT_EQ(heard.size(), then);
}

TEST(events, say_whether_an_operator_has_to_act) {
  World world;
  world.create_job("job");
  world.connect_star("a", 1);
  world.connect_star("b", 1, 9);
  world.report_link("a", 5, "b", 6);
  world.reconcile();
  world.report_down("a", 5);
  world.report_down("b", 6);
  world.report_down("b", 0);
  world.reconcile();
  world.report_link("a", 5, "b", 6);
  world.reconcile();
  std::map<std::string, std::string> severity_of; // by change
  for (const api::Event& event : world.events_of(administrator)) {
    ASSERT_TRUE(event.body.contains("severity")) << event.kind;
    if (const auto* const change = event.body.if_contains("change")) {
      severity_of[std::string(change->as_string())] = event.body.at("severity").as_string();
    }
  }
  EXPECT_EQ(severity_of.at("link_down"), "error");
  EXPECT_EQ(severity_of.at("link_up"), "info");
  EXPECT_EQ(severity_of.at("host_added"), "info");
  EXPECT_EQ(severity_of.at("host_down"), "warning") << "of a host whose port is down";
}

TEST(events, have_numbers_that_rise_over_a_restart_and_tell_of_the_gap) {
  World world;
  records::Snapshot nothing;
  nothing.epoch = 1; // the first existing one
  world.restart(nothing);
  world.create_job("job");
  const std::uint64_t last = world.events_of(administrator).back().number;
  EXPECT_TRUE(world.events_of(administrator, last).empty()) << "nothing was missed";

  records::Snapshot past;
  past.epoch = 2;
  world.restart(past);
  world.create_job("job");
  const auto after = world.events_of(administrator, last);
  ASSERT_GE(after.size(), 2U) << "what happened since is behind the number from before";
  EXPECT_EQ(after[0].kind, "gap");
  EXPECT_THAT(std::string(after[0].body.at("text").as_string()), HasSubstr("has been restarted"));
  EXPECT_EQ(after[1].kind, "job");
  EXPECT_GT(after[1].number, last);
  EXPECT_EQ(after[0].number + 1, after[1].number) << "so that who ends at the gap comes back to it";
  const auto resumed = world.events_of(administrator, after[0].number);
  ASSERT_FALSE(resumed.empty());
  EXPECT_EQ(resumed[0].kind, "job");
  EXPECT_NE(world.events_of(administrator)[0].kind, "gap") << "who has seen nothing misses nothing";
}

TEST(events, behind_what_is_kept_or_of_no_number_are_a_gap) {
  World world;
  world.create_job("job");
  const std::uint64_t first = world.events_of(administrator).front().number;
  for (std::size_t i = 0; i < api::EventLog::kept + 1; ++i) {
    Given given;
    world.manager->ask<&Manager::patch_job>(administrator, {"job", {}, 9}, given.reply());
  }
  world.reconcile();
  const auto late = world.events_of(administrator, first);
  ASSERT_EQ(late.size(), api::EventLog::kept + 1);
  EXPECT_EQ(late[0].kind, "gap");
  EXPECT_THAT(std::string(late[0].body.at("text").as_string()), HasSubstr("no longer kept"));
  EXPECT_EQ(late[0].body.at("next").to_number<std::uint64_t>(), late[1].number);
  const auto wild = world.events_of(administrator, late.back().number + 5);
  ASSERT_EQ(wild.size(), api::EventLog::kept + 1);
  EXPECT_THAT(std::string(wild[0].body.at("text").as_string()),
              HasSubstr("no event has this number"));
}

TEST(events, say_once_that_routes_are_being_computed) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    static_cast<void>(world.join("demo", 4, rank, rank + 1));
  }
  world.reconcile();
  std::map<std::string, int> told;
  for (const api::Event& event : world.events_of(administrator)) {
    if (event.kind == "group") {
      ++told[std::string(event.body.at("text").as_string())];
    }
  }
  EXPECT_EQ(told["group job/demo its routes are being computed"], 1);
  EXPECT_EQ(told["group job/demo 4 members reduce"], 1);
}

} // namespace
} // namespace tributary::manager
