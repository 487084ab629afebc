// The agent with a channel that connects, breaks, and falls silent, and a file that changes
// meanwhile.

#include "test_agent.hpp"

#include <gmock/gmock.h>

namespace tributary::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const file_tree = "[tree 1 of the file wait 2 parent 5 children 0x3]";

TEST(Hello, reports_who_the_switch_is_and_what_it_can) {
  TestAgent agent;
  agent.agent.port_changed(port(2), true, 25'000, agent.now);
  agent.agent.channel_up(agent.now);
  const auto messages = agent.agent.take_messages();
  ASSERT_EQ(messages.size(), 1U);
  const control::SwitchHello& hello = messages[0].hello();
  EXPECT_EQ(hello.protocol(), 1U);
  EXPECT_EQ(hello.name(), "leaf0");
  EXPECT_EQ(hello.guid(), 0xABCU);
  EXPECT_EQ(hello.boot(), 77U);
  EXPECT_EQ(hello.software(), "1.2");
  EXPECT_EQ(hello.limits().trees(), 8192U);
  EXPECT_EQ(hello.limits().ports(), 6U);
  EXPECT_EQ(hello.limits().descriptors_per_engine(), 65536U);
  ASSERT_EQ(hello.ports_size(), 6);
  EXPECT_EQ(hello.ports(2).name(), "port2");
  EXPECT_TRUE(hello.ports(2).up());
  EXPECT_EQ(hello.ports(2).speed_mbps(), 25'000U);
  EXPECT_FALSE(hello.ports(3).up());
  EXPECT_EQ(hello.ports(0).nid(), 1U);
  EXPECT_FALSE(hello.ports(2).has_nid());
}

TEST(Hello, has_the_guid_of_the_name_when_none_is_given) {
  Agent agent(leaf0(), {});
  agent.published(agent.take_tables()->version());
  agent.channel_up({});
  EXPECT_EQ(agent.take_messages().at(0).hello().guid(), wire::guid_of_name("leaf0"));
}

TEST(Hello, after_a_break_reports_exactly_what_is_in_force) {
  TestAgent agent;
  EXPECT_EQ(agent.connect(), fmt::format("hello leaf0 in force 1: {}", file_tree));
  agent.prepare(1, {set_tree(7, 3, 0, {1, 2}), permit(2, 20), permit(0, 20)});
  agent.prepare(2, {set_tree(8, 3, 0, {1, 2})});
  agent.prepare(3, {set_tree(9, 3, 0, {1, 2}), revoke(2, 20)});
  agent.commit(1);
  agent.commit(3);
  agent.drain();
  agent.agent.channel_down(agent.now, "broken");
  EXPECT_EQ(agent.connect(),
            fmt::format("hello leaf0 in force 2: {} [tree 7 wait 3 parent 0 children 0x6]"
                        " [tree 9 wait 3 parent 0 children 0x6] [port 0 VNI 20]",
                        file_tree));
}

TEST(Hello, waits_until_what_it_reports_is_published) {
  TestAgent agent;
  agent.connect();
  agent.prepare(1, {set_tree(7, 3, 0, {1, 2})});
  agent.commit(1);
  agent.agent.channel_down(agent.now, "broken");
  agent.agent.channel_up(agent.now);
  EXPECT_THAT(agent.messages(), IsEmpty());
  const auto snapshot = agent.agent.take_tables();
  EXPECT_THAT(agent.messages(), IsEmpty());
  agent.agent.published(snapshot->version());
  EXPECT_THAT(agent.messages(), ElementsAre(HasSubstr("in force 2: [tree 1 of the file")));
}

TEST(Channel, lost_between_prepare_and_commit_forgets_what_was_prepared) {
  TestAgent agent;
  agent.connect();
  agent.prepare(1, {set_tree(7, 3, 0, {1, 2})});
  agent.drain();
  agent.agent.channel_down(agent.now, "broken");
  EXPECT_EQ(agent.agent.status().counts.forgotten, 1U);
  EXPECT_EQ(agent.connect(), fmt::format("hello leaf0 in force 1: {}", file_tree));
  agent.commit(1);
  EXPECT_THAT(agent.drain(), ElementsAre("refused 1: it is not prepared here"));
}

TEST(Channel, lost_before_the_acknowledgement_keeps_what_is_committed_and_says_it_once) {
  TestAgent agent;
  agent.connect();
  agent.prepare(1, {set_tree(7, 3, 0, {1, 2})});
  agent.commit(1);
  agent.agent.channel_down(agent.now, "broken");
  EXPECT_THAT(agent.drain(), IsEmpty());
  EXPECT_TRUE(agent.tables->tree(tree(7)).valid);
  EXPECT_THAT(agent.connect(), HasSubstr("[tree 7 wait 3 parent 0 children 0x6]"));
  EXPECT_THAT(agent.drain(), IsEmpty());
}

TEST(Channel, without_a_manager_nothing_is_said_and_trees_stay) {
  TestAgent agent;
  agent.connect();
  agent.prepare(1, {set_tree(7, 3, 0, {1, 2})});
  agent.commit(1);
  agent.drain();
  agent.agent.channel_down(agent.now, "broken");
  agent.agent.port_changed(port(1), true, 0, agent.now);
  agent.prepare(2, {remove_tree(7)});
  agent.commit(2);
  agent.agent.poll(agent.now + 100 * second);
  EXPECT_THAT(agent.drain(), IsEmpty());
  EXPECT_TRUE(agent.tables->tree(tree(7)).valid);
  EXPECT_EQ(agent.agent.status().last_end, "broken");
}

TEST(Channel, a_transaction_before_welcome_ends_it) {
  TestAgent agent;
  agent.agent.channel_up(agent.now);
  agent.drain();
  agent.prepare(1, {set_tree(7, 3, 0, {1, 2})});
  EXPECT_EQ(agent.agent.take_disconnect(), "the manager sent Prepare before Welcome");
  EXPECT_EQ(agent.agent.take_disconnect(), std::nullopt);
  EXPECT_EQ(agent.agent.status().prepared_now, 0U);
}

TEST(Channel, a_manager_that_does_not_take_the_switch_ends_it_with_its_reason) {
  TestAgent agent;
  agent.agent.channel_up(agent.now);
  agent.drain();
  control::ManagerMessage rejected;
  rejected.mutable_rejected()->set_reason("another leaf0 is connected");
  agent.agent.receive(rejected, agent.now);
  EXPECT_EQ(agent.agent.take_disconnect(),
            "the manager rejected this switch: another leaf0 is connected");
}

TEST(Channel, a_manager_that_does_not_welcome_in_time_ends_it) {
  TestAgent agent(leaf0(), {.hello_interval_ns = 0});
  agent.agent.channel_up(agent.now);
  agent.drain();
  EXPECT_EQ(agent.agent.next_deadline(), agent.now + 10 * second);
  agent.agent.poll(agent.now + (10 * second - 1));
  EXPECT_EQ(agent.agent.take_disconnect(), std::nullopt);
  agent.agent.poll(agent.now + 10 * second);
  EXPECT_EQ(agent.agent.take_disconnect(), "the manager did not answer the switch's hello in time");
  EXPECT_EQ(agent.agent.next_deadline(), never);
}

TEST(Keepalive, three_intervals_of_silence_end_the_channel) {
  TestAgent agent(leaf0(), {.hello_interval_ns = 0});
  agent.connect(1000);
  agent.now = agent.now + 2 * second;
  agent.ping(41);
  EXPECT_THAT(agent.drain(), ElementsAre("pong 41"));
  EXPECT_EQ(agent.agent.next_deadline(), agent.now + 3 * second);
  agent.agent.poll(agent.now + (3 * second - 1));
  EXPECT_EQ(agent.agent.take_disconnect(), std::nullopt);
  agent.agent.poll(agent.now + 3 * second);
  EXPECT_EQ(agent.agent.take_disconnect(), "nothing was received from the manager for 3.0 s");
}

TEST(Keepalive, without_an_interval_silence_is_no_end) {
  TestAgent agent(leaf0(), {.hello_interval_ns = 0});
  agent.connect(0);
  agent.agent.poll(agent.now + 1'000'000 * second);
  EXPECT_EQ(agent.agent.take_disconnect(), std::nullopt);
  EXPECT_EQ(agent.agent.next_deadline(), never);
}

TEST(PortReports, come_when_a_port_changes_and_only_then) {
  TestAgent agent(leaf0(), {.hello_interval_ns = 0});
  agent.connect();
  EXPECT_THAT(agent.drain(), IsEmpty());
  agent.agent.port_changed(port(3), true, 10'000, agent.now);
  agent.agent.port_changed(port(1), true, 10'000, agent.now);
  EXPECT_THAT(agent.drain(), ElementsAre("ports 1:up 3:up"));
  agent.agent.port_changed(port(3), true, 10'000, agent.now);
  EXPECT_THAT(agent.drain(), IsEmpty());
}

TEST(PortReports, wait_for_welcome) {
  TestAgent agent(leaf0(), {.hello_interval_ns = 0});
  agent.agent.channel_up(agent.now);
  agent.drain();
  agent.agent.port_changed(port(3), true, 0, agent.now);
  EXPECT_THAT(agent.drain(), IsEmpty());
  control::ManagerMessage welcome;
  welcome.mutable_welcome();
  agent.agent.receive(welcome, agent.now);
  EXPECT_THAT(agent.drain(), ElementsAre("ports 3:up"));
}

TEST(PortReports, report_a_neighbour_that_was_heard) {
  TestAgent agent;
  agent.connect();
  agent.agent.port_changed(port(3), true, 0, agent.now);
  agent.drain();
  const auto frame = wire::encode({.kind = wire::HelloKind::host,
                                   .guid = 0,
                                   .port = port(0),
                                   .nid = Nid{42},
                                   .interval_ms = 1000,
                                   .name = "node7",
                                   .port_name = "eth1"});
  agent.agent.hello_received(port(3), frame, agent.now);
  const auto messages = agent.agent.take_messages();
  ASSERT_EQ(messages.size(), 1U);
  ASSERT_EQ(messages[0].ports().ports_size(), 1);
  const control::Port& heard = messages[0].ports().ports(0);
  EXPECT_EQ(heard.number(), 3U);
  EXPECT_EQ(heard.neighbour().name(), "node7");
  EXPECT_EQ(heard.neighbour().nid(), 42U);
}

// ---- reload ----

TEST(Reload, keeps_the_managers_trees_and_permissions) {
  TestAgent agent;
  agent.connect();
  agent.prepare(1, {set_tree(7, 3, 0, {1, 2}), permit(1, 20)});
  agent.commit(1);
  agent.drain();
  config::Switch other = leaf0();
  auto list = std::make_shared<core::VniSet>();
  list->set(99);
  other.ports[1].policy.vnis = list;
  other.ports[2].policy.vnis = list;
  ASSERT_EQ(agent.agent.refuses(other), "");
  agent.agent.file_reloaded(other);
  agent.drain();
  EXPECT_TRUE(agent.tables->tree(tree(7)).valid);
  EXPECT_TRUE(agent.tables->tree(tree(1)).valid);
  EXPECT_EQ(agent.tables->route(Nid{1}), port(0));
  EXPECT_TRUE(agent.tables->port(port(1)).vnis->test(20));
  EXPECT_TRUE(agent.tables->port(port(1)).vnis->test(99));
  EXPECT_EQ(agent.tables->port(port(2)).vnis->count(), 1U);
  EXPECT_EQ(agent.agent.take_disconnect(), std::nullopt);
}

TEST(Reload, puts_permissions_in_force_where_the_file_begins_to_list_vnis) {
  TestAgent agent;
  agent.connect();
  agent.prepare(1, {permit(2, 20)});
  agent.commit(1);
  agent.drain();
  config::Switch other = leaf0();
  other.ports[2].policy.vnis = std::make_shared<core::VniSet>();
  agent.agent.file_reloaded(other);
  agent.drain();
  ASSERT_NE(agent.tables->port(port(2)).vnis, nullptr);
  EXPECT_TRUE(agent.tables->port(port(2)).vnis->test(20));
}

TEST(Reload, with_other_trees_of_the_file_ends_the_channel_and_forgets_what_is_prepared) {
  TestAgent agent;
  agent.connect();
  agent.prepare(1, {set_tree(8, 3, 0, {1, 2})});
  agent.drain();
  config::Switch other = leaf0();
  other.trees.push_back({tree(8), 1, port(0), ports({4}), 0});
  ASSERT_EQ(agent.agent.refuses(other), "");
  agent.agent.file_reloaded(other);
  agent.commit(1);
  EXPECT_THAT(agent.drain(), ElementsAre("refused 1: it is not prepared here"));
  EXPECT_EQ(agent.tables->tree(tree(8)).children, ports({4}));
  EXPECT_EQ(agent.agent.take_disconnect(), "the trees of the switch's own file have changed");
  agent.agent.channel_down(agent.now);
  EXPECT_EQ(
      agent.connect(),
      fmt::format("hello leaf0 in force 2: {} [tree 8 of the file wait 1 parent 0 children 0x10]",
                  file_tree));
  agent.prepare(2, {remove_tree(8)});
  EXPECT_THAT(agent.drain(), ElementsAre("refused 2: tree 8 is in the switch's own file, and only "
                                         "the file removes it"));
}

TEST(Reload, gives_a_tree_that_left_the_file_to_the_manager) {
  TestAgent agent;
  agent.connect();
  config::Switch other = leaf0();
  other.trees.clear();
  agent.agent.file_reloaded(other);
  agent.drain();
  EXPECT_FALSE(agent.tables->tree(tree(1)).valid);
  agent.agent.channel_down(agent.now);
  agent.connect();
  agent.prepare(1, {set_tree(1, 3, 0, {1, 2})});
  agent.commit(1);
  agent.drain();
  EXPECT_EQ(agent.tables->tree(tree(1)).parent, port(0));
}

TEST(Reload, is_refused_when_the_file_claims_a_tree_of_the_managers) {
  TestAgent agent;
  agent.connect();
  agent.prepare(1, {set_tree(8, 3, 0, {1, 2})});
  agent.commit(1);
  config::Switch other = leaf0();
  other.trees.push_back({tree(8), 1, port(0), ports({4}), 0});
  EXPECT_EQ(agent.agent.refuses(other),
            "tree 8 is in use by the fabric manager; give the file's another number");
}

TEST(Reload, is_refused_when_the_ports_are_others) {
  TestAgent agent;
  config::Switch other = leaf0();
  other.ports.pop_back();
  EXPECT_EQ(agent.agent.refuses(other),
            "it has 5 ports, the running switch has 6; that needs a restart");
}

TEST(Reload, reports_another_guard_of_a_port) {
  TestAgent agent(leaf0(), {.hello_interval_ns = 0});
  agent.connect();
  agent.drain();
  config::Switch other = leaf0();
  other.ports[2].policy.nid = Nid{9};
  agent.agent.file_reloaded(other);
  agent.publish();
  const auto messages = agent.agent.take_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].ports().ports(0).number(), 2U);
  EXPECT_EQ(messages[0].ports().ports(0).nid(), 9U);
}

} // namespace
} // namespace tributary::agent
