// The rules in the head of controlplane/topology/discovery.hpp, one by one.

#include "tests/unit/controlplane/topology/reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::topology {
namespace {

using test::hello_of;
using test::host_neighbour;
using test::port_message;
using test::report_of;
using test::second;
using test::switch_neighbour;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Kind = Change::Kind;

/// leaf0 and leaf1 with port 0 to the spine, whose ports 0 and 1 lead to them, and hosts on their
/// ports 1 and 2; port 3 is free everywhere.
class DiscoveryTest : public ::testing::Test {
protected:
  DiscoveryTest() {
    world.switches = {{"leaf0", 4}, {"leaf1", 4}, {"spine", 4}};
    world.join({"leaf0", 0}, {"spine", 0});
    world.join({"leaf1", 0}, {"spine", 1});
    world.hosts = {{1, {"h1"}}, {2, {"h2"}}, {3, {"h3"}}};
    world.host_at = {{{"leaf0", 1}, 1}, {{"leaf0", 2}, 2}, {{"leaf1", 1}, 3}};
  }
  void connect_all() {
    for (const auto& [name, ports] : world.switches) {
      discovery.connected(world.hello(name), now);
    }
    std::ignore = discovery.take_changes();
  }
  void pass(std::uint64_t ns) {
    const TimeNs end = now + ns;
    for (TimeNs next = discovery.next_deadline(); next <= end; next = discovery.next_deadline()) {
      now = std::max(now, next);
      discovery.poll(now);
    }
    now = end;
    discovery.poll(now);
  }
  /// The port reports the current state of the world.
  void report(const std::string& name, std::uint32_t port) {
    discovery.report(name, report_of({world.port({name, port})}), now);
  }
  void report(const std::string& name, control::Port port) {
    discovery.report(name, report_of({std::move(port)}), now);
  }
  std::vector<Kind> kinds() {
    std::vector<Kind> all;
    for (const Change& change : discovery.take_changes()) {
      all.push_back(change.kind);
      texts.push_back(change.text);
    }
    return all;
  }
  const Graph& graph() { return discovery.graph(); }
  SwitchId at(const std::string& name) { return graph().find_switch(name).value(); }
  LinkId link(const std::string& a, Port pa, const std::string& b, Port pb) {
    return graph().find_link({at(a), pa}, {at(b), pb}).value();
  }
  HostId host(std::uint32_t nid) { return graph().find_host(Nid{nid}).value(); }
  std::vector<std::string> problems() {
    std::vector<std::string> all;
    for (const Problem& problem : discovery.problems()) {
      all.push_back(fmt::format("{}: {}", name_of(problem.kind), problem.text));
    }
    return all;
  }

  test::World world;
  Discovery discovery;
  TimeNs now{100 * second};
  std::vector<std::string> texts;
};

// ---- 1: a switch is its name ----

TEST_F(DiscoveryTest, finds_the_whole_fabric_when_all_have_connected) {
  connect_all();
  EXPECT_EQ(test::live_of(graph()), test::live_of(world));
  EXPECT_EQ(graph().links().size(), 2U);
  EXPECT_EQ(graph().hosts().size(), 3U);
  EXPECT_EQ(graph()[link("leaf0", 0, "spine", 0)].speed_mbps, 100'000U);
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(DiscoveryTest, reports_what_it_finds_in_order) {
  discovery.connected(world.hello("leaf0"), now);
  EXPECT_THAT(kinds(), ElementsAre(Kind::switch_added, Kind::host_added, Kind::host_added));
  discovery.connected(world.hello("spine"), now);
  EXPECT_THAT(kinds(), ElementsAre(Kind::switch_added, Kind::link_added));
  EXPECT_THAT(texts, ElementsAre("switch leaf0 found, with 4 ports",
                                 "host h1 (NID 1) found on leaf0 port 1",
                                 "host h2 (NID 2) found on leaf0 port 2",
                                 "switch spine found, with 4 ports",
                                 "link leaf0 port 0 - spine port 0 is there"));
}

TEST_F(DiscoveryTest, connecting_again_changes_nothing) {
  connect_all();
  connect_all();
  discovery.disconnected("leaf0", now);
  discovery.connected(world.hello("leaf0"), now);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(DiscoveryTest, switch_keeps_its_number_when_it_comes_back_with_more_ports_and_another_guid) {
  connect_all();
  const SwitchId before = at("leaf0");
  world.switches["leaf0"] = 6;
  control::SwitchHello hello = world.hello("leaf0");
  hello.set_guid(99);
  discovery.connected(hello, now);
  EXPECT_EQ(at("leaf0"), before);
  EXPECT_EQ(graph()[before].ports, 6);
  EXPECT_EQ(graph()[before].guid, 99U);
  EXPECT_THAT(kinds(), ::testing::Contains(Kind::switch_changed));
}

TEST_F(DiscoveryTest, what_hung_on_ports_that_are_gone_is_down) {
  connect_all();
  world.switches["leaf0"] = 1;
  discovery.connected(world.hello("leaf0"), now);
  EXPECT_EQ(graph()[at("leaf0")].ports, 1);
  EXPECT_FALSE(graph()[host(1)].up);
  EXPECT_FALSE(graph()[host(2)].up);
  EXPECT_TRUE(graph().usable(link("leaf0", 0, "spine", 0)));
}

TEST_F(DiscoveryTest, ports_that_a_switch_does_not_list_are_down) {
  connect_all();
  discovery.connected(hello_of("leaf0", {port_message(3, true)}), now);
  EXPECT_FALSE(graph()[host(1)].up);
  EXPECT_FALSE(graph().usable(link("leaf0", 0, "spine", 0)));
}

// ---- 2: a link needs both ends to agree ----

TEST_F(DiscoveryTest, link_that_one_end_hears_is_named_and_not_used) {
  connect_all();
  report("spine", port_message(3, true, switch_neighbour("leaf1", 3)));
  EXPECT_EQ(graph().links().size(), 2U);
  EXPECT_THAT(problems(), IsEmpty()) << "it may be over in a moment";
  pass(4 * second);
  EXPECT_THAT(problems(), ElementsAre("one_sided_link: spine port 3 hears leaf1 port 3, but leaf1 "
                                      "port 3 does not hear spine port 3"));
  report("leaf1", port_message(3, true, switch_neighbour("spine", 3)));
  EXPECT_EQ(graph().links().size(), 3U);
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(DiscoveryTest, link_is_down_as_soon_as_one_end_says_so_and_up_again_when_both_do) {
  connect_all();
  world.ports_down.insert({"leaf0", 0});
  report("leaf0", 0);
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_down));
  EXPECT_FALSE(graph().usable(link("leaf0", 0, "spine", 0)));
  report("spine", 0);
  world.ports_down.clear();
  report("spine", 0);
  EXPECT_THAT(kinds(), IsEmpty());
  report("leaf0", 0);
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_up));
  EXPECT_EQ(graph().links().size(), 2U);
  EXPECT_EQ(texts[0], "link leaf0 port 0 - spine port 0 is down: leaf0 port 0 is down");
  EXPECT_EQ(texts[1], "link leaf0 port 0 - spine port 0 is up: both ends hear each other");
}

TEST_F(DiscoveryTest, link_is_down_when_an_end_has_forgotten_the_other_or_hears_another) {
  connect_all();
  report("leaf0", port_message(0, true));
  report("spine", port_message(1, true, switch_neighbour("leaf9", 3)));
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_down, Kind::link_down));
  EXPECT_EQ(texts[0], "link leaf0 port 0 - spine port 0 is down: leaf0 port 0 does not hear spine "
                      "port 0");
  EXPECT_EQ(texts[1], "link leaf1 port 0 - spine port 1 is down: spine port 1 hears leaf9 port 3");
}

TEST_F(DiscoveryTest, speed_of_a_link_is_that_of_its_slower_end) {
  connect_all();
  control::Port slow = world.port({"leaf0", 0});
  slow.set_speed_mbps(25'000);
  report("leaf0", slow);
  EXPECT_EQ(graph()[link("leaf0", 0, "spine", 0)].speed_mbps, 25'000U);
  slow.set_speed_mbps(0);
  report("leaf0", slow);
  EXPECT_EQ(graph()[link("leaf0", 0, "spine", 0)].speed_mbps, 100'000U);
}

TEST_F(DiscoveryTest, several_links_join_the_same_two_switches) {
  world.join({"leaf0", 3}, {"spine", 3});
  connect_all();
  EXPECT_TRUE(graph().usable(link("leaf0", 3, "spine", 3)));
  EXPECT_TRUE(graph().usable(link("leaf0", 0, "spine", 0)));
}

// ---- 3, 4: channels and switches ----

TEST_F(DiscoveryTest, lost_channel_alone_changes_nothing_however_long_it_lasts) {
  connect_all();
  discovery.disconnected("leaf0", now);
  EXPECT_FALSE(discovery.is_connected(at("leaf0")));
  pass(1000 * second);
  EXPECT_THAT(kinds(), IsEmpty());
  EXPECT_TRUE(graph().usable(link("leaf0", 0, "spine", 0)));
}

TEST_F(DiscoveryTest, switch_is_down_when_its_last_neighbour_has_forgotten_it) {
  connect_all();
  discovery.disconnected("leaf0", now);
  pass(3 * second);
  report("spine", port_message(0, true));
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_down, Kind::switch_down));
  EXPECT_EQ(texts[1], "switch leaf0 is down: it has no control channel, and no neighbour hears it");
  pass(4 * second);
  EXPECT_EQ(discovery.next_deadline(), never);
}

TEST_F(DiscoveryTest, switch_that_is_heard_again_is_up_before_it_connects) {
  connect_all();
  discovery.disconnected("leaf0", now);
  report("spine", port_message(0, true));
  kinds();
  report("spine", 0);
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_up, Kind::switch_up));
  discovery.connected(world.hello("leaf0", 2), now);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(DiscoveryTest, switch_that_comes_back_is_up_with_all_it_had) {
  connect_all();
  discovery.disconnected("leaf0", now);
  report("spine", port_message(0, false));
  kinds();
  discovery.connected(world.hello("leaf0", 2), now);
  EXPECT_THAT(kinds(), ElementsAre(Kind::switch_up));
  report("spine", 0);
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_up));
  EXPECT_EQ(test::live_of(graph()), test::live_of(world));
}

TEST_F(DiscoveryTest, silent_switch_is_given_time_to_come_back) {
  discovery.connected(world.hello("leaf0"), now);
  discovery.disconnected("leaf0", now);
  pass(3 * second);
  EXPECT_TRUE(graph()[at("leaf0")].up);
  pass(second);
  EXPECT_FALSE(graph()[at("leaf0")].up);
}

TEST_F(DiscoveryTest, all_channels_lost_at_once_are_given_time_to_come_back) {
  connect_all();
  for (const std::string name : {"leaf0", "leaf1", "spine"}) {
    discovery.disconnected(name, now);
  }
  pass(3 * second);
  EXPECT_THAT(kinds(), IsEmpty());
  discovery.connected(world.hello("spine"), now);
  pass(100 * second);
  EXPECT_THAT(kinds(), IsEmpty()) << "the spine hears both leaves";
  discovery.disconnected("spine", now);
  pass(4 * second);
  EXPECT_THAT(kinds(), ElementsAre(Kind::switch_down, Kind::switch_down, Kind::switch_down));
}

TEST_F(DiscoveryTest, link_between_two_without_channel_stays_as_it_was) {
  connect_all();
  discovery.disconnected("leaf0", now);
  discovery.disconnected("spine", now);
  pass(second);
  EXPECT_TRUE(graph().usable(link("leaf0", 0, "spine", 0)));
}

TEST_F(DiscoveryTest, link_that_failed_before_the_channel_did_does_not_come_back_by_itself) {
  connect_all();
  report("leaf0", port_message(0, true)); // receives nothing; the spine still does
  kinds();
  discovery.disconnected("leaf0", now);
  EXPECT_THAT(kinds(), IsEmpty());
  EXPECT_FALSE(graph().usable(link("leaf0", 0, "spine", 0)));
}

TEST_F(DiscoveryTest, reports_of_a_switch_without_channel_or_of_none_are_ignored) {
  connect_all();
  discovery.disconnected("leaf0", now);
  report("leaf0", port_message(0, false));
  report("nobody", port_message(0, false));
  report("spine", port_message(200, true, switch_neighbour("leaf0", 0)));
  EXPECT_THAT(kinds(), IsEmpty());
}

// ---- 5: a restarted switch has not received hellos yet ----

TEST_F(DiscoveryTest, restarted_switch_has_time_to_hear_its_neighbours) {
  connect_all();
  discovery.disconnected("spine", now);
  const auto deaf = [&](std::uint64_t boot) {
    return hello_of("spine",
                    {port_message(0, true), port_message(1, true), port_message(2, true),
                     port_message(3, true)},
                    boot);
  };
  discovery.connected(deaf(2), now);
  pass(second);
  EXPECT_THAT(kinds(), IsEmpty());
  report("spine", 0);
  pass(3 * second);
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_down)) << "port 1 never heard a neighbour";
  EXPECT_TRUE(graph().usable(link("leaf0", 0, "spine", 0)));
  // This does not apply to the same process.
  report("spine", 1);
  kinds();
  discovery.connected(deaf(2), now);
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_down, Kind::link_down));
}

TEST_F(DiscoveryTest, other_end_of_a_restarted_switch_is_believed_at_once) {
  connect_all();
  discovery.connected(hello_of("spine", {port_message(0, true), port_message(1, true)}, 2), now);
  kinds();
  report("leaf0", port_message(0, true));
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_down));
}

// ---- restored ----

TEST_F(DiscoveryTest, restored_graph_stands_until_its_switches_had_time_to_come) {
  connect_all();
  Discovery later;
  later.restore(graph(), now);
  EXPECT_THAT(later.take_changes(), IsEmpty());
  later.poll(now + 3 * second);
  EXPECT_EQ(test::live_of(later.graph()), test::live_of(world));
  for (const std::string name : {"spine", "leaf1"}) {
    later.connected(world.hello(name, 1), now + 3 * second);
  }
  later.poll(now + 100 * second);
  EXPECT_THAT(later.take_changes(), IsEmpty()) << "leaf0 is heard by the spine";
  EXPECT_EQ(test::live_of(later.graph()), test::live_of(world));
  EXPECT_EQ(later.graph().find_link({at("leaf0"), 0}, {at("spine"), 0}),
            link("leaf0", 0, "spine", 0));
}

TEST_F(DiscoveryTest, restored_graph_loses_what_is_not_there_any_more) {
  connect_all();
  Discovery later;
  later.restore(graph(), now);
  world.part({"leaf0", 0});
  world.host_at.erase({"leaf1", 1});
  world.dead.insert("leaf0");
  for (const std::string name : {"spine", "leaf1"}) {
    later.connected(world.hello(name, 2), now);
  }
  later.poll(later.next_deadline());
  EXPECT_EQ(test::live_of(later.graph()), test::live_of(world));
}

// ---- 6: hosts ----

TEST_F(DiscoveryTest, guard_alone_makes_a_host_while_its_port_is_up) {
  discovery.connected(hello_of("leaf0", {port_message(0, false, {}, 9)}), now);
  EXPECT_EQ(graph().find_host(Nid{9}), std::nullopt);
  report("leaf0", port_message(0, true, {}, 9));
  EXPECT_EQ(graph()[host(9)].name, "nid-9");
  EXPECT_TRUE(graph()[host(9)].up);
  report("leaf0", port_message(0, true, host_neighbour("node9", 9), 9));
  EXPECT_EQ(graph()[host(9)].name, "node9");
  report("leaf0", port_message(0, false, {}, 9));
  EXPECT_FALSE(graph()[host(9)].up);
  EXPECT_THAT(kinds(), ElementsAre(Kind::switch_added, Kind::host_added, Kind::host_renamed,
                                   Kind::host_down));
}

TEST_F(DiscoveryTest, host_without_guard_is_there_while_it_is_heard) {
  connect_all();
  report("leaf0", port_message(1, true));
  EXPECT_THAT(kinds(), ElementsAre(Kind::host_down));
  report("leaf0", 1);
  EXPECT_THAT(kinds(), ElementsAre(Kind::host_up));
  EXPECT_EQ(texts[0], "host h1 is quiet: leaf0 port 1 no longer hears it");
}

TEST_F(DiscoveryTest, host_that_is_not_heard_is_missed_only_while_it_is_in_use) {
  bool used = true;
  discovery.remember([&](Nid nid) { return nid == Nid{1} && used; });
  connect_all();
  EXPECT_EQ(discovery.state_of(host(1)), HostState::up);
  const TimeNs came = discovery.up_or_down_since(host(1));
  pass(second);
  report("leaf0", port_message(1, true));
  EXPECT_THAT(kinds(), ElementsAre(Kind::host_down));
  EXPECT_EQ(texts[0], "host h1 is missing: leaf0 port 1 no longer hears it");
  EXPECT_EQ(discovery.state_of(host(1)), HostState::missing);
  EXPECT_EQ(discovery.up_or_down_since(host(1)), came + second);
  used = false;
  EXPECT_EQ(discovery.state_of(host(1)), HostState::quiet);
  report("leaf0", port_message(1, false));
  EXPECT_EQ(discovery.state_of(host(1)), HostState::down);
}

TEST_F(DiscoveryTest, host_moves_with_its_number) {
  connect_all();
  const HostId h1 = host(1);
  world.host_at.erase({"leaf0", 1});
  world.host_at[{"leaf1", 3}] = 1;
  report("leaf0", 1);
  report("leaf1", 3);
  EXPECT_EQ(host(1), h1);
  EXPECT_EQ(test::live_of(graph()), test::live_of(world));
  EXPECT_THAT(kinds(), ElementsAre(Kind::host_down, Kind::host_moved));
  EXPECT_EQ(texts[1], "host h1 moved from leaf0 port 1 to leaf1 port 3");
}

TEST_F(DiscoveryTest, host_heard_at_a_second_port_stays_until_the_first_forgets_it) {
  connect_all();
  report("leaf1", port_message(3, true, host_neighbour("h1", 1)));
  EXPECT_THAT(kinds(), IsEmpty());
  pass(4 * second);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("nid_conflict: NID 1 is at leaf0 port 1 and at "
                                                "leaf1 port 3")));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("Frames for it go to leaf0 port 1")));
  report("leaf0", port_message(1, true));
  EXPECT_THAT(kinds(), ElementsAre(Kind::host_moved));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(DiscoveryTest, guard_is_stronger_than_a_hello_elsewhere) {
  connect_all();
  report("leaf1", port_message(3, true, {}, 1));
  EXPECT_THAT(kinds(), ElementsAre(Kind::host_moved));
  report("leaf0", 1);
  EXPECT_EQ(graph()[host(1)].at, (Attachment{at("leaf1"), 3}));
}

TEST_F(DiscoveryTest, host_of_a_hello_that_contradicts_the_guard_is_not_made) {
  connect_all();
  report("leaf1", port_message(3, true, host_neighbour("liar", 1), 9));
  EXPECT_EQ(graph()[host(1)].at, (Attachment{at("leaf0"), 1}));
  EXPECT_EQ(graph()[host(9)].at, (Attachment{at("leaf1"), 3}));
  EXPECT_EQ(graph()[host(9)].name, "nid-9");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("nid_conflict: leaf1 port 3 is for the host with "
                                                "NID 9, and hears host liar with NID 1")));
}

TEST_F(DiscoveryTest, two_hosts_of_one_name_are_distinguished_and_named) {
  connect_all();
  report("leaf1", port_message(3, true, host_neighbour("h1", 7)));
  EXPECT_EQ(graph()[host(7)].name, "nid-7");
  pass(4 * second);
  EXPECT_THAT(problems(),
              ElementsAre("host_name_conflict: the hosts with NID 1 and NID 7 both call "
                          "themselves h1; the latter is called nid-7"));
}

// ---- 7: a port has one neighbour ----

TEST_F(DiscoveryTest,
       link_that_was_replugged_is_another_one_and_the_old_number_comes_back_with_it) {
  connect_all();
  const LinkId old_link = link("leaf0", 0, "spine", 0);
  world.part({"leaf0", 0});
  world.join({"leaf0", 0}, {"spine", 3});
  report("leaf0", 0);
  report("spine", 0);
  report("spine", 3);
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_down, Kind::link_added));
  EXPECT_FALSE(graph()[old_link].plugged);
  EXPECT_EQ(test::live_of(graph()), test::live_of(world));
  world.part({"leaf0", 0});
  world.join({"leaf0", 0}, {"spine", 0});
  report("spine", 0);
  report("spine", 3);
  report("leaf0", 0);
  EXPECT_THAT(kinds(), ElementsAre(Kind::link_down, Kind::link_up));
  EXPECT_TRUE(graph().usable(old_link));
  EXPECT_EQ(graph().links().size(), 3U);
}

TEST_F(DiscoveryTest, host_makes_room_for_a_link_and_a_link_for_a_host) {
  connect_all();
  world.host_at.erase({"leaf0", 1});
  world.join({"leaf0", 1}, {"spine", 2});
  report("leaf0", 1);
  report("spine", 2);
  EXPECT_EQ(test::live_of(graph()), test::live_of(world));
  EXPECT_FALSE(graph()[host(1)].plugged);
  world.part({"leaf0", 1});
  world.host_at[{"leaf0", 1}] = 1;
  report("spine", 2);
  report("leaf0", 1);
  EXPECT_EQ(test::live_of(graph()), test::live_of(world));
  EXPECT_FALSE(graph()[link("leaf0", 1, "spine", 2)].plugged);
}

TEST_F(DiscoveryTest, host_makes_room_for_another_host) {
  connect_all();
  world.hosts[8] = {"h8"};
  world.host_at[{"leaf0", 1}] = 8;
  report("leaf0", 1);
  EXPECT_EQ(test::live_of(graph()), test::live_of(world));
  EXPECT_THAT(kinds(), ElementsAre(Kind::host_down, Kind::host_added));
}

// ---- 7: hosts that are forgotten ----

TEST_F(DiscoveryTest, host_that_is_down_for_long_is_forgotten_and_known_again_when_it_is_back) {
  connect_all();
  kinds();
  world.host_at.erase({"leaf0", 1});
  report("leaf0", 1);
  const TimeNs down = now;
  pass(DiscoverySettings{}.host_memory_ns - 1);
  EXPECT_TRUE(graph().find_host(Nid{1}));
  EXPECT_EQ(discovery.next_deadline(), down + DiscoverySettings{}.host_memory_ns);
  pass(1);
  EXPECT_THAT(kinds(), ElementsAre(Kind::host_down, Kind::host_forgotten));
  EXPECT_THAT(texts.back(), HasSubstr("host h1 (NID 1) is forgotten: it was down for 600 s"));
  EXPECT_FALSE(graph().find_host(Nid{1}));
  EXPECT_EQ(graph()[host(2)].name, "h2");
  EXPECT_EQ(discovery.next_deadline(), never);
  world.host_at[{"leaf0", 1}] = 1;
  report("leaf0", 1);
  EXPECT_THAT(kinds(), ElementsAre(Kind::host_added));
  EXPECT_EQ(test::live_of(graph()), test::live_of(world));
}

TEST_F(DiscoveryTest, host_that_is_of_use_is_remembered_for_as_long_as_it_is) {
  bool used = true;
  discovery.remember([&](Nid nid) { return nid == Nid{1} && used; });
  connect_all();
  world.host_at.erase({"leaf0", 1});
  report("leaf0", 1);
  pass(5 * DiscoverySettings{}.host_memory_ns);
  EXPECT_TRUE(graph().find_host(Nid{1}));
  used = false;
  pass(DiscoverySettings{}.host_memory_ns);
  EXPECT_FALSE(graph().find_host(Nid{1}));
}

TEST_F(DiscoveryTest, port_without_guard_brings_so_many_hosts_and_no_more) {
  connect_all();
  const std::size_t before = graph().hosts().size();
  for (std::uint32_t nid = 1000; nid < 2000; ++nid) {
    report("leaf1", port_message(3, true, host_neighbour(fmt::format("x{}", nid), nid)));
    pass(second / 20);
  }
  EXPECT_EQ(graph().hosts().size(), before + 8);
  EXPECT_EQ(discovery.hosts_refused(), 992U);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr(
                              "too_many_hosts: leaf1 port 3 has announced more than 8 hosts")));
  // Known ones may come and go.
  report("leaf1", port_message(3, true, host_neighbour("x1003", 1003)));
  EXPECT_TRUE(graph()[host(1003)].up);
  // Forgotten ones free their room.
  pass(DiscoverySettings{}.host_memory_ns);
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_EQ(graph().hosts().size(), before + 1);
  report("leaf1", port_message(3, true, host_neighbour("x3000", 3000)));
  EXPECT_TRUE(graph()[host(3000)].up);
}

TEST_F(DiscoveryTest, guarded_port_is_believed_whatever_it_brought_before) {
  connect_all();
  for (std::uint32_t nid = 1000; nid < 1020; ++nid) {
    report("leaf1", port_message(3, true, host_neighbour("x", nid)));
  }
  report("leaf1", port_message(3, true, {}, 4000));
  EXPECT_TRUE(graph()[host(4000)].up);
}

// ---- messages for people ----

TEST_F(DiscoveryTest, names_a_neighbour_that_never_connected) {
  world.switches.erase("leaf1");
  connect_all();
  pass(4 * second);
  EXPECT_THAT(problems(), ElementsAre("unknown_neighbour: spine port 1 hears switch leaf1 port 0, "
                                      "and no switch of this name has ever connected"));
}

TEST_F(DiscoveryTest, problems_of_a_quiet_fabric_ripen_by_its_own_deadlines_within_the_timeout) {
  world.switches.erase("leaf1");
  connect_all();
  pass(4 * second);
  EXPECT_THAT(discovery.take_news(), ::testing::SizeIs(1)) << "leaf1 is heard, and unknown";
  const TimeNs since = now;
  report("leaf0", port_message(3, true, switch_neighbour("ghost", 7)));
  report("spine", port_message(3, true, host_neighbour("h1", 1)));
  report("spine", port_message(2, true, switch_neighbour("leaf0", 2)));
  EXPECT_THAT(discovery.take_news(), IsEmpty()) << "it may be over in a moment";
  std::vector<std::string> reported;
  // Polled only at the times that discovery itself requests.
  while (discovery.next_deadline() != never) {
    now = discovery.next_deadline();
    ASSERT_LE(elapsed_ns(now, since), DiscoverySettings{}.timeout_ns);
    discovery.poll(now);
    for (const ProblemNews& news : discovery.take_news()) {
      EXPECT_TRUE(news.there);
      reported.emplace_back(name_of(news.problem.kind));
    }
  }
  EXPECT_THAT(reported, ::testing::UnorderedElementsAre("unknown_neighbour", "nid_conflict",
                                                        "one_sided_link"));
  report("leaf0", port_message(3, true));
  const auto news = discovery.take_news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_FALSE(news[0].there);
  EXPECT_EQ(news[0].problem.kind, Problem::Kind::unknown_neighbour);
}

TEST_F(DiscoveryTest, names_a_new_link_to_a_switch_without_channel) {
  connect_all();
  discovery.disconnected("leaf1", now);
  report("spine", port_message(3, true, switch_neighbour("leaf1", 3)));
  pass(4 * second);
  EXPECT_THAT(problems(), ElementsAre("one_sided_link: spine port 3 hears leaf1 port 3, and leaf1 "
                                      "has no control channel: what it receives is unknown"));
}

TEST_F(DiscoveryTest, names_both_ends_that_hear_different_things) {
  connect_all();
  report("leaf0", port_message(3, true, switch_neighbour("spine", 1)));
  pass(4 * second);
  EXPECT_THAT(problems(), ElementsAre("one_sided_link: leaf0 port 3 hears spine port 1, but spine "
                                      "port 1 hears leaf1 port 0"));
}

TEST_F(DiscoveryTest, names_a_port_that_the_other_switch_does_not_have) {
  connect_all();
  report("leaf0", port_message(3, true, switch_neighbour("spine", 17)));
  EXPECT_THAT(problems(), ElementsAre("one_sided_link: leaf0 port 3 hears spine port 17, and spine "
                                      "has only 4 ports"));
}

TEST_F(DiscoveryTest, names_two_switches_of_one_name) {
  connect_all();
  control::Neighbour twin = switch_neighbour("leaf1", 3);
  twin.set_guid(0xBAD);
  report("spine", port_message(3, true, twin));
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("duplicate_switch_name: spine port 3 hears a switch leaf1 with "
                                    "the guid 0x0000000000000bad")));
}

TEST_F(DiscoveryTest, names_two_switches_of_one_guid_and_uses_both) {
  connect_all();
  control::SwitchHello hello = hello_of("other", {port_message(0, true)});
  hello.set_guid(wire::guid_of_name("leaf0"));
  discovery.connected(hello, now);
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("duplicate_switch_guid: switches leaf0 and other")));
  EXPECT_EQ(graph()[at("other")].guid, 0U);
  EXPECT_EQ(graph().find_switch_by_guid(wire::guid_of_name("leaf0")), at("leaf0"));
}

TEST_F(DiscoveryTest, renamed_switch_takes_its_guid_along) {
  connect_all();
  discovery.disconnected("leaf0", now);
  report("spine", port_message(0, false));
  control::SwitchHello hello = hello_of("leaf-zero", {port_message(0, true)});
  hello.set_guid(wire::guid_of_name("leaf0"));
  discovery.connected(hello, now);
  EXPECT_EQ(graph().find_switch_by_guid(wire::guid_of_name("leaf0")), at("leaf-zero"));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(DiscoveryTest, names_a_link_with_both_ends_in_one_switch_once_and_does_not_use_it) {
  connect_all();
  report("spine", port_message(2, true, switch_neighbour("spine", 3)));
  report("spine", port_message(3, true, switch_neighbour("spine", 2)));
  EXPECT_THAT(problems(),
              ElementsAre("loop: spine port 2 hears spine port 3: a link with both ends "
                          "in one switch"));
  EXPECT_EQ(graph().links().size(), 2U);
}

TEST_F(DiscoveryTest, names_a_switch_on_an_edge_port_and_does_not_use_the_link) {
  connect_all();
  report("leaf0", port_message(3, true, switch_neighbour("spine", 3), 9));
  report("spine", port_message(3, true, switch_neighbour("leaf0", 3)));
  EXPECT_EQ(graph().links().size(), 2U);
  pass(4 * second);
  EXPECT_THAT(
      problems(),
      ElementsAre(
          "one_sided_link: spine port 3 hears leaf0 port 3, but leaf0 port 3 is now an edge port",
          HasSubstr("switch_on_edge_port: leaf0 port 3 is for the host with NID 9, "
                    "and hears switch spine port 3")));
}

TEST_F(DiscoveryTest, shows_what_a_port_said_last) {
  connect_all();
  ASSERT_NE(discovery.port({at("leaf0"), 1}), nullptr);
  EXPECT_EQ(discovery.port({at("leaf0"), 1})->neighbour().name(), "h1");
  EXPECT_EQ(discovery.port({at("leaf0"), 9}), nullptr);
}

TEST(Discovery, every_kind_has_a_name) {
  for (int k = 0; k <= static_cast<int>(Kind::host_forgotten); ++k) {
    EXPECT_NE(name_of(static_cast<Kind>(k)), "unknown");
  }
  for (int k = 0; k <= static_cast<int>(Problem::Kind::too_many_hosts); ++k) {
    EXPECT_NE(name_of(static_cast<Problem::Kind>(k)), "unknown");
  }
}

} // namespace
} // namespace tributary::topology
