#include "controlplane/job/allocation.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tributary::job {
namespace {

Interface interface(const std::string& name, const std::string& address) {
  return {.name = name, .address = address, .up = true};
}

const Interface* chosen(const std::vector<Interface>& all, std::string_view wanted,
                        const std::set<std::uint32_t>& known) {
  return fabric_interface(all, wanted, [&](Nid nid) { return known.contains(nid.value); });
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

} // namespace
} // namespace tributary::job
