// The fabric as a graph (controlplane/topology/graph.hpp).

#include "controlplane/topology/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tributary::topology {
namespace {

using ::testing::HasSubstr;

std::string complaint(const std::function<void()>& what) {
  try {
    what();
  } catch (const GraphError& error) {
    return error.what();
  }
  return "";
}

/// Two leaves and a spine; a host on leaf0.
class GraphTest : public ::testing::Test {
protected:
  Graph graph;
  SwitchId leaf0 = graph.add_switch({.name = "leaf0", .guid = 1, .ports = 4});
  SwitchId leaf1 = graph.add_switch({.name = "leaf1", .guid = 2, .ports = 4});
  SwitchId spine = graph.add_switch({.name = "spine", .ports = 4});
  LinkId up0 = graph.connect({leaf0, 0}, {spine, 0}, 100);
  LinkId up1 = graph.connect({leaf1, 0}, {spine, 1}, 100);
  HostId host = graph.add_host({.name = "h", .nid = Nid{7}, .at = {leaf0, 1}});
};

TEST_F(GraphTest, counts_the_hosts_of_a_switch_where_they_are_or_were_last) {
  const HostId other = graph.add_host({.name = "i", .nid = Nid{8}, .at = {leaf0, 2}});
  EXPECT_EQ(graph.host_count(leaf0), 2U);
  graph.move_host(host, {leaf1, 1});
  EXPECT_EQ(graph.host_count(leaf0), 1U);
  EXPECT_EQ(graph.host_count(leaf1), 1U);
  graph.unplug(other);
  EXPECT_EQ(graph.host_count(leaf0), 1U);
  const Graph before = graph;
  graph.forget(host); // the other one has its number now
  EXPECT_EQ(graph.host_count(leaf1), 0U);
  graph.forget(host);
  EXPECT_EQ(graph.host_count(leaf0), 0U);
  EXPECT_EQ(before.host_count(leaf1), 1U);
}

TEST_F(GraphTest, finds_what_was_added) {
  EXPECT_EQ(graph.find_switch("leaf1"), leaf1);
  EXPECT_EQ(graph.find_switch("leaf2"), std::nullopt);
  EXPECT_EQ(graph.find_switch_by_guid(2), leaf1);
  EXPECT_EQ(graph.find_switch_by_guid(0), std::nullopt);
  EXPECT_EQ(graph.find_host(Nid{7}), host);
  EXPECT_EQ(graph.find_host("h"), host);
  EXPECT_EQ(graph.find_link({spine, 1}, {leaf1, 0}), up1);
  EXPECT_EQ(graph.find_link({spine, 0}, {leaf1, 0}), std::nullopt);
  EXPECT_EQ(graph.link_at({spine, 0}), up0);
  EXPECT_EQ(graph.host_at({leaf0, 1}), host);
  EXPECT_EQ(graph.hops(spine).size(), 2U);
  EXPECT_EQ(graph.describe(up0), "leaf0 port 0 - spine port 0");
}

TEST_F(GraphTest, refuses_what_contradicts_it_and_says_why) {
  EXPECT_THAT(complaint([&] { graph.add_switch({.name = "leaf0", .ports = 1}); }),
              HasSubstr("two switches \"leaf0\""));
  EXPECT_THAT(complaint([&] { graph.add_switch({.name = "x", .guid = 2, .ports = 1}); }),
              HasSubstr("of switch \"leaf1\""));
  EXPECT_EQ(graph.find_switch("x"), std::nullopt);
  EXPECT_THAT(complaint([&] {
                graph.connect({leaf0, 0}, {leaf1, 1});
              }),
              HasSubstr("leaf0 port 0 is used already, by the link leaf0 port 0 - spine port 0"));
  EXPECT_THAT(complaint([&] {
                graph.connect({leaf0, 1}, {leaf1, 1});
              }),
              HasSubstr("by host \"h\""));
  EXPECT_THAT(complaint([&] { graph.connect({leaf0, 2}, {leaf0, 3}); }), HasSubstr("joins"));
  EXPECT_THAT(complaint([&] {
                graph.connect({leaf0, 4}, {leaf1, 1});
              }),
              HasSubstr("has no port 4; it has 4, from 0 on"));
  EXPECT_THAT(complaint([&] {
                graph.add_host({.name = "i", .nid = Nid{7}, .at = {leaf1, 1}});
              }),
              HasSubstr("NID 7 of host \"h\""));
  EXPECT_THAT(complaint([&] {
                graph.add_host({.name = "h", .nid = Nid{8}, .at = {leaf1, 1}});
              }),
              HasSubstr("two hosts \"h\""));
  EXPECT_THAT(complaint([&] { graph.set_guid(leaf0, 2); }), HasSubstr("of switch \"leaf1\""));
}

TEST_F(GraphTest, link_is_usable_only_with_both_switches) {
  EXPECT_TRUE(graph.usable(up0));
  graph.set_up(spine, false);
  EXPECT_FALSE(graph.usable(up0));
  graph.set_up(spine, true);
  graph.set_up(up0, false);
  EXPECT_FALSE(graph.usable(up0));
  EXPECT_TRUE(graph.usable(up1));
}

TEST_F(GraphTest, unplugged_link_frees_its_ports_and_keeps_its_number) {
  graph.unplug(up0);
  EXPECT_FALSE(graph.usable(up0));
  EXPECT_EQ(graph.link_at({leaf0, 0}), std::nullopt);
  EXPECT_EQ(graph.find_link({leaf0, 0}, {spine, 0}), up0);
  const LinkId other = graph.connect({leaf0, 0}, {spine, 2});
  EXPECT_THAT(complaint([&] { graph.plug_in(up0); }), HasSubstr("leaf0 port 0 is used already"));
  EXPECT_EQ(graph.link_at({leaf0, 0}), other);
  graph.unplug(other);
  graph.plug_in(up0);
  EXPECT_EQ(graph.link_at({spine, 0}), up0);
  EXPECT_FALSE(graph.usable(up0)) << "plugged in, but not reported up";
  graph.set_up(up0, true);
  EXPECT_TRUE(graph.usable(up0));
  EXPECT_EQ(graph.links().size(), 3U);
}

TEST_F(GraphTest, unplugged_host_frees_its_port_and_comes_back_elsewhere) {
  graph.unplug(host);
  EXPECT_FALSE(graph[host].up);
  const HostId other = graph.add_host({.name = "i", .nid = Nid{8}, .at = {leaf0, 1}});
  graph.move_host(host, {leaf1, 3});
  EXPECT_TRUE(graph[host].up);
  EXPECT_EQ(graph.host_at({leaf0, 1}), other) << "the port it left before belongs to another one";
  EXPECT_EQ(graph.host_at({leaf1, 3}), host);
}

TEST_F(GraphTest, ports_and_guids_of_a_switch_can_change) {
  graph.set_ports(leaf0, 8);
  graph.connect({leaf0, 7}, {spine, 3});
  EXPECT_THAT(complaint([&] { graph.set_ports(leaf0, 7); }), HasSubstr("leaf0 port 7 is used"));
  EXPECT_EQ(graph[leaf0].ports, 8);
  graph.set_guid(leaf0, 9);
  EXPECT_EQ(graph.find_switch_by_guid(9), leaf0);
  EXPECT_EQ(graph.find_switch_by_guid(1), std::nullopt);
  graph.set_guid(leaf0, 0);
  graph.set_guid(leaf1, 9);
  EXPECT_EQ(graph.find_switch_by_guid(9), leaf1);
}

TEST_F(GraphTest, renamed_host_is_found_under_its_new_name_alone) {
  graph.rename(host, "node7");
  EXPECT_EQ(graph.find_host("node7"), host);
  EXPECT_EQ(graph.find_host("h"), std::nullopt);
  graph.add_host({.name = "h", .nid = Nid{8}, .at = {leaf1, 1}});
  EXPECT_THAT(complaint([&] { graph.rename(host, "h"); }), HasSubstr("two hosts \"h\""));
}

TEST_F(GraphTest, a_copy_stays_as_it_is_whatever_becomes_of_the_other) {
  const Graph copy = graph;
  graph.set_up(up0, false);
  graph.unplug(up1);
  graph.rename(host, "node7");
  graph.move_host(host, {leaf1, 2});
  graph.set_guid(leaf0, 77);
  graph.add_switch({.name = "leaf2", .ports = 4});
  EXPECT_TRUE(copy[up0].up);
  EXPECT_EQ(copy.link_at(copy[up1].ends[0]), up1);
  EXPECT_EQ(graph.link_at(copy[up1].ends[0]), std::nullopt);
  EXPECT_EQ(copy.find_host("node7"), std::nullopt);
  EXPECT_EQ(copy.host_at(copy[host].at), host);
  EXPECT_EQ(copy.find_switch_by_guid(77), std::nullopt);
  EXPECT_EQ(copy.find_switch("leaf2"), std::nullopt);
  EXPECT_EQ(copy.switches().size() + 1, graph.switches().size());
}

TEST_F(GraphTest, nothing_is_touched_in_a_copy) {
  graph.set_up(up0, false);
  Graph copy = graph;
  EXPECT_TRUE(graph.is_touched());
  EXPECT_FALSE(copy.is_touched());
  copy.set_up(up0, true);
  EXPECT_EQ(copy.take_touched().links.size(), 1U);
}

} // namespace
} // namespace tributary::topology
