// Views of existing and missing objects.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

TEST(views, name_what_is_there_and_404_what_is_not) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  const Given one = world.join("demo", 2, 0, 1);
  const Given two = world.join("demo", 2, 1, 2);
  world.reconcile();
  ASSERT_EQ(one->status, 200U);
  for (const auto& [view, name, key] :
       {std::tuple(api::View::switches, "switches", "leaf"),
        std::tuple(api::View::hosts, "hosts", "nid-1"),
        std::tuple(api::View::groups, "groups", "demo"), std::tuple(api::View::trees, "trees", "0"),
        std::tuple(api::View::jobs, "jobs", "job"),
        std::tuple(api::View::memory, "memory", "leaf")}) {
    Given all;
    world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = view}, all.reply());
    ASSERT_EQ(all->status, 200U) << name;
    EXPECT_FALSE(all.body().at(name).as_array().empty()) << name;
    Given none;
    world.manager->ask<&Manager::view>(
        administrator, api::ViewRequest{.what = view, .id = "nothing of that name"}, none.reply());
    EXPECT_EQ(none->status, 404U) << name;
    if (view != api::View::trees && view != api::View::hosts) {
      Given named;
      world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = view, .id = key},
                                         named.reply());
      EXPECT_EQ(named->status, 200U) << name;
    }
  }
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_groups{state=\"ready\"} 1\n"));
}

TEST(views, show_the_tree_of_a_group_of_one_in_force_though_no_switch_holds_it) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  const Given alone = world.join("alone", 1, 0, 1);
  world.reconcile();
  ASSERT_EQ(alone->status, 200U);
  Given trees;
  world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = api::View::trees},
                                     trees.reply());
  ASSERT_EQ(trees.body().at("trees").as_array().size(), 1U);
  EXPECT_EQ(trees.body().at("trees").as_array().front().at("state"), "in_force");
}

TEST(views, may_be_asked_for_while_links_are_found_that_no_tree_was_planned_over_yet) {
  World world;
  world.connect_star("a", 1);
  world.connect_star("b", 1, 9);
  // Both ends of a link report each other; nothing is reconciled in between.
  world.report_link("a", 5, "b", 6);
  Given links;
  world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = api::View::links},
                                     links.reply());
  ASSERT_EQ(links->status, 200U);
  ASSERT_EQ(links.body().at("links").as_array().size(), 1U);
  EXPECT_EQ(links.body().at("links").as_array().front().at("efi").to_number<int>(), 0);
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_link_efi"));
}

TEST(views, of_loads_show_rates_between_two_reports_and_leave_out_what_does_nothing) {
  World world;
  world.connect_star("leaf", 2);
  const auto loads = [&] {
    Given given;
    world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = api::View::loads},
                                       given.reply());
    return given.body().at("loads").as_array();
  };
  EXPECT_TRUE(loads().empty()) << "no counters yet";
  control::SwitchMessage message;
  control::PortStatistics& port = *message.mutable_statistics()->add_ports();
  message.mutable_statistics()->add_ports()->set_port(3); // and has nothing to report
  port.set_port(1);
  const auto report = [&](std::uint64_t bytes, std::uint64_t drops) {
    port.set_sent(bytes / 100);
    port.set_sent_bytes(bytes);
    port.set_pauses_sent(3);
    (*port.mutable_drops())["queue_full"] = drops;
    (*port.mutable_drops())["counted_twice"] = 10 * drops;
    world.manager->switches().message(world.sessions.at("leaf"), message);
  };
  report(1'000'000, 2);
  world.pass(2 * World::second);
  report(3'500'000, 8);
  const auto shown = loads();
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].at("switch").as_string(), "leaf");
  ASSERT_EQ(shown[0].at("ports").as_array().size(), 1U);
  const auto& one = shown[0].at("ports").as_array()[0].as_object();
  EXPECT_EQ(one.at("port").to_number<int>(), 1);
  EXPECT_NEAR(one.at("sent_mbps").to_number<double>(), 10, 0.01);
  EXPECT_NEAR(one.at("drops_per_second").to_number<double>(), 3, 0.01);
  EXPECT_EQ(one.at("drops").to_number<int>(), 8);
  EXPECT_EQ(one.at("repeats").to_number<int>(), 80) << "a correct run has them";
  EXPECT_NEAR(one.at("repeats_per_second").to_number<double>(), 30, 0.01);
  EXPECT_EQ(one.at("reasons"), (boost::json::value{{"queue_full", 8}}));
  EXPECT_EQ(one.at("pauses_sent").to_number<int>(), 3);
  EXPECT_FALSE(one.contains("load")) << "of a port whose speed is unknown";
  // A restarted switch counts from 0, and the drop from the old value is not a rate.
  world.connect_star("leaf", 2);
  report(500, 0);
  EXPECT_EQ(loads()[0].at("ports").as_array()[0].at("sent_mbps").to_number<double>(), 0);
}

} // namespace
} // namespace tributary::manager
