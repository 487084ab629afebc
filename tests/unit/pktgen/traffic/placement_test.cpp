// Queue pairs of ports, and the hosts on each.
#include "pktgen/traffic/placement.hpp"

#include <gtest/gtest.h>

namespace tributary::pktgen::traffic {
namespace {

Placement with_queues(const std::vector<std::size_t>& queues) {
  Placement placement;
  placement.ports.resize(queues.size());
  for (scenario::PortIndex port = 0; port < queues.size(); ++port) {
    placement.queue_pairs.insert(placement.queue_pairs.end(), queues[port], port);
  }
  return placement;
}

TEST(Placement, without_queue_pairs_has_one_for_each_port) {
  Placement placement;
  placement.ports.resize(3);
  EXPECT_EQ(placement.queue_pair_count(), 3U);
  EXPECT_EQ(placement.port_of(2), 2U);
  QueuePairsOfPorts queue_pairs(placement);
  for (scenario::PortIndex port = 0; port < 3; ++port) {
    EXPECT_EQ(queue_pairs.first(port), port);
    EXPECT_EQ(queue_pairs.count(port), 1U);
    EXPECT_EQ(queue_pairs.deal(port), port);
    EXPECT_EQ(queue_pairs.deal(port), port);
  }
}

TEST(Placement, deals_the_hosts_of_each_port_to_its_queue_pairs_in_turn) {
  const Placement placement = with_queues({1, 3, 2});
  EXPECT_EQ(placement.queue_pair_count(), 6U);
  EXPECT_EQ(placement.port_of(3), 1U);
  QueuePairsOfPorts queue_pairs(placement);
  EXPECT_EQ(queue_pairs.first(1), 1U);
  EXPECT_EQ(queue_pairs.end(1), 4U);
  EXPECT_EQ(queue_pairs.first(2), 4U);
  std::vector<scenario::QueuePairIndex> dealt;
  for (int host = 0; host < 4; ++host) {
    dealt.push_back(queue_pairs.deal(1));
    dealt.push_back(queue_pairs.deal(2));
  }
  EXPECT_EQ(dealt, (std::vector<scenario::QueuePairIndex>{1, 4, 2, 5, 3, 4, 1, 5}));
}

TEST(Placement, knows_whether_any_queue_pair_is_elsewhere) {
  Placement placement = with_queues({2, 2});
  EXPECT_TRUE(placement.is_all_here());
  placement.elsewhere = {false, true, false, false};
  EXPECT_FALSE(placement.is_all_here());
  EXPECT_TRUE(placement.is_here(0));
  EXPECT_FALSE(placement.is_here(1));
}

} // namespace
} // namespace tributary::pktgen::traffic
