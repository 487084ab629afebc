// Groups with in-switch results: who asks for them, which switch is configured for them, and the
// effect of new trees.
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/manager/two_leaves.hpp"

#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

class InSwitch : public TwoLeaves {
protected:
  /// Ranks 0 and 1, a host of each leaf; the second one requests it.
  Given asked_in_switch(const std::string& name, std::uint32_t host) {
    static_cast<void>(world.join(name, 2, 0, 1 + host, administrator));
    world.asks_in_switch = true;
    const Given two = world.join(name, 2, 1, 1 + host + per_leaf, administrator);
    world.asks_in_switch.reset();
    world.reconcile();
    return two;
  }
  /// The group's tree as last sent to each switch.
  std::map<std::string, control::Tree> told(const std::string& name) {
    std::map<std::string, control::Tree> trees;
    const group::Group* const group = world.manager->groups().find("job", name);
    for (const auto& [at, session] : world.sessions) {
      const auto found = world.trees.find({session, group->routes[0].number.value});
      if (found != world.trees.end()) {
        trees[at] = found->second;
      }
    }
    return trees;
  }
  /// The first member joins again.
  Given again(const std::string& name) {
    const Given one = world.join(name, 2, 0, 1);
    world.reconcile();
    return one;
  }
  std::string top_of(const std::string& name) {
    return world.manager->groups().find("job", name)->root == 0 ? "leaf0" : "leaf1";
  }
  void expect_in_switch_at_top(const std::string& name, bool in_switch_results) {
    const auto trees = told(name);
    EXPECT_GE(trees.size(), 1U);
    for (const auto& [at, tree] : trees) {
      const bool here = in_switch_results && at == top_of(name);
      EXPECT_EQ(tree.in_switch_results(), here) << at;
      EXPECT_EQ(tree.wait_count(), here ? 2U : 1U) << at;
    }
  }
  static bool in_switch(const Given& given) {
    EXPECT_TRUE(given.there());
    EXPECT_EQ(given->status, 200U) << boost::json::serialize(given->body);
    return given.body().at("in_switch_results").as_bool();
  }
  boost::json::object shown(api::View what, const std::string& id) {
    const Given given;
    world.manager->ask<&Manager::view>(administrator, {.what = what, .id = id}, given.reply());
    EXPECT_EQ(given->status, 200U);
    return given.body();
  }
};

TEST_F(InSwitch, one_member_that_asks_is_enough_and_the_switch_next_to_the_root_is_told) {
  fabric(1);
  EXPECT_TRUE(in_switch(asked_in_switch("g", 0)));
  expect_in_switch_at_top("g", true);
  EXPECT_TRUE(in_switch(again("g"))) << "so are those that have not asked";
}

TEST_F(InSwitch, a_group_that_does_not_say_gets_it) {
  fabric(1);
  group("g", 0);
  expect_in_switch_at_top("g", true);
  EXPECT_TRUE(in_switch(again("g")));
}

TEST_F(InSwitch, a_site_can_leave_it_to_those_who_ask) {
  group::Settings groups = long_leases().groups;
  groups.in_switch_results = false;
  world.manager->reconfigure(groups);
  fabric(1);
  group("g", 0);
  expect_in_switch_at_top("g", false);
  const Given one = again("g");
  EXPECT_FALSE(in_switch(one));
  EXPECT_THAT(std::string(one.body().at("in_switch_note").as_string()),
              HasSubstr("groups.in_switch_results is false"));
  EXPECT_TRUE(in_switch(asked_in_switch("h", 1)));
}

TEST_F(InSwitch, what_a_group_has_stays_when_the_site_changes_its_mind) {
  fabric(1);
  group("g", 0);
  group::Settings groups = long_leases().groups;
  groups.in_switch_results = false;
  world.manager->reconfigure(groups);
  world.pass(5 * second);
  expect_in_switch_at_top("g", true);
  EXPECT_TRUE(in_switch(again("g")));
}

TEST_F(InSwitch, who_refuses_it_has_the_last_word) {
  fabric(1);
  world.asks_in_switch = false;
  static_cast<void>(world.join("g", 2, 0, 1));
  world.asks_in_switch = true;
  const Given two = world.join("g", 2, 1, 1 + per_leaf);
  world.reconcile();
  EXPECT_FALSE(in_switch(two));
  EXPECT_THAT(std::string(two.body().at("in_switch_note").as_string()),
              HasSubstr("--no-in-switch-results"));
  expect_in_switch_at_top("g", false);
}

TEST_F(InSwitch, two_trees_of_a_group_that_does_not_say_are_as_ever) {
  fabric(2);
  static_cast<void>(world.join("g", 2, 0, 1, administrator, 1000, 2));
  const Given two = world.join("g", 2, 1, 1 + per_leaf, administrator, 1000, 2);
  world.reconcile();
  EXPECT_FALSE(in_switch(two));
  EXPECT_THAT(std::string(two.body().at("in_switch_note").as_string()),
              HasSubstr("it has 2 trees"));
  expect_in_switch_at_top("g", false);
}

TEST_F(InSwitch, a_group_that_was_made_before_its_members_join_may_ask) {
  fabric(1);
  Given made;
  world.manager->ask<&Manager::create_group>(
      administrator, {.job = "job", .name = "g", .size = 2, .in_switch_results = true},
      made.reply());
  EXPECT_TRUE(in_switch(asked("g", 0)));
  expect_in_switch_at_top("g", true);
}

TEST_F(InSwitch, two_trees_are_refused) {
  fabric(2);
  world.asks_in_switch = true;
  const Given one = world.join("g", 2, 0, 1, administrator, 1000, 2);
  world.reconcile();
  EXPECT_EQ(one->status, 400U);
  EXPECT_THAT(boost::json::serialize(one->body), HasSubstr("only one tree can be"));
}

TEST_F(InSwitch, groups_of_one_and_of_one_switch) {
  fabric(1);
  world.asks_in_switch = true;
  const Given alone = world.join("alone", 1, 0, 1);
  world.reconcile();
  EXPECT_TRUE(in_switch(alone));
  EXPECT_TRUE(told("alone").empty()) << "no switch has anything of it";
  static_cast<void>(world.join("near", 3, 0, 2));
  static_cast<void>(world.join("near", 3, 1, 3));
  const Given near = world.join("near", 3, 2, 4);
  world.reconcile();
  EXPECT_TRUE(in_switch(near));
  const auto trees = told("near");
  ASSERT_EQ(trees.size(), 1U);
  EXPECT_TRUE(trees.at("leaf0").in_switch_results());
  EXPECT_EQ(trees.at("leaf0").wait_count(), 3U);
}

TEST_F(InSwitch, a_rerouted_tree_keeps_in_switch_results) {
  fabric(2);
  EXPECT_TRUE(in_switch(asked_in_switch("g", 0)));
  const std::uint32_t before = number(spines_of("g").at(0));
  cut(0, before);
  world.pass(5 * second);
  EXPECT_NE(number(spines_of("g").at(0)), before);
  expect_in_switch_at_top("g", true);
  EXPECT_TRUE(in_switch(again("g")));
}

TEST_F(InSwitch, survives_a_restart_of_the_manager) {
  const test::ScratchDirectory scratch;
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart({});
  fabric(1);
  EXPECT_TRUE(in_switch(asked_in_switch("g", 0)));
  world.trees.clear();
  world.disk.reset();
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load());
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
    world.connect_star("leaf" + std::to_string(leaf), per_leaf, 1 + leaf * per_leaf, 16);
  }
  world.connect_star("spine0", 0, 1, 4);
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
    link(leaf, 0);
  }
  world.pass(5 * second);
  expect_in_switch_at_top("g", true);
  EXPECT_TRUE(in_switch(again("g")));
}

// Shared frames are agreed on likewise, for all switches of the trees.

TEST_F(InSwitch, a_group_shares_its_tree_where_all_switches_can) {
  fabric(1);
  group("g", 0);
  EXPECT_TRUE(again("g").body().at("shared_frames").as_bool());
  for (const auto& [at, tree] : told("g")) {
    EXPECT_TRUE(tree.shared()) << at;
  }
}

TEST_F(InSwitch, a_group_does_not_share_a_tree_over_a_switch_that_cannot) {
  world.knows_shared_frames = false;
  fabric(1);
  group("g", 0);
  EXPECT_FALSE(again("g").body().at("shared_frames").as_bool());
  for (const auto& [at, tree] : told("g")) {
    EXPECT_FALSE(tree.shared()) << at;
  }
}

TEST_F(InSwitch, a_site_can_have_no_shared_trees) {
  group::Settings groups = long_leases().groups;
  groups.shared_frames = false;
  world.manager->reconfigure(groups);
  fabric(1);
  group("g", 0);
  EXPECT_FALSE(again("g").body().at("shared_frames").as_bool());
}

TEST_F(InSwitch, a_rerouted_tree_stays_shared) {
  fabric(2);
  group("g", 0);
  const std::uint32_t before = number(spines_of("g").at(0));
  cut(0, before);
  world.pass(5 * second);
  EXPECT_NE(number(spines_of("g").at(0)), before);
  for (const auto& [at, tree] : told("g")) {
    EXPECT_TRUE(tree.shared()) << at;
  }
  EXPECT_TRUE(again("g").body().at("shared_frames").as_bool());
}

TEST_F(InSwitch, the_top_switch_needs_a_payload_more_for_each_slot) {
  constexpr std::uint64_t place = 16 * 1408;
  world.wide = {.payload = 8896, .slots = 128, .memory = 2 * place, .forms = 2};
  group::Settings groups = long_leases().groups;
  groups.frames = {.slots = 16, .payload = 1408, .half_floats = false};
  world.manager->reconfigure(groups);
  world.takes = group::any_frames;
  fabric(1);
  const Given given = asked_in_switch("g", 0);
  EXPECT_TRUE(in_switch(given));
  EXPECT_EQ(given.body().at("slots").to_number<std::uint64_t>(), 16U);
  const std::string other = top_of("g") == "leaf0" ? "leaf1" : "leaf0";
  EXPECT_EQ(shown(api::View::memory, top_of("g")).at("used").to_number<std::uint64_t>(), 2 * place);
  EXPECT_EQ(shown(api::View::memory, other).at("used").to_number<std::uint64_t>(), place);
}

TEST_F(InSwitch,
       a_group_that_does_not_say_keeps_its_wide_frames_where_a_switch_is_short_of_memory) {
  constexpr std::uint64_t place = 16 * 1408;
  world.wide = {.payload = 8896, .slots = 128, .memory = place, .forms = 2};
  group::Settings groups = long_leases().groups;
  groups.frames = {.slots = 16, .payload = 1408, .half_floats = false};
  world.manager->reconfigure(groups);
  world.takes = group::any_frames;
  fabric(1);
  group("g", 0);
  const Given one = again("g");
  EXPECT_FALSE(in_switch(one));
  EXPECT_EQ(one.body().at("slots").to_number<std::uint64_t>(), 16U);
  EXPECT_THAT(std::string(one.body().at("in_switch_note").as_string()),
              HasSubstr("fewer than 16 reductions in flight"));
  expect_in_switch_at_top("g", false);
}

TEST_F(InSwitch, groups_and_trees_show_it) {
  fabric(1);
  EXPECT_TRUE(in_switch(asked_in_switch("g", 0)));
  EXPECT_TRUE(shown(api::View::groups, "g").at("in_switch_results").as_bool());
  const auto number = world.manager->groups().find("job", "g")->routes[0].number.value;
  const auto tree = shown(api::View::trees, std::to_string(number));
  EXPECT_TRUE(tree.at("in_switch_results").as_bool());
  for (const auto& part : tree.at("parts").as_array()) {
    const bool top = std::string(part.at("switch").as_string()) == top_of("g");
    EXPECT_EQ(part.at("in_switch_results").as_bool(), top);
    EXPECT_EQ(part.at("wait_count").to_number<std::uint64_t>(), top ? 2U : 1U);
  }
}

} // namespace
} // namespace tributary::manager
