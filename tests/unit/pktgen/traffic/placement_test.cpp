// Lanes of ports, and which hosts sit on which.
#include "pktgen/traffic/placement.hpp"

#include <gtest/gtest.h>

namespace tributary::pktgen {
namespace {

Placement with_queues(const std::vector<std::size_t>& queues) {
  Placement placement;
  placement.ports.resize(queues.size());
  for (PortIndex port = 0; port < queues.size(); ++port) {
    placement.lanes.insert(placement.lanes.end(), queues[port], port);
  }
  return placement;
}

TEST(Placement, without_lanes_has_one_for_each_port) {
  Placement placement;
  placement.ports.resize(3);
  EXPECT_EQ(placement.lane_count(), 3U);
  EXPECT_EQ(placement.port_of(2), 2U);
  LanesOfPorts lanes(placement);
  for (PortIndex port = 0; port < 3; ++port) {
    EXPECT_EQ(lanes.first(port), port);
    EXPECT_EQ(lanes.count(port), 1U);
    EXPECT_EQ(lanes.deal(port), port);
    EXPECT_EQ(lanes.deal(port), port);
  }
}

TEST(Placement, deals_the_hosts_of_each_port_to_its_lanes_in_turn) {
  const Placement placement = with_queues({1, 3, 2});
  EXPECT_EQ(placement.lane_count(), 6U);
  EXPECT_EQ(placement.port_of(3), 1U);
  LanesOfPorts lanes(placement);
  EXPECT_EQ(lanes.first(1), 1U);
  EXPECT_EQ(lanes.end(1), 4U);
  EXPECT_EQ(lanes.first(2), 4U);
  std::vector<LaneIndex> dealt;
  for (int host = 0; host < 4; ++host) {
    dealt.push_back(lanes.deal(1));
    dealt.push_back(lanes.deal(2));
  }
  EXPECT_EQ(dealt, (std::vector<LaneIndex>{1, 4, 2, 5, 3, 4, 1, 5}));
}

TEST(Placement, knows_whether_any_lane_is_elsewhere) {
  Placement placement = with_queues({2, 2});
  EXPECT_TRUE(placement.is_all_here());
  placement.elsewhere = {false, true, false, false};
  EXPECT_FALSE(placement.is_all_here());
  EXPECT_TRUE(placement.is_here(0));
  EXPECT_FALSE(placement.is_here(1));
}

} // namespace
} // namespace tributary::pktgen
