#include "controlplane/job/allocation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tributary::job {
namespace {

Interface interface(const std::string& name, const std::string& address) {
  return {.name = name, .address = address, .up = true};
}

const Interface* chosen(const std::vector<Interface>& all, std::string_view wanted,
                        const std::set<std::uint32_t>& known, std::string_view node = "n9") {
  return fabric_interface(
      all, wanted, [&](Nid nid) { return known.contains(nid.value) ? "n0" : std::string_view(); },
      node);
}

TEST(FabricInterface, has_its_nid_in_its_mac_address) {
  EXPECT_EQ(fabric_address("02:00:00:01:23:45")->nid, Nid{0x12345});
  EXPECT_TRUE(fabric_address("02:00:00:01:23:45")->made_for_it);
  EXPECT_EQ(fabric_address("52:54:00:f1:23:45")->nid, Nid{0x12345});
  EXPECT_FALSE(fabric_address("52:54:00:f1:23:45")->made_for_it);
  EXPECT_EQ(fabric_address("02:00:00:0f:f7:ff")->nid, Nid{0xFF7FF}) << "the last one of a host";
  for (const char* text :
       {"", "02:00:00:00:00:00", "02:00:00:0f:ff:ff", "02:00:00:0f:f8:00", "02:00:00:00:00",
        "02:00:00:00:00:01:", "02:00:00:00:00:0x", "020000000001"}) {
    EXPECT_FALSE(fabric_address(text)) << text;
  }
}

TEST(FabricInterface, is_the_one_that_is_named) {
  const std::vector<Interface> all{interface("eth0", "52:54:00:00:00:07"),
                                   interface("eth1", "02:00:00:00:00:08")};
  EXPECT_EQ(chosen(all, "eth0", {})->name, "eth0");
  EXPECT_EQ(chosen(all, "eth2", {}), nullptr);
}

TEST(FabricInterface, is_otherwise_the_one_that_is_known) {
  const std::vector<Interface> all{interface("eth0", "52:54:00:00:00:07"),
                                   interface("eth1", "02:00:00:00:00:08"),
                                   interface("eth2", "02:00:00:00:00:09")};
  EXPECT_EQ(chosen(all, "", {})->name, "eth1") << "the first with a fabric address";
  EXPECT_EQ(chosen(all, "", {9})->name, "eth2");
  EXPECT_EQ(chosen(all, "", {7})->name, "eth1") << "not by chance of a vendor's address";
  EXPECT_EQ(chosen({all[0]}, "", {7}), nullptr);
}

TEST(FabricInterface, of_a_vendors_address_is_the_one_that_a_host_of_the_nodes_name_announces) {
  const std::vector<Interface> all{interface("eth0", "52:54:00:00:00:07"),
                                   interface("eth1", "3c:ec:ef:00:00:08")};
  EXPECT_EQ(chosen(all, "", {8}, "n0")->name, "eth1");
  EXPECT_EQ(chosen(all, "", {8}, "n1"), nullptr) << "the host is another node's";
  EXPECT_EQ(chosen(all, "", {}, "n0"), nullptr);
  EXPECT_EQ(chosen({all[1], interface("eth2", "02:00:00:00:00:09")}, "", {8}, "n0")->name, "eth2")
      << "an address of the fabric goes before";
}

/// leaf0 - spine - leaf1, and a switch of its own.
class RouteTimes : public testing::Test {
protected:
  RouteTimes() {
    for (const char* const name : {"leaf0", "leaf1", "spine", "alone"}) {
      switches.push_back(graph.add_switch({.name = name, .ports = 4}));
    }
    graph.connect({switches[0], 0}, {switches[2], 0});
    second = graph.connect({switches[1], 0}, {switches[2], 1});
  }
  std::vector<double> times(const std::vector<int>& nodes) {
    std::vector<std::optional<topology::SwitchId>> places;
    for (const int node : nodes) {
      places.push_back(node < 0 ? std::nullopt
                                : std::optional(switches[static_cast<std::size_t>(node)]));
    }
    return relative_route_times(graph, places);
  }
  topology::Graph graph;
  std::vector<topology::SwitchId> switches;
  topology::LinkId second;
};

TEST_F(RouteTimes, are_relative_to_neighbours) {
  EXPECT_EQ(times({0, 0, 1}), (std::vector<double>{0, 1, 2, 1, 0, 2, 2, 2, 0}));
  EXPECT_EQ(times({0, 1}), (std::vector<double>{0, 1, 1, 0})) << "the least of all is the unit";
  EXPECT_EQ(times({0}), (std::vector<double>{0}));
}

TEST_F(RouteTimes, are_nothing_where_a_node_is_not_known_or_not_reached) {
  EXPECT_TRUE(times({0, -1}).empty());
  EXPECT_TRUE(times({-1, 0}).empty());
  EXPECT_TRUE(times({0, 3}).empty());
  graph.set_up(second, false);
  EXPECT_TRUE(times({0, 1}).empty());
}

/// Pods of leaves under spines of their own, and those under cores.
struct Pods {
  Pods(std::uint32_t pods, std::uint32_t leaves_of_each) {
    const auto core = graph.add_switch({.name = "core", .ports = 1024});
    for (std::uint32_t pod = 0; pod < pods; ++pod) {
      const auto spine = graph.add_switch({.name = "spine" + std::to_string(pod), .ports = 1024});
      graph.connect({spine, 1023}, {core, static_cast<topology::Port>(pod)});
      for (std::uint32_t n = 0; n < leaves_of_each; ++n) {
        leaves.push_back(graph.add_switch(
            {.name = "leaf" + std::to_string(pod) + "." + std::to_string(n), .ports = 64}));
        graph.connect({leaves.back(), 63}, {spine, static_cast<topology::Port>(n)});
      }
    }
  }
  /// Nodes are dealt to leaves in turn.
  [[nodiscard]] std::vector<std::optional<topology::SwitchId>> nodes(std::size_t count) const {
    std::vector<std::optional<topology::SwitchId>> places;
    for (std::size_t n = 0; n < count; ++n) {
      places.emplace_back(leaves[n % leaves.size()]);
    }
    return places;
  }
  /// Links from the node at one leaf to that at another, ends included.
  [[nodiscard]] static double links(std::size_t a, std::size_t b, std::size_t leaves_of_each) {
    return a == b ? 2 : a / leaves_of_each == b / leaves_of_each ? 4 : 6;
  }
  topology::Graph graph;
  std::vector<topology::SwitchId> leaves;
};

TEST(RouteClasses, of_4096_nodes_are_their_switches_and_exact) {
  const Pods fabric(8, 16);
  const RouteClasses classes = route_classes(fabric.graph, fabric.nodes(4096), 256);
  EXPECT_EQ(classes.of_node.size(), 4096U);
  EXPECT_EQ(classes.count, 128U);
  ASSERT_EQ(classes.times.size(), 128U * 128U);
  EXPECT_EQ(classes.error, 0);
  for (std::size_t a = 0; a < 4096; ++a) {
    for (std::size_t b = a % 7; b < 4096; b += 7) {
      ASSERT_EQ(classes.times[classes.of_node[a] * classes.count + classes.of_node[b]],
                Pods::links(a % 128, b % 128, 16) / 2)
          << a << " and " << b;
    }
  }
}

TEST(RouteClasses, of_more_switches_than_there_may_be_are_neighbourhoods_and_within_their_error) {
  const Pods fabric(32, 32);
  const RouteClasses classes = route_classes(fabric.graph, fabric.nodes(4096), 256);
  EXPECT_EQ(classes.count, 32U) << "a pod each: leaves are two links from one another";
  ASSERT_EQ(classes.times.size(), 32U * 32U);
  EXPECT_EQ(classes.error, 2);
  for (std::size_t a = 0; a < 4096; ++a) {
    for (std::size_t b = a % 7; b < 4096; b += 7) {
      const double time = classes.times[classes.of_node[a] * classes.count + classes.of_node[b]];
      ASSERT_LE(std::abs(time - Pods::links(a % 1024, b % 1024, 32) / 2), classes.error);
    }
  }
  EXPECT_EQ(route_classes(fabric.graph, fabric.nodes(4096), 1).count, 1U);
}

TEST(RouteClasses, have_the_shortest_way_between_nodes_as_their_unit) {
  const Pods fabric(2, 2);
  const RouteClasses one_at_each = route_classes(fabric.graph, fabric.nodes(4), 4);
  EXPECT_EQ(one_at_each.times[1], 1) << "in a pod";
  EXPECT_EQ(one_at_each.times[2], 1.5) << "between pods";
}

TEST(RouteClasses, are_none_where_a_node_is_not_known_or_not_reached) {
  Pods fabric(2, 2);
  auto nodes = fabric.nodes(4);
  nodes[3].reset();
  EXPECT_EQ(route_classes(fabric.graph, nodes, 256).count, 0U);
  EXPECT_EQ(route_classes(fabric.graph, {}, 256).count, 0U);
  nodes[3] = fabric.graph.add_switch({.name = "alone", .ports = 4});
  EXPECT_EQ(route_classes(fabric.graph, nodes, 256).count, 0U);
}

} // namespace
} // namespace tributary::job
