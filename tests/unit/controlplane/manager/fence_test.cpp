// A manager among others: which switches it accepts, when it changes nothing any more, and the
// operator's agreement.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include "tests/support/scratch_directory.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace tributary::manager {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FenceTest : public testing::Test {
protected:
  static constexpr std::uint64_t ours = 0xA;
  static constexpr std::uint64_t theirs = 0xB;

  FenceTest() {
    world.set_boot(77);
    world.disk.emplace(scratch.file("fabric.db"));
    records::Snapshot past = world.disk->load();
    past.fabric = ours;
    past.epoch = 5;
    world.restart(past);
    world.create_job("job");
    world.connect_star("leaf", 4);
  }
  /// As the stored state says, with the epoch of the next start.
  void restart() {
    records::Snapshot past = world.disk->load();
    past.fabric = ours;
    past.epoch = std::max<std::uint64_t>(past.epoch, world_epoch()) + 1;
    world.restart(past);
  }
  std::uint64_t world_epoch() {
    return managers().at("managers").at(0).at("epoch").to_number<std::uint64_t>();
  }
  std::string role() { return std::string(managers().at("managers").at(0).at("role").as_string()); }
  boost::json::value managers() {
    Given given;
    world.manager->ask<&Manager::view_managers>(administrator, {}, given.reply());
    return given->body;
  }
  /// A switch that has accepted this manager connects.
  void connect_after(const std::string& name, const Leader& leader) {
    world.accepted_before = leader;
    world.connect_star(name, 2, 100);
    world.accepted_before = {};
  }
  Given adopt(std::uint64_t fabric) {
    Given given;
    world.manager->ask<&Manager::adopt_fabric>(administrator, {.fabric = fabric}, given.reply());
    world.reconcile();
    return given;
  }
  /// The members of a group of two.
  void make_group() {
    static_cast<void>(world.join("demo", 2, 0, 1));
    static_cast<void>(world.join("demo", 2, 1, 2));
    world.reconcile();
    ASSERT_EQ(state_of_group(), group::GroupState::ready);
  }
  group::GroupState state_of_group() {
    const group::Group* const group = world.manager->groups().find("job", "demo");
    return group == nullptr ? group::GroupState::gone : group->state;
  }
  std::vector<std::string> errors() {
    std::vector<std::string> found;
    for (const api::Event& event : world.events_of(administrator)) {
      if (event.body.at("severity").as_string() == "error") {
        found.emplace_back(event.body.at("text").as_string());
      }
    }
    return found;
  }

  test::ScratchDirectory scratch;
  World world;
};

TEST_F(FenceTest, welcome_has_the_fabric_and_the_epoch) {
  EXPECT_EQ(world.rejected, std::nullopt);
  EXPECT_EQ(world.welcome.leader().fabric(), ours);
  EXPECT_EQ(world.welcome.leader().epoch(), 5U);
  EXPECT_EQ(world.welcome.leader().boot(), 77U);
  EXPECT_EQ(world.welcome.adopted_fabric(), 0U);
}

TEST_F(FenceTest, switches_of_this_fabric_that_met_no_newer_manager_are_accepted) {
  connect_after("older", {ours, 4, 12});
  EXPECT_EQ(world.rejected, std::nullopt);
  connect_after("same", {ours, 5, 77});
  EXPECT_EQ(world.rejected, std::nullopt);
  connect_after("unstored", {ours, 5, 0});
  EXPECT_EQ(world.rejected, std::nullopt);
  EXPECT_EQ(role(), "leader");
}

TEST_F(FenceTest, a_switch_of_another_fabric_is_rejected_and_the_others_are_managed_as_before) {
  world.log.clear();
  connect_after("stranger", {theirs, 9, 1});
  ASSERT_TRUE(world.rejected.has_value());
  EXPECT_THAT(*world.rejected, HasSubstr("switch \"stranger\" belongs to fabric 000000000000000b "
                                         "(epoch 9)"));
  EXPECT_THAT(*world.rejected, HasSubstr("tributaryctl fabric adopt 000000000000000b"));
  EXPECT_THAT(world.log, Not(Contains("sent")));
  EXPECT_EQ(world.manager->graph().find_switch("stranger"), std::nullopt);
  EXPECT_THAT(errors(), Contains(HasSubstr("rejected: switch \"stranger\"")));
  EXPECT_EQ(world.manager->not_ready_because(), "");
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_switches_of_other_fabrics 1\n"));
  make_group();
}

TEST_F(FenceTest, a_fabric_is_reported_once_however_many_switches_of_it_dial) {
  for (int i = 0; i < 20; ++i) {
    connect_after("stranger" + std::to_string(i), {theirs, 9, 1});
  }
  EXPECT_EQ(errors().size(), 1U);
  EXPECT_EQ(managers().at("other_fabrics").at(0).at("switches").as_array().size(), 20U);
  connect_after("stranger0", {theirs, 10, 1});
  EXPECT_EQ(errors().size(), 2U) << "its manager has started again";
}

TEST_F(FenceTest, a_rejected_switch_that_dials_no_more_is_forgotten) {
  connect_after("stranger", {theirs, 9, 1});
  world.pass(61 * World::second);
  EXPECT_THAT(managers().at("other_fabrics").as_array(), IsEmpty());
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_switches_of_other_fabrics 0\n"));
}

TEST_F(FenceTest, one_that_dials_without_its_past_is_no_stranger_any_more) {
  connect_after("stranger", {theirs, 9, 1});
  world.connect_star("stranger", 2, 100); // started again
  EXPECT_EQ(world.rejected, std::nullopt);
  EXPECT_THAT(managers().at("other_fabrics").as_array(), IsEmpty());
}

TEST_F(FenceTest, an_adopted_fabric_is_accepted_up_to_the_epoch_that_was_met) {
  EXPECT_EQ(adopt(theirs)->status, 404U) << "none of it has connected";
  connect_after("stranger", {theirs, 9, 1});
  const Given adopted = adopt(theirs);
  ASSERT_TRUE(adopted.there());
  EXPECT_EQ(adopted->status, 200U);
  EXPECT_EQ(world_epoch(), 6U) << "the later one of two managers that adopt each other wins";
  connect_after("stranger", {theirs, 9, 1});
  EXPECT_EQ(world.rejected, std::nullopt);
  EXPECT_EQ(world.welcome.adopted_fabric(), theirs);
  EXPECT_EQ(world.welcome.leader().epoch(), 6U);
  connect_after("other", {theirs, 10, 1});
  EXPECT_NE(world.rejected, std::nullopt) << "the other fabric's manager is alive";
}

TEST_F(FenceTest, an_adoption_holds_after_a_restart) {
  connect_after("stranger", {theirs, 9, 1});
  static_cast<void>(adopt(theirs));
  restart();
  EXPECT_EQ(world_epoch(), 7U);
  connect_after("stranger", {theirs, 9, 1});
  EXPECT_EQ(world.rejected, std::nullopt);
}

TEST_F(FenceTest, a_newer_epoch_supersedes_the_manager_and_it_changes_nothing) {
  make_group();
  world.log.clear();
  connect_after("spine", {ours, 6, 78});
  ASSERT_TRUE(world.rejected.has_value());
  EXPECT_THAT(*world.rejected,
              HasSubstr("switch \"spine\" has accepted a manager of this fabric with epoch 6, and "
                        "this manager's is 5"));
  EXPECT_THAT(*world.rejected, HasSubstr("tributaryctl fabric adopt 000000000000000a"));
  EXPECT_THAT(world.log, Contains("closed " + *world.rejected)) << "leaf may find the newer one";
  EXPECT_THAT(world.log, Not(Contains("sent")));
  EXPECT_EQ(role(), "superseded");
  EXPECT_THAT(world.manager->not_ready_because(), HasSubstr("superseded: switch \"spine\""));
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_superseded 1\n"));
  world.connect_star("leaf", 4);
  EXPECT_NE(world.rejected, std::nullopt);
}

TEST_F(FenceTest, a_superseded_manager_answers_views_and_refuses_changes) {
  make_group();
  connect_after("spine", {ours, 6, 78});
  const Given joined = world.join("other", 2, 0, 3);
  ASSERT_TRUE(joined.there());
  EXPECT_EQ(joined->status, 503U);
  EXPECT_THAT(joined.message(), HasSubstr("this manager is superseded: switch \"spine\""));
  Given renewed;
  world.manager->ask<&Manager::renew_lease>(administrator, {"job", "demo", 0}, renewed.reply());
  EXPECT_EQ(renewed->status, 503U);
  Given moved;
  world.manager->ask<&Manager::rebalance>(administrator, false, moved.reply());
  EXPECT_EQ(moved->status, 503U);
  Given seen;
  world.manager->ask<&Manager::get_group>(administrator, {"job", "demo"}, seen.reply());
  EXPECT_EQ(seen->status, 200U);
}

TEST_F(FenceTest, requests_that_wait_are_answered_when_the_manager_is_superseded) {
  const Given waits = world.join("demo", 2, 0, 1, administrator, 30'000);
  world.reconcile();
  ASSERT_FALSE(waits.there());
  connect_after("spine", {ours, 6, 78});
  ASSERT_TRUE(waits.there());
  EXPECT_EQ(waits->status, 503U);
}

TEST_F(FenceTest, no_lease_ends_while_the_manager_is_superseded) {
  make_group();
  connect_after("spine", {ours, 6, 78});
  world.pass(3600 * World::second);
  EXPECT_EQ(state_of_group(), group::GroupState::ready);
  EXPECT_EQ(adopt(ours)->status, 200U);
  world.connect_star("leaf", 4);
  EXPECT_EQ(world.rejected, std::nullopt);
  EXPECT_EQ(state_of_group(), group::GroupState::ready);
  Given renewed;
  world.manager->ask<&Manager::renew_lease>(administrator, {"job", "demo", 0}, renewed.reply());
  EXPECT_EQ(renewed->status, 200U);
  world.pass(600 * World::second);
  EXPECT_NE(state_of_group(), group::GroupState::ready) << "time goes on";
}

TEST_F(FenceTest, the_operator_lets_it_lead_with_an_epoch_above_the_one_that_was_met) {
  connect_after("spine", {ours, 41, 78});
  const Given adopted = adopt(ours);
  ASSERT_TRUE(adopted.there());
  EXPECT_EQ(adopted->status, 200U);
  EXPECT_EQ(adopted.body().at("epoch").to_number<int>(), 42);
  EXPECT_EQ(role(), "leader");
  connect_after("spine", {ours, 41, 78});
  EXPECT_EQ(world.rejected, std::nullopt);
  EXPECT_EQ(world.welcome.leader().epoch(), 42U);
  EXPECT_EQ(adopt(ours)->status, 409U) << "it leads already";
}

TEST_F(FenceTest, it_stays_superseded_after_restarts_though_they_raise_its_epoch) {
  connect_after("spine", {ours, 6, 78});
  for (int start = 0; start < 3; ++start) {
    restart();
  }
  EXPECT_EQ(world_epoch(), 8U);
  EXPECT_EQ(role(), "superseded");
  world.connect_star("leaf", 4);
  ASSERT_TRUE(world.rejected.has_value());
  EXPECT_THAT(*world.rejected, HasSubstr("before its start this manager has met a switch"));
  EXPECT_EQ(adopt(ours)->status, 200U);
  EXPECT_EQ(world_epoch(), 9U);
  restart();
  EXPECT_EQ(role(), "leader");
}

TEST_F(FenceTest, the_same_epoch_of_another_start_supersedes_it_too) {
  connect_after("spine", {ours, 5, 78});
  ASSERT_TRUE(world.rejected.has_value());
  EXPECT_THAT(*world.rejected, HasSubstr("with the same epoch 5: one of both runs on a copy"));
  EXPECT_EQ(role(), "superseded");
  EXPECT_EQ(adopt(ours).body().at("epoch").to_number<int>(), 6);
}

TEST_F(FenceTest, an_epoch_that_cannot_be_rejects_the_switch_and_nothing_else) {
  const std::uint32_t most = 5 + fabric_controller::Fence::most_ahead;
  connect_after("liar", {ours, most + 1, 78});
  ASSERT_TRUE(world.rejected.has_value());
  EXPECT_THAT(*world.rejected, HasSubstr("that cannot be; restart the switch"));
  EXPECT_EQ(role(), "leader");
  make_group();
  connect_after("spine", {ours, most, 78});
  EXPECT_EQ(role(), "superseded");
}

TEST_F(FenceTest, any_number_of_names_of_other_fabrics_is_remembered_only_up_to_a_bound) {
  for (std::uint32_t i = 0; i < 5000; ++i) {
    connect_after("liar" + std::to_string(i), {theirs + i % 3, 9, 1});
  }
  std::size_t names = 0;
  for (const boost::json::value& fabric : managers().at("other_fabrics").as_array()) {
    names += fabric.at("switches").as_array().size();
  }
  EXPECT_EQ(names, 4096U);
}

TEST_F(FenceTest, an_agreement_that_cannot_be_stored_is_not_in_effect_before_it_is) {
  connect_after("spine", {ours, 6, 78});
  world.store_is_full = true;
  const Given refused = adopt(ours);
  ASSERT_TRUE(refused.there());
  EXPECT_EQ(refused->status, 503U);
  EXPECT_THAT(refused.message(), HasSubstr("cannot be stored now"));
  EXPECT_EQ(role(), "superseded");
  world.store_is_full = false;
  EXPECT_EQ(adopt(ours)->status, 200U);
  EXPECT_EQ(role(), "leader");
}

TEST_F(FenceTest, managers_that_stand_by_are_listed) {
  Settings settings;
  settings.standbys = [] { return std::vector<api::StandbyPlace>{{"fm2", {"https://fm2:7580"}}}; };
  World other(settings);
  Given given;
  other.manager->ask<&Manager::view_managers>(administrator, {}, given.reply());
  const boost::json::value& standby = given.body().at("managers").at(1);
  EXPECT_EQ(standby.at("name").as_string(), "fm2");
  EXPECT_EQ(standby.at("role").as_string(), "standby");
  EXPECT_EQ(standby.at("addresses").at(0).as_string(), "https://fm2:7580");
}

TEST_F(FenceTest, only_an_administrator_adopts) {
  connect_after("stranger", {theirs, 9, 1});
  Given given;
  world.manager->ask<&Manager::adopt_fabric>({}, {.fabric = theirs}, given.reply());
  EXPECT_EQ(given->status, 401U);
}

TEST_F(FenceTest, a_manager_on_a_store_without_a_fabric_reports_none) {
  world.restart({});
  world.connect_star("leaf", 4);
  EXPECT_FALSE(world.welcome.has_leader());
  EXPECT_EQ(world.rejected, std::nullopt);
  connect_after("spine", {theirs, 1, 1});
  ASSERT_TRUE(world.rejected.has_value()) << "it would not accept this manager";
  EXPECT_THAT(*world.rejected, HasSubstr("has no identity of a fabric"));
}

TEST_F(FenceTest, readiness_names_the_other_fabric_when_no_switch_is_accepted) {
  records::Snapshot past;
  past.fabric = ours;
  world.restart(past);
  EXPECT_THAT(world.manager->not_ready_because(), HasSubstr("no switch is connected"));
  connect_after("leaf", {theirs, 1, 1});
  EXPECT_THAT(world.manager->not_ready_because(), HasSubstr("1 switch of fabric 000000000000000b"));
}

} // namespace
} // namespace tributary::manager
