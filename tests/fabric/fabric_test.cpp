// The fabric itself: it repeats a run bit for bit, and detects errors.
#include "tests/fabric/scenarios/scenario.hpp"
#include "tributary/wire/hello.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::fabric {
namespace {

bool complains_of(const std::vector<std::string>& violations, std::string_view what) {
  for (const auto& v : violations) {
    if (v.find(what) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(Fabric, repeats_a_run_with_all_faults_bit_for_bit) {
  const auto scenario = find_scenario("mixed");
  ASSERT_TRUE(scenario);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const RunReport one = scenario->run({.seed = seed});
    const RunReport again = scenario->run({.seed = seed});
    EXPECT_EQ(one.digest, again.digest) << "seed " << seed;
    EXPECT_EQ(one.events, again.events) << "seed " << seed;
    EXPECT_EQ(one.members, again.members) << "seed " << seed;
  }
}

TEST(Fabric, runs_differently_with_another_seed) {
  const auto scenario = find_scenario("loss");
  ASSERT_TRUE(scenario);
  EXPECT_NE(scenario->run({.seed = 1}).digest, scenario->run({.seed = 2}).digest);
}

TEST(Fabric, is_not_changed_by_being_traced) {
  const auto scenario = find_scenario("mixed");
  ASSERT_TRUE(scenario);
  std::FILE* nowhere = std::tmpfile();
  ASSERT_NE(nowhere, nullptr);
  EXPECT_EQ(scenario->run({.seed = 3}).digest, scenario->run({.seed = 3, .trace = nowhere}).digest);
  EXPECT_GT(std::ftell(nowhere), 10'000) << "the trace says something";
  std::fclose(nowhere);
}

TEST(Fabric, hands_hellos_to_agents_and_never_forwards_or_believes_a_damaged_one) {
  Fabric fabric(two_level(2, 2), {}, 7);
  fabric.publish_all();
  std::uint64_t heard = 0;
  fabric.on_delivery([&](SwitchIndex at, PortNumber in, std::span<const std::byte> bytes, TimeNs) {
    wire::Hello hello;
    ASSERT_EQ(wire::decode(bytes, wire::default_ethertype, hello), wire::HelloError::none);
    const Link& link = fabric.topology().links()[fabric.topology().ports(at)[in.value]];
    const LinkEnd here{LinkEnd::Kind::in_switch, at, in};
    const LinkEnd& there = link.ends[link.ends[0] == here ? 1 : 0];
    EXPECT_EQ(hello.name, "s" + std::to_string(there.node));
    EXPECT_EQ(hello.port, there.port);
    ++heard;
  });
  const auto all_send_hellos = [&] {
    std::uint64_t to_switches = 0;
    for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
      for (std::size_t p = 0; p < fabric.topology().ports(s).size(); ++p) {
        const PortNumber port{static_cast<std::uint8_t>(p)};
        const Link& link = fabric.topology().links()[fabric.topology().ports(s)[p]];
        to_switches += link.ends[0].kind == link.ends[1].kind ? 1 : 0;
        fabric.send_from_agent(s, port,
                               wire::encode({.kind = wire::HelloKind::switch_port,
                                             .guid = s + 1U,
                                             .port = port,
                                             .nid = {},
                                             .interval_ms = 1000,
                                             .name = "s" + std::to_string(s),
                                             .port_name = {}}));
      }
    }
    return to_switches;
  };
  const std::uint64_t sent = all_send_hellos();
  fabric.run_until(TimeNs{milliseconds(1)});
  EXPECT_GT(sent, 0U);
  EXPECT_EQ(heard, sent);
  fabric.set_faults({.header_damage = 1.0});
  all_send_hellos();
  fabric.run_until(TimeNs{milliseconds(2)});
  EXPECT_EQ(heard, sent);
  EXPECT_EQ(fabric.drops(core::DropReason::bad_hello) + fabric.drops(core::DropReason::bad_version),
            sent);
  fabric.audit();
  EXPECT_EQ(fabric.violations(), std::vector<std::string>{});
}

TEST(Fabric, notices_a_contribution_that_is_counted_twice) {
  // Engines give up on members 8 and 9 after 20 ms; the leaf switch's partial result of the other
  // two then arrives twice, so that the count is right. Without signatures the root cannot detect
  // this, so the result is wrong, and the reference must report it.
  fabric::Run run({.seed = 1}, two_level(4, 4));
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 1, .only = wire::Opcode::int_sum};
  setup.parameters.check_contributions = false;
  Group& group = run.add_group(setup);
  group.misbehave(8, 0, {.not_before = TimeNs{milliseconds(28)}});
  group.misbehave(9, 0, {.not_before = TimeNs{milliseconds(28)}});
  const AimedFault& fault = run.fabric().aim({.fits =
                                                  [](const Passage& p) {
                                                    return p.out_of_switch(3) && p.reduction &&
                                                           p.reduction->word.count == 2;
                                                  },
                                              .effect = AimedFault::Effect::duplicate,
                                              .take = 1,
                                              .delay_ns = microseconds(100)});
  run.start();
  run.fabric().run_until(TimeNs{milliseconds(31)});
  EXPECT_EQ(fault.done, 1U);
  EXPECT_TRUE(complains_of(run.fabric().violations(), "data "));
}

TEST(Fabric, notices_a_damaged_header_that_is_believed) {
  // A damaged VNI looks like another job's if checksums are not verified.
  class Shouter final : public HostProgram {
    void receive(std::span<const std::byte>, TrafficClass, TimeNs, HostPort&) override {}
    void wake(TimeNs, HostPort&) override {}
    [[nodiscard]] TimeNs next_wake() const override { return never; }
  } quiet;
  Topology t = two_level(1, 2);
  FabricOptions options;
  options.verify_checksums = false;
  options.guard_edges = false;
  Fabric fabric(t, options, 1);
  const std::array<HostIndex, 2> hosts = {0, 1};
  Random random(1);
  fabric.install(TreeNumber{3}, multicast_tree(fabric.topology(), 0, hosts, random));
  fabric.publish_all();
  fabric.attach(0, quiet);
  fabric.run_until(TimeNs{microseconds(10)});
  fabric.set_faults({.header_damage = 1});
  wire::ReductionFrame f;
  f.tree = TreeNumber{3};
  f.word.count = 1;
  std::array<std::byte, wire::reduction_frame_bytes> bytes;
  wire::encode(f, bytes);
  for (int i = 0; i < 50; ++i) {
    fabric.send_from_host(1, bytes);
  }
  fabric.run_until(TimeNs{milliseconds(1)});
  EXPECT_TRUE(complains_of(fabric.violations(), "believed a frame whose header was damaged"));
}

TEST(Fabric, notices_a_group_that_does_not_complete) {
  fabric::Run run({.seed = 1}, two_level(2, 2));
  run.add_group({.hosts = run.all_hosts(), .pieces = 1});
  run.start();
  run.fabric().set_host_alive(3, false);
  run.complete_within(milliseconds(30));
  EXPECT_TRUE(complains_of(run.fabric().violations(), "not complete after 30 ms"));
  EXPECT_TRUE(complains_of(run.fabric().violations(), "rank 3 is missing"));
}

TEST(Fabric, accounts_for_every_frame_under_all_chance_faults) {
  fabric::Run run({.seed = 5}, two_level(4, 4));
  run.add_group({.hosts = run.all_hosts(), .pieces = 50});
  run.fabric().set_faults({.loss = 0.03,
                           .duplicate = 0.03,
                           .reorder = 0.03,
                           .wire_damage = 0.03,
                           .header_damage = 0.03,
                           .jitter_ns = 5'000});
  run.start();
  run.fabric().run_until(TimeNs{milliseconds(300)});
  run.finish();
  const RunReport r = run.report();
  EXPECT_EQ(r.violations, std::vector<std::string>{});
  EXPECT_EQ(r.accounting.of(Fate::lost), r.faults.of(Fault::loss));
  EXPECT_EQ(r.accounting.duplicates, r.faults.of(Fault::duplicate));
  EXPECT_EQ(r.accounting.of(Fate::bad_fcs), r.faults.of(Fault::wire_corruption));
  for (const Fault f : {Fault::loss, Fault::duplicate, Fault::reorder, Fault::wire_corruption,
                        Fault::header_corruption, Fault::jitter}) {
    EXPECT_GT(r.faults.of(f), 0U) << name_of(f);
  }
}

TEST(Scenarios, have_names_of_their_own_and_say_what_they_show) {
  const auto all = all_scenarios();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(all[i].purpose.empty()) << all[i].name;
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      EXPECT_NE(all[i].name, all[j].name);
    }
  }
  EXPECT_FALSE(find_scenario("there is none of this name"));
}

TEST(Scenarios, are_found_by_name_or_by_its_beginning) {
  const auto names_like = [](std::string_view pattern) {
    std::vector<std::string_view> names;
    for (const Scenario& each : scenarios_like(pattern)) {
      names.push_back(each.name);
    }
    return names;
  };
  EXPECT_EQ(names_like("mixed"), std::vector<std::string_view>{"mixed"});
  EXPECT_TRUE(names_like("mixe").empty());
  EXPECT_EQ(names_like("mixe*"), std::vector<std::string_view>{"mixed"});
  EXPECT_EQ(names_like("*").size(), all_scenarios().size());
  const auto of_contexts = names_like("contexts*");
  for (const std::string_view name :
       {"contexts", "contexts_under_faults", "contexts_switch_restarts", "contexts_reroute",
        "contexts_dead_member", "contexts_in_trouble", "contexts_hostile",
        "contexts_hostile_in_trouble"}) {
    EXPECT_NE(std::ranges::find(of_contexts, name), of_contexts.end()) << name;
  }
}

} // namespace
} // namespace tributary::fabric
