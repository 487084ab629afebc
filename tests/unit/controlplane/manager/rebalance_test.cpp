// Trees that could be better: the twins of a group after a fault and after its end, trees that were
// installed during a fault, and loads that could be more even.
#include "tests/unit/controlplane/manager/two_leaves.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

using Rebalance = TwoLeaves;

TEST_F(Rebalance, a_repaired_twin_keeps_off_its_sibling_where_a_path_is_free) {
  fabric(3);
  for (std::uint32_t g = 1; g < 6; ++g) {
    group("load" + std::to_string(g), g); // so that the free spine is not the least loaded one
  }
  group("twins", 0, 2);
  for (int again = 0; again < 6; ++again) {
    const auto before = spines_of("twins");
    ASSERT_EQ(before.size(), 2U);
    ASSERT_NE(before[0], before[1]);
    const std::uint32_t broken = number(before[static_cast<std::size_t>(again) % 2]);
    cut(1, broken);
    const auto after = spines_of("twins");
    ASSERT_EQ(after.size(), 2U);
    EXPECT_NE(after[0], after[1]) << "the repaired twin lies on its sibling";
    EXPECT_THAT(after, testing::Not(testing::Contains("spine" + std::to_string(broken))));
    link(1, broken);
  }
}

TEST_F(Rebalance, twins_that_had_to_share_lie_apart_again_when_there_is_a_path) {
  fabric(2);
  group("twins", 0, 2);
  cut(0, 1);
  EXPECT_THAT(spines_of("twins"), testing::ElementsAre("spine0", "spine0"));
  world.pass(100 * second);
  EXPECT_THAT(spines_of("twins"), testing::ElementsAre("spine0", "spine0"));
  link(0, 1);
  EXPECT_THAT(spines_of("twins"), testing::ElementsAre("spine0", "spine0")) << "not in a hurry";
  world.pass(40 * second);
  EXPECT_THAT(spines_of("twins"), testing::UnorderedElementsAre("spine0", "spine1"));
}

/// Six groups that were installed with one spine, before a second one is added.
class OneSpineMore : public Rebalance {
protected:
  OneSpineMore() {
    fabric(1);
    for (std::uint32_t g = 0; g < 6; ++g) {
      group("g" + std::to_string(g), g);
    }
    world.connect_star("spine1", 0, 1, 4);
    link(0, 1);
    link(1, 1);
  }
  std::uint32_t on(const std::string& spine) {
    std::uint32_t trees = 0;
    for (std::uint32_t g = 0; g < 6; ++g) {
      trees += spines_of("g" + std::to_string(g)).at(0) == spine ? 1 : 0;
    }
    return trees;
  }
  Given ask(bool dry_run, const api::Caller& caller = administrator) {
    Given given;
    world.manager->ask<&Manager::rebalance>(caller, dry_run, given.reply());
    world.reconcile();
    return given;
  }
};

TEST_F(OneSpineMore, what_would_be_moved_is_said_and_not_done) {
  for (int again = 0; again < 3; ++again) {
    const Given given = ask(true);
    ASSERT_TRUE(given.there());
    ASSERT_EQ(given->status, 200U);
    EXPECT_EQ(given.body().at("max_efi_before").to_number<int>(), 6);
    EXPECT_EQ(given.body().at("max_efi_after").to_number<int>(), 3);
    EXPECT_EQ(given.body().at("moves").as_array().size(), 3U);
    EXPECT_EQ(on("spine0"), 6U);
  }
}

TEST_F(OneSpineMore, only_an_administrator_has_them_moved) {
  const std::string token = world.create_job("other");
  EXPECT_EQ(ask(false, {.token = token, .administrator = false})->status, 403U);
  EXPECT_EQ(on("spine0"), 6U);
  const Given given = ask(false);
  EXPECT_EQ(given.body().at("moves").as_array().size(), 3U) << boost::json::serialize(given->body);
  EXPECT_EQ(on("spine0"), 3U);
  EXPECT_EQ(on("spine1"), 3U);
  for (const group::Group* group : world.manager->groups().groups()) {
    EXPECT_EQ(group->state, group::GroupState::ready);
    EXPECT_EQ(group->error, "");
  }
  const Given again = ask(false);
  EXPECT_TRUE(again.body().at("moves").as_array().empty());
  EXPECT_EQ(again.body().at("max_efi_before").to_number<int>(), 3);
}

TEST_F(OneSpineMore, they_are_moved_one_a_second_when_nothing_else_has_happened_for_a_while) {
  world.pass(29 * second);
  EXPECT_EQ(on("spine0"), 6U);
  std::uint32_t left = 6;
  for (int seconds = 0; seconds < 10; ++seconds) {
    world.pass(second);
    const std::uint32_t now = on("spine0");
    EXPECT_GE(now + 1, left) << "more than one at a time";
    left = now;
  }
  EXPECT_EQ(left, 3U);
  world.log.clear();
  world.pass(100 * second);
  EXPECT_THAT(world.log, testing::Not(testing::Contains("sent"))) << "it does not end";
}

TEST_F(OneSpineMore, nothing_is_moved_while_the_store_cannot_write_and_no_thread_polls) {
  world.store_is_full = true;
  world.manager->store_is_away("fabric.db was removed");
  world.pass(100 * second); // which checks each time that the next deadline is in the future
  EXPECT_EQ(on("spine0"), 6U);
  world.store_is_full = false;
  world.pass(100 * second);
  EXPECT_EQ(on("spine0"), 3U);
}

} // namespace
} // namespace tributary::manager
