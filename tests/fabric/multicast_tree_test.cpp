#include "tests/fabric/multicast_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tributary::fabric {
namespace {

std::vector<HostIndex> first_hosts(std::size_t count) {
  std::vector<HostIndex> hosts(count);
  for (std::size_t i = 0; i < count; ++i) {
    hosts[i] = static_cast<HostIndex>(i);
  }
  return hosts;
}

TEST(MulticastTree, of_the_demo_has_the_wait_counts_of_the_protocol_page) {
  const Topology demo = two_level(4, 4);
  Random random(1);
  const auto parts = multicast_tree(demo, 0, first_hosts(16), random);
  std::map<SwitchIndex, ContributionCount> wait_counts;
  for (const auto& p : parts) {
    wait_counts[p.at] = p.wait_count;
  }
  const std::map<SwitchIndex, ContributionCount> expected = {
      {1, 15}, {0, 12}, {2, 4}, {3, 4}, {4, 4}};
  EXPECT_EQ(wait_counts, expected);
  EXPECT_EQ(parts.front().at, demo.edge_port(0).node);
  EXPECT_EQ(parts.front().parent, demo.edge_port(0).port)
      << "the root is attached to the parent port";
}

/// Which hosts a frame from the root reaches, and how often, by following children.
std::map<HostIndex, int> reached(const Topology& t, const std::vector<TreePart>& parts,
                                 HostIndex root) {
  std::map<SwitchIndex, TreePart> by_switch;
  for (const auto& p : parts) {
    by_switch[p.at] = p;
  }
  std::map<HostIndex, int> hosts;
  std::vector<LinkEnd> arrivals = {t.edge_port(root)};
  while (!arrivals.empty()) {
    const LinkEnd at = arrivals.back();
    arrivals.pop_back();
    const TreePart& part = by_switch.at(at.node);
    EXPECT_EQ(part.parent, at.port) << "copies come in on the parent port";
    part.children.for_each([&](PortNumber port) {
      const LinkEnd& next = t.neighbour(at.node, port);
      if (next.kind == LinkEnd::Kind::host) {
        ++hosts[next.node];
      } else {
        arrivals.push_back(next);
      }
    });
  }
  return hosts;
}

TEST(MulticastTree, in_random_networks_reaches_each_member_once_and_no_other_host) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Topology t = random_network(3 + static_cast<std::uint32_t>(seed % 20), 40, 8, random);
    std::vector<HostIndex> members = first_hosts(40);
    random.shuffle(members);
    members.resize(2 + seed % 30);
    const auto parts = multicast_tree(t, members[0], members, random);
    const auto hosts = reached(t, parts, members[0]);
    ASSERT_EQ(hosts.size(), members.size() - 1) << "seed " << seed;
    for (const auto& [host, times] : hosts) {
      ASSERT_EQ(times, 1) << "seed " << seed;
      ASSERT_NE(std::ranges::find(members, host), members.end()) << "seed " << seed;
    }
    ASSERT_EQ(parts.front().wait_count, members.size() - 1) << "seed " << seed;
  }
}

TEST(PortsToward, lead_to_the_host_from_everywhere) {
  Random random(7);
  const Topology t = random_network(15, 10, 6, random);
  for (HostIndex host = 0; host < 10; ++host) {
    const auto ports = ports_toward(t, host);
    for (SwitchIndex from = 0; from < 15; ++from) {
      LinkEnd at{LinkEnd::Kind::in_switch, from, PortNumber{0}};
      for (int hops = 0; at.kind == LinkEnd::Kind::in_switch; ++hops) {
        ASSERT_LE(hops, 15) << "a loop";
        at = t.neighbour(at.node, ports[at.node]);
      }
      ASSERT_EQ(at.node, host);
    }
  }
}

} // namespace
} // namespace tributary::fabric
