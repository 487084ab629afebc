// What is there, and what is not.
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
    world.manager->view(administrator, api::ViewRequest{.what = view}, all.reply());
    ASSERT_EQ(all->status, 200U) << name;
    EXPECT_FALSE(all.body().at(name).as_array().empty()) << name;
    Given none;
    world.manager->view(administrator, api::ViewRequest{.what = view, .id = "nothing of that name"},
                        none.reply());
    EXPECT_EQ(none->status, 404U) << name;
    if (view != api::View::trees && view != api::View::hosts) {
      Given named;
      world.manager->view(administrator, api::ViewRequest{.what = view, .id = key}, named.reply());
      EXPECT_EQ(named->status, 200U) << name;
    }
  }
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_groups{state=\"ready\"} 1\n"));
}

TEST(views, may_be_asked_for_while_links_are_found_that_no_tree_was_planned_over_yet) {
  World world;
  world.connect_star("a", 1);
  world.connect_star("b", 1, 9);
  // Both ends of a link tell of each other; nothing is settled in between.
  world.report_link("a", 5, "b", 6);
  Given links;
  world.manager->view(administrator, api::ViewRequest{.what = api::View::links}, links.reply());
  ASSERT_EQ(links->status, 200U);
  ASSERT_EQ(links.body().at("links").as_array().size(), 1U);
  EXPECT_EQ(links.body().at("links").as_array().front().at("efi").to_number<int>(), 0);
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_link_efi"));
}

} // namespace
} // namespace tributary::manager
