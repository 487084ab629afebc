// Work that throws fails alone: groups and the log get the reason, dependent work is retried, and
// the manager keeps running.
#include "controlplane/multicast/prism.hpp"
#include "tests/unit/controlplane/manager/two_leaves.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace tributary::manager {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t second = World::second;

/// Plans as it should, or throws.
class FailingAlgorithm final : public multicast::Algorithm {
public:
  FailingAlgorithm(multicast::Distances& distances, std::shared_ptr<bool> fails)
      : real_(std::make_unique<multicast::Prism>(distances.view(), distances, 1)),
        fails_(std::move(fails)) {}
  std::optional<multicast::Tree> route(std::span<const topology::SwitchId> members,
                                       const multicast::Loads& loads) override {
    if (*fails_) {
      throw std::bad_alloc();
    }
    return real_->route(members, loads);
  }

private:
  std::unique_ptr<multicast::Algorithm> real_;
  std::shared_ptr<bool> fails_;
};

Settings failing_when(const std::shared_ptr<bool>& fails) {
  Settings settings;
  settings.groups.lease_ns = 3'600'000'000'000;
  settings.rebalance_quiet_ns = 30 * second;
  settings.planner.make = [fails](multicast::Distances& distances) {
    return std::make_unique<FailingAlgorithm>(distances, fails);
  };
  return settings;
}

std::vector<std::string> texts_of(World& world) {
  std::vector<std::string> texts;
  for (const api::Event& event : world.events_of(administrator)) {
    texts.push_back(boost::json::serialize(event.body));
  }
  return texts;
}

/// Two leaves with four hosts each, and two spines.
class PlanningFails : public testing::Test {
protected:
  PlanningFails() {
    world.create_job("job");
    for (const std::string leaf : {"leaf0", "leaf1"}) {
      world.connect_star(leaf, 4, leaf == "leaf0" ? 1 : 5);
    }
    for (std::uint32_t spine = 0; spine < 2; ++spine) {
      world.connect_star("spine" + std::to_string(spine), 0, 1, 4);
      for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
        world.report_link("leaf" + std::to_string(leaf), 4 + spine, "spine" + std::to_string(spine),
                          leaf);
      }
    }
    world.reconcile();
    world.pass(5 * second);
  }
  Given asked(const std::string& name, std::uint32_t host, std::uint32_t trees = 1) {
    static_cast<void>(world.join(name, 2, 0, 1 + host, administrator, 1000, trees));
    Given two = world.join(name, 2, 1, 5 + host, administrator, 1000, trees);
    world.reconcile();
    return two;
  }
  void cut(std::uint32_t spine) {
    world.report_down("leaf1", 4 + spine);
    world.report_down("spine" + std::to_string(spine), 1);
    world.reconcile();
  }
  std::string spine_of(const std::string& name) {
    for (const auto& part : world.manager->groups().find("job", name)->routes.front().form.parts) {
      if (part.at.starts_with("spine")) {
        return part.at;
      }
    }
    return {};
  }
  /// Every load equals that of the existing trees.
  void expect_loads_balance() {
    Given links;
    world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = api::View::links},
                                       links.reply());
    std::uint64_t loads = 0;
    for (const auto& link : links.body().at("links").as_array()) {
      loads += link.at("efi").to_number<std::uint64_t>();
    }
    std::uint64_t wanted = 0;
    for (const auto& [id, life] : world.manager->states().all()) {
      for (const auto& tree : life.trees) {
        wanted += tree.tree.links.size();
      }
    }
    EXPECT_EQ(loads, wanted);
  }

  std::shared_ptr<bool> fails = std::make_shared<bool>(false);
  World world{failing_when(fails)};
};

TEST_F(PlanningFails, of_a_new_group_and_it_is_notified_and_the_next_one_is_served) {
  *fails = true;
  for (const std::uint32_t trees : {1U, 2U}) {
    const Given refused = asked("g" + std::to_string(trees), 0, trees);
    ASSERT_TRUE(refused.there());
    EXPECT_EQ(refused->status, 503U);
    EXPECT_THAT(refused.message(),
                AllOf(HasSubstr("could not be planned"), HasSubstr("std::bad_alloc")));
  }
  EXPECT_THAT(texts_of(world), Contains(HasSubstr("trees of group job/g1 could not be planned")));
  EXPECT_TRUE(world.manager->groups().groups().empty());
  *fails = false;
  EXPECT_EQ(asked("later", 0)->status, 200U);
  expect_loads_balance();
}

TEST_F(PlanningFails, of_a_repair_and_it_is_tried_again_until_it_works) {
  for (const std::uint32_t trees : {1U, 2U}) {
    ASSERT_EQ(asked("g" + std::to_string(trees), trees, trees)->status, 200U);
  }
  const std::string before = spine_of("g1");
  *fails = true;
  cut(before == "spine0" ? 0 : 1);
  world.pass(2 * second);
  EXPECT_THAT(world.manager->groups().find("job", "g1")->error, HasSubstr("std::bad_alloc"));
  *fails = false;
  world.pass(2 * second);
  EXPECT_EQ(world.manager->groups().find("job", "g1")->error, "");
  EXPECT_NE(spine_of("g1"), before);
  expect_loads_balance();
}

TEST_F(PlanningFails, of_trees_that_could_be_better_and_the_caller_is_notified) {
  ASSERT_EQ(asked("twins", 0, 2)->status, 200U);
  cut(1);
  world.report_link("leaf1", 5, "spine1", 1);
  world.reconcile();
  *fails = true;
  Given asked;
  world.manager->ask<&Manager::rebalance>(administrator, false, asked.reply());
  world.reconcile();
  ASSERT_TRUE(asked.there());
  EXPECT_EQ(asked->status, 503U);
  EXPECT_THAT(asked.message(), HasSubstr("std::bad_alloc"));
  world.pass(100 * second);
  EXPECT_THAT(texts_of(world), Contains(HasSubstr("trees are not rebalanced")));
  expect_loads_balance();
  *fails = false;
  world.pass(100 * second);
  EXPECT_EQ(this->asked("later", 1)->status, 200U);
  expect_loads_balance();
}

TEST(computing_routes, that_fails_is_refused_with_the_reason_and_done_again_after_a_while) {
  Settings settings;
  settings.routes.routes.enabled = true;
  World world(settings);
  world.work_fails = true;
  world.connect_star("leaf0", 2, 1);
  world.connect_star("leaf1", 2, 3);
  world.report_link("leaf0", 5, "leaf1", 5);
  world.reconcile();
  world.pass(2 * second);
  const route_controller::RouteSets& life = world.manager->route_control().life();
  ASSERT_NE(life.next(), nullptr);
  EXPECT_EQ(life.next()->state, route_controller::State::refused);
  EXPECT_THAT(life.next()->plan->refused,
              HasSubstr("could not be computed: unicast routes: std::bad_alloc"));
  EXPECT_THAT(texts_of(world), Contains(HasSubstr("std::bad_alloc")));
  world.work_fails = false;
  world.pass(10 * second);
  EXPECT_NE(life.current(), nullptr) << "no request is needed";
}

TEST(computing_routes, from_before_a_restart_that_fails_costs_no_more_than_that_memory) {
  Settings settings;
  settings.routes.routes.enabled = true;
  World world(settings);
  records::Snapshot past;
  past.switches.push_back({0, "leaf0", 0, 8, true});
  world.work_fails = true;
  world.restart(past);
  world.pass(1 * second);
  EXPECT_THAT(texts_of(world), Contains(HasSubstr("the previous unicast routes: std::bad_alloc")));
  world.work_fails = false;
  world.connect_star("leaf0", 2, 1);
  world.pass(10 * second);
  EXPECT_NE(world.manager->route_control().life().current(), nullptr);
}

TEST(changes_of_hosts, are_reported_by_name_though_another_host_is_forgotten_in_the_same_turn) {
  Settings settings;
  settings.discovery.host_memory_ns = 60 * second;
  World world(settings);
  world.connect_star("leaf", 0);
  for (std::uint32_t port = 0; port < 3; ++port) {
    world.report_host("leaf", port, 100 + port);
  }
  world.reconcile();
  world.report_down("leaf", 0);
  world.reconcile();
  world.pass(60 * second - 1);
  // The last host goes down, and has another number when that is reported: the first one is
  // forgotten.
  world.report_down("leaf", 2);
  world.pause(2);
  world.each_look_takes_ns =
      turns::TurnSlice::slice_ns; // so that changes are reported in a later turn
  world.manager->reconcile();
  world.each_look_takes_ns = 0;
  ASSERT_EQ(world.manager->graph().hosts().size(), 2U);
  world.report_host("leaf", 3, 103); // and a third one has that number
  world.reconcile();
  EXPECT_EQ(world.manager->graph().hosts().size(), 3U);
  EXPECT_THAT(texts_of(world), Contains(AllOf(HasSubstr("host_down"), HasSubstr("\"nid\":102"),
                                              HasSubstr("\"host\":\"host102\""))));
}

} // namespace
} // namespace tributary::manager
