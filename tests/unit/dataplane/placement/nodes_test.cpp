#include "dataplane/placement/nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace tributary::placement::test {
namespace {

using ::testing::ElementsAre;

/// As in turn, which is what a machine with one node has.
TEST(Nodes, one_or_none_that_is_known_has_one_pool_and_ports_in_turn) {
  for (const Node node : {any_node, Node{0}, Node{1}}) {
    const Nodes nodes{.ports = std::vector<Node>(5, node), .workers = std::vector<Node>(2, node)};
    EXPECT_THAT(nodes_with_pools(nodes), ElementsAre(any_node)) << node;
    EXPECT_THAT(deal_out(nodes), ElementsAre(0, 1, 0, 1, 0)) << node;
  }
}

TEST(Nodes, two_have_a_pool_each_and_workers_have_the_ports_of_theirs) {
  const Nodes nodes{.ports = {0, 0, 1, 1, 0, 1}, .workers = {0, 1, 0, 1}};
  EXPECT_THAT(nodes_with_pools(nodes), ElementsAre(0, 1));
  EXPECT_THAT(deal_out(nodes), ElementsAre(0, 2, 1, 3, 0, 1));
  EXPECT_EQ(pool_of(nodes_with_pools(nodes), 0), 0U);
  EXPECT_EQ(pool_of(nodes_with_pools(nodes), 1), 1U);
}

TEST(Nodes, four_of_which_three_have_ports_have_three_pools) {
  const Nodes nodes{.ports = {3, 0, 2, 3}, .workers = {0, 1, 2, 3}};
  const std::vector<Node> pools = nodes_with_pools(nodes);
  EXPECT_THAT(pools, ElementsAre(0, 2, 3));
  EXPECT_THAT(deal_out(nodes), ElementsAre(3, 0, 2, 3));
  EXPECT_EQ(pool_of(pools, 3), 2U);
  EXPECT_EQ(pool_of(pools, 1), 0U) << "a worker without ports at its node";
  EXPECT_EQ(pool_of(pools, any_node), 0U);
}

TEST(Nodes, ports_without_a_worker_at_their_node_go_to_whichever_has_the_fewest) {
  const Nodes nodes{.ports = {1, any_node, 1, 1}, .workers = {0, 0}};
  EXPECT_THAT(deal_out(nodes), ElementsAre(0, 1, 0, 1));
  // Virtual ports fill up those that have no NIC.
  const Nodes mixed{.ports = {0, 0, any_node, any_node}, .workers = {0, 1}};
  EXPECT_THAT(deal_out(mixed), ElementsAre(0, 0, 1, 1));
  // Workers that are not pinned are at no node.
  const Nodes free{.ports = {0, 1, 0}, .workers = {any_node, any_node}};
  EXPECT_THAT(deal_out(free), ElementsAre(0, 1, 0));
  EXPECT_THAT(nodes_with_pools(free), ElementsAre(0, 1));
}

} // namespace
} // namespace tributary::placement::test
