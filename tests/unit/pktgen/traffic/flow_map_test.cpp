#include "pktgen/traffic/flow_map.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace tributary::pktgen::traffic {
namespace {

TEST(FlowMap, gives_each_pair_of_a_thousand_nodes_a_flow_of_its_own) {
  for (const std::uint32_t nodes : {2U, 3U, 64U, 100U, 1'024U}) {
    const FlowMap map = FlowMap::unicast(nodes, 5);
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      for (std::uint32_t j = 0; j < nodes; ++j) {
        const std::uint32_t flow = map.flow(i, i % 5, j);
        ASSERT_TRUE(map.has(flow));
        ASSERT_EQ(map.destination(flow), j);
        ASSERT_LT(map.reception(flow, j % 5), map.receptions());
        seen.insert(flow);
      }
    }
    EXPECT_EQ(seen.size(), std::size_t{nodes} * nodes);
  }
}

TEST(FlowMap, of_more_nodes_joins_the_sources_of_a_port) {
  const FlowMap map = FlowMap::unicast(16'000, 6);
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> flows;
  std::set<std::uint32_t> distinct;
  for (std::uint32_t i = 0; i < 16'000; i += 7) {
    for (std::uint32_t j = 0; j < 16'000; j += 1'999) {
      const std::uint32_t flow = map.flow(i, i % 6, j);
      ASSERT_TRUE(map.has(flow));
      ASSERT_EQ(map.destination(flow), j);
      const auto [known, fresh] = flows.try_emplace({i % 6, j}, flow);
      ASSERT_EQ(known->second, flow);
      distinct.insert(flow);
    }
  }
  EXPECT_EQ(distinct.size(), flows.size()) << "ports share a flow";
}

TEST(FlowMap, never_has_more_than_a_million_flows) {
  for (const std::uint32_t nodes : {1'025U, 16'385U, 100'000U, 1'000'000U, 1U << 20}) {
    const FlowMap map = FlowMap::unicast(nodes, 64);
    EXPECT_LE(map.flows(), FlowMap::most_flows);
    EXPECT_LT(map.flow(nodes - 1, 63, nodes - 1), map.flows());
  }
}

TEST(FlowMap, has_no_flow_to_a_node_that_there_is_not) {
  const FlowMap map = FlowMap::unicast(5, 5);
  EXPECT_TRUE(map.has(map.flow(0, 0, 4)));
  EXPECT_FALSE(map.has(map.flow(0, 0, 5)));
  EXPECT_FALSE(map.has(map.flow(5, 0, 0)));
  EXPECT_FALSE(map.has(~0U));
}

TEST(FlowMap, of_trees_keeps_a_reception_for_each_port) {
  const FlowMap map = FlowMap::multicast(100, 7);
  std::set<std::size_t> seen;
  for (std::uint32_t tree = 0; tree < 100; ++tree) {
    EXPECT_EQ(map.home(tree), tree % 7);
    for (scenario::PortIndex port = 0; port < 7; ++port) {
      EXPECT_LT(map.reception(tree, port), map.receptions());
      EXPECT_TRUE(seen.insert(map.reception(tree, port)).second);
    }
  }
}

TEST(FlowMap, refuses_what_it_cannot_number) {
  EXPECT_THROW(FlowMap::unicast(0, 2), std::invalid_argument);
  EXPECT_THROW(FlowMap::unicast((1U << 20) + 1, 2), std::invalid_argument);
  EXPECT_THROW(FlowMap::unicast(2, 65), std::invalid_argument);
  EXPECT_THROW(FlowMap::multicast(0, 2), std::invalid_argument);
  EXPECT_THROW(FlowMap::multicast(8'193, 2), std::invalid_argument);
  EXPECT_THROW(FlowMap::multicast(1, 0), std::invalid_argument);
}

} // namespace
} // namespace tributary::pktgen::traffic
