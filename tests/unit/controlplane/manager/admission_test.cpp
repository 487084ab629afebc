// Groups over switches whose engines have few descriptors.
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/manager/two_leaves.hpp"

#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

class Admission : public TwoLeaves {
protected:
  void fabric_with(std::uint32_t descriptors, std::uint32_t spines) {
    world.descriptors_per_engine = descriptors;
    fabric(spines);
  }
  void destroy(const std::string& name) {
    const Given given;
    world.manager->ask<&Manager::delete_group>(administrator, {"job", name}, given.reply());
    world.reconcile();
  }
  std::string refused(const std::string& name, std::uint32_t host) {
    const Given given = asked(name, host);
    if (!given.there() || given->status != 507) {
      ADD_FAILURE() << (given.there() ? boost::json::serialize(given->body) : "no answer");
      return {};
    }
    return given.message();
  }
  std::string problems() {
    const Given answer;
    world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = api::View::topology},
                                       answer.reply());
    return boost::json::serialize(answer.body().at("problems"));
  }
  boost::json::array engines_of(const std::string& name) {
    const Given answer;
    world.manager->ask<&Manager::view>(
        administrator, api::ViewRequest{.what = api::View::switches, .id = name}, answer.reply());
    return answer.body().at("engines").as_array();
  }
};

TEST_F(Admission, a_group_for_which_an_engine_has_nothing_left_is_refused_by_its_name) {
  fabric_with(16, 1);
  group("a", 0);
  group("b", 1);
  EXPECT_THAT(refused("c", 2),
              AllOf(HasSubstr("04: group 'c' of job job has no tree"), HasSubstr("spine0 port 0"),
                    HasSubstr("(to leaf0)"), HasSubstr("has 16 descriptors"),
                    HasSubstr("2 other trees may hold 16"), HasSubstr("of group 'a'"),
                    HasSubstr("of group 'b'"), HasSubstr("descriptors_per_engine")));
  EXPECT_EQ(world.manager->groups().find("job", "c"), nullptr);
  destroy("a");
  group("c", 2);
}

TEST_F(Admission, a_group_is_led_around_engines_that_are_full) {
  fabric_with(8, 3);
  for (std::uint32_t g = 0; g < 3; ++g) {
    group("g" + std::to_string(g), g);
  }
  std::vector<std::string> used;
  for (std::uint32_t g = 0; g < 3; ++g) {
    used.push_back(spines_of("g" + std::to_string(g)).at(0));
  }
  EXPECT_THAT(used, UnorderedElementsAre("spine0", "spine1", "spine2"));
  EXPECT_THAT(refused("g3", 3), HasSubstr("port"));
}

TEST_F(Admission, also_where_the_path_that_is_left_carries_more) {
  // spine1 has few descriptors, spine0 has enough: its links fill up first.
  world.descriptors_per_engine = reduction_keys;
  fabric(1);
  for (std::uint32_t g = 0; g < 3; ++g) {
    group("g" + std::to_string(g), g);
  }
  world.descriptors_per_engine = 8;
  world.connect_star("spine1", 0, 1, 4);
  link(0, 1);
  link(1, 1);
  group("first", 3);
  EXPECT_THAT(spines_of("first"), ElementsAre("spine1")) << "the emptier one";
  group("second", 4);
  EXPECT_THAT(spines_of("second"), ElementsAre("spine0")) << "the other one's engine is full";
}

TEST_F(Admission, a_group_alone_takes_what_there_is) {
  fabric_with(4, 1);
  group("twins", 0, 2);
  EXPECT_THAT(refused("other", 1), HasSubstr("has 4 descriptors"));
}

TEST_F(Admission, is_not_asked_where_engines_have_a_descriptor_for_every_reduction) {
  fabric_with(reduction_keys, 1);
  for (std::uint32_t g = 0; g < per_leaf; ++g) {
    group("g" + std::to_string(g), g);
  }
}

TEST_F(Admission, counts_what_the_configuration_says_and_that_changes_while_it_runs) {
  fabric_with(8, 1);
  group("a", 0);
  static_cast<void>(refused("b", 1));
  group::Settings groups = long_leases().groups;
  groups.descriptors_per_tree = 4;
  world.manager->reconfigure(groups);
  group("b", 1);
  EXPECT_THAT(refused("c", 2), HasSubstr("a tree may hold 4"));
  groups.descriptors_per_tree = 0;
  world.manager->reconfigure(groups);
  group("c", 2);
}

TEST_F(Admission, refuses_no_tree_that_broke_and_names_the_engine_that_it_overbooks) {
  fabric_with(8, 2);
  group("a", 0);
  group("b", 1);
  ASSERT_NE(spines_of("a"), spines_of("b"));
  EXPECT_THAT(problems(), Not(HasSubstr("descriptors")));
  cut(1, number(spines_of("a").at(0)));
  EXPECT_EQ(spines_of("a"), spines_of("b"));
  EXPECT_EQ(world.manager->groups().find("job", "a")->error, "");
  const std::string spine = spines_of("b").at(0);
  EXPECT_THAT(problems(), HasSubstr(spine + " port 0: 2 trees may hold 16 descriptors of its "
                                            "engine, which has 8"));
  destroy("a");
  EXPECT_THAT(problems(), Not(HasSubstr("descriptors")));
}

TEST_F(Admission, nothing_is_moved_by_itself_to_where_an_engine_is_full) {
  world.descriptors_per_engine = reduction_keys;
  fabric(1);
  for (std::uint32_t g = 0; g < 6; ++g) {
    group("g" + std::to_string(g), g);
  }
  world.descriptors_per_engine = 8; // one tree
  world.connect_star("spine1", 0, 1, 4);
  link(0, 1);
  link(1, 1);
  world.pass(200 * second);
  std::uint32_t there = 0;
  for (std::uint32_t g = 0; g < 6; ++g) {
    there += spines_of("g" + std::to_string(g)).at(0) == "spine1" ? 1 : 0;
  }
  EXPECT_EQ(there, 1U);
}

TEST_F(Admission, is_the_same_after_a_restart_of_the_manager) {
  const test::ScratchDirectory scratch;
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load_sound());
  fabric_with(8, 1);
  group("a", 0);
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load_sound());
  ASSERT_NE(world.manager->groups().find("job", "a"), nullptr);
  fabric_with(8, 1);
  ASSERT_EQ(spines_of("a"), std::vector<std::string>{"spine0"});
  EXPECT_THAT(refused("b", 1), HasSubstr("of group 'a'"));
}

TEST_F(Admission, what_is_booked_is_seen_at_the_switch_and_in_the_metrics) {
  fabric_with(16, 1);
  EXPECT_TRUE(engines_of("spine0").empty());
  group("a", 0);
  EXPECT_EQ(boost::json::serialize(engines_of("spine0")), R"([{"port":0,"trees":1,"may_hold":8}])");
  EXPECT_THAT(world.metrics(),
              AllOf(HasSubstr("tributary_engine_descriptors{switch=\"spine0\"} 16\n"),
                    HasSubstr("tributary_engine_descriptors_booked{switch=\"spine0\",port=\"0\"} "
                              "8\n")));
  destroy("a");
  EXPECT_TRUE(engines_of("spine0").empty());
}

} // namespace
} // namespace tributary::manager
