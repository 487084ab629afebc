#include "controlplane/job/node_inventory.hpp"

#include <gtest/gtest.h>

namespace tributary::job {
namespace {

NodeInventory made() {
  NodeInventory node;
  node.host = "n0";
  node.processors = 16;
  node.memory_bytes = 1U << 30U;
  node.interfaces = {{.name = "eth0", .address = "02:00:00:00:00:04", .mtu = 1500, .up = true},
                     {.name = "eth1", .address = "52:54:00:00:00:05", .mtu = 1500, .up = true}};
  return node;
}

TEST(NodeInventory, says_what_is_different) {
  NodeInventory now = made();
  EXPECT_EQ(difference(made(), now), "");
  now.interfaces[0].up = false;
  EXPECT_EQ(difference(made(), now), "eth0 is down");
  now.interfaces[0].up = true;
  now.interfaces[1].mtu = 9000;
  now.interfaces.push_back({.name = "tap0"});
  EXPECT_EQ(difference(made(), now), "eth1 is different, tap0 is new");
  now.interfaces.erase(now.interfaces.begin());
  now.processors = 8;
  EXPECT_EQ(difference(made(), now),
            "eth1 is different, tap0 is new, eth0 is gone, 8 processors instead of 16");
  now = made();
  now.processor = "another one";
  EXPECT_EQ(difference(made(), now), "it is different");
}

TEST(NodeInventory, knows_its_hosts_by_their_addresses) {
  EXPECT_EQ(hosts_of(made()), std::vector<Nid>{Nid{4}});
}

TEST(NodeTable, keeps_the_last_report_and_says_what_changed) {
  NodeTable table;
  EXPECT_EQ(table.find("n0"), nullptr);
  EXPECT_EQ(table.report("n0", made(), "j1", TimeNs{5}), "") << "the first one is not a change";
  EXPECT_EQ(table.report("n0", made(), "j1", TimeNs{6}), "");
  NodeInventory now = made();
  now.interfaces[1].up = false;
  EXPECT_EQ(table.report("n0", now, "j2", TimeNs{7}), "eth1 is down");
  ASSERT_NE(table.find("n0"), nullptr);
  EXPECT_EQ(table.find("n0")->job, "j2");
  EXPECT_EQ(table.find("n0")->reported, TimeNs{7});
}

TEST(NodeTable, has_an_end) {
  NodeTable table;
  for (std::size_t n = 0; n < NodeTable::most_nodes; ++n) {
    ASSERT_TRUE(table.report(std::to_string(n), {}, "", TimeNs{1}));
  }
  EXPECT_FALSE(table.report("one more", {}, "", TimeNs{1}));
  EXPECT_TRUE(table.report("7", made(), "", TimeNs{1})) << "one that is there";
}

} // namespace
} // namespace tributary::job
