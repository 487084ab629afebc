// Problems of the fabric, for people: in the topology and as events.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace tributary::manager {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(problems, name_an_engine_that_had_no_descriptor_for_an_arm) {
  World world;
  world.descriptors_per_engine = 8;
  const transaction::SessionNumber leaf = world.connect_star("leaf", 2);
  const auto seen = [&] {
    const Given answer;
    world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = api::View::topology},
                                       answer.reply());
    return boost::json::serialize(answer.body().at("problems"));
  };
  const std::string before = seen();
  control::SwitchMessage message;
  control::PortStatistics& port = *message.mutable_statistics()->add_ports();
  port.set_port(3);
  port.set_armed(100);
  world.manager->switches().message(leaf, message);
  EXPECT_EQ(seen(), before);
  port.set_arm_failed(17);
  world.manager->switches().message(leaf, message);
  EXPECT_THAT(seen(), AllOf(HasSubstr("leaf port 3: 17 arms found no descriptor"),
                            HasSubstr("have 8 each")));
}

TEST(problems, of_a_quiet_fabric_become_events_by_the_manager_s_own_deadlines) {
  World world;
  world.connect_star("leaf", 2);
  std::vector<std::string> reported;
  const auto end = world.listen(administrator, {}, [&](const api::Event& event) {
    if (event.kind == "problem") {
      reported.emplace_back(event.body.at("problem").as_string());
    }
  });
  world.pass(10 * World::second); // until nothing is pending
  ASSERT_EQ(world.manager->next_deadline(), never);
  control::SwitchMessage message;
  control::Port& port = *message.mutable_ports()->add_ports();
  port.set_number(7);
  port.set_up(true);
  port.mutable_neighbour()->set_name("stranger");
  world.manager->switches().message(world.sessions.at("leaf"), message);
  world.reconcile();
  const TimeNs heard = world.now();
  EXPECT_TRUE(reported.empty());
  while (reported.empty() && world.manager->next_deadline() != never) {
    world.pass(elapsed_ns(world.manager->next_deadline(), world.now()));
  }
  EXPECT_THAT(reported, testing::ElementsAre("unknown_neighbour"));
  EXPECT_LE(elapsed_ns(world.now(), heard), 3'500'000'000U);
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_problems 1\n"));
}

} // namespace
} // namespace tributary::manager
