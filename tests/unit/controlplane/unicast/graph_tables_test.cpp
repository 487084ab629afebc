// Tables in the numbers of a graph: the same routes whatever the numbers, fitted to other graphs,
// along a spanning tree, in parts.
#include "controlplane/unicast/graph_tables.hpp"

#include "controlplane/topology/builders.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/verify.hpp"
#include "tests/support/error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::unicast {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using topology::Graph;
using topology::SwitchId;

struct OnGraph {
  explicit OnGraph(Graph one)
      : graph(std::move(one)), network(network_of(graph)), up(port_states(graph, network)),
        endpoints(endpoints_of(graph)) {}
  [[nodiscard]] Verification walk(const std::vector<const TableSet*>& sets) const {
    return verify(network, sets, up, endpoints);
  }
  [[nodiscard]] TableSet tables(const char* algorithm, std::uint8_t vcs = 2) const {
    const Placement placed = place(graph);
    return on_graph(
        make_algorithm(algorithm, placed.shape, {.vcs = vcs})->tables(placed.faults(graph)), placed,
        graph);
  }
  Graph graph;
  Network network;
  PortStates up;
  std::vector<std::uint32_t> endpoints;
};

Graph without(Graph graph, std::uint32_t s) {
  graph.set_up(SwitchId{s}, false);
  return graph;
}

TEST(GraphTables, tables_of_a_fat_tree_serve_every_pair_of_the_graph) {
  for (const char* algorithm : {"vtftr", "vtftr_plus", "phase_search"}) {
    const OnGraph fabric(topology::build_model("kdft:4x3x2").graph);
    const TableSet tables = fabric.tables(algorithm);
    const Verification found = fabric.walk({&tables});
    EXPECT_TRUE(found.safe()) << algorithm << ": " << found.describe(fabric.network);
    EXPECT_EQ(found.pairs, 12U * 11U);
  }
}

TEST(GraphTables, so_they_do_with_a_dead_leaf_and_a_dead_link) {
  Graph graph = without(topology::build_model("kdft:4x4x1").graph, 5);
  graph.set_up(topology::LinkId{0}, false);
  const OnGraph fabric(std::move(graph));
  const TableSet tables = fabric.tables("phase_search");
  const Verification found = fabric.walk({&tables});
  EXPECT_TRUE(found.safe()) << found.describe(fabric.network);
  EXPECT_EQ(found.pairs, 15U * 14U);
}

TEST(GraphTables, tables_from_before_and_after_a_fault_meet_without_a_cycle) {
  const OnGraph before(topology::build_model("kdft:4x4x1").graph);
  const OnGraph after(without(topology::build_model("kdft:4x4x1").graph, 5));
  const TableSet old = before.tables("vtftr_plus");
  const TableSet next = after.tables("phase_search");
  EXPECT_TRUE(after.walk({&old, &next}).acyclic());
  EXPECT_FALSE(changed_destinations(old, next).empty());
  EXPECT_THAT(changed_destinations(old, old), IsEmpty());
}

TEST(GraphTables, a_spanning_tree_serves_all) {
  for (const char* model : {"torus:4x4x1", "dragonfly:4,2,2", "ft3:4"}) {
    const OnGraph fabric(topology::build_model(model).graph);
    for (const std::uint8_t vcs : {std::uint8_t{1}, std::uint8_t{2}}) {
      const TableSet tree = escape_tables(fabric.network, fabric.up, fabric.endpoints, vcs);
      EXPECT_TRUE(fabric.walk({&tree}).safe()) << model;
    }
  }
}

TEST(GraphTables, a_spanning_tree_is_refused_from_a_root_that_reaches_no_switch_with_hosts) {
  Graph graph = topology::build_model("torus:4x4x1").graph;
  const SwitchId bare = graph.add_switch({.name = "bare", .ports = 4});
  const OnGraph fabric(std::move(graph));
  const std::string message = test::message_of<RouteError>(
      [&] { return escape_tables(fabric.network, fabric.up, fabric.endpoints, 2, bare.value); });
  EXPECT_THAT(message, testing::HasSubstr("no switch with hosts can be reached from bare"));
  const TableSet tree = escape_tables(fabric.network, fabric.up, fabric.endpoints, 2);
  EXPECT_TRUE(fabric.walk({&tree}).safe());
}

TEST(GraphTables, fitted_to_a_larger_fabric_a_table_does_what_it_did_and_knows_no_others) {
  const OnGraph fabric(topology::build_model("kdft:3x3x1").graph);
  TableSet tables = fabric.tables("vtftr_plus");
  TableSet wide{.vcs = 3, .switches = {}};
  for (std::uint32_t s = 0; s < fabric.network.switches(); ++s) {
    const std::uint32_t ports = fabric.network.ports(s);
    const forwarding_table::SwitchTable& table = tables.switches[s];
    const forwarding_table::SwitchTable other =
        fitted(table, table.destinations + 3, ports + 70, 3);
    EXPECT_EQ(other.words, table.words + 1);
    EXPECT_EQ(other.action(forwarding_table::local_port, 0, table.destinations + 2),
              forwarding_table::Action{});
    EXPECT_EQ(other.action(0, 2, 0).otherwise, forwarding_table::Outcome::no_vc);
    EXPECT_EQ(fitted(table, table.destinations, ports, 2), table);
    wide.switches.push_back(fitted(table, table.destinations, ports, 3));
  }
  EXPECT_TRUE(fabric.walk({&wide}).safe());
}

TEST(GraphTables, an_empty_table_drops_what_is_for_others_as_no_route) {
  const OnGraph fabric(topology::build_model("kdft:3x3x1").graph);
  TableSet tables = fabric.tables("vtftr_plus");
  tables.switches[4] = empty_table(4, fabric.network.switches(), fabric.network.ports(4), 2);
  const Verification found = fabric.walk({&tables});
  EXPECT_GE(found.stranded, 8U);
  ASSERT_TRUE(found.lost);
  EXPECT_EQ(found.lost->reason, forwarding_table::Outcome::no_route);
}

TEST(GraphTables, parts_are_those_that_reach_each_other_the_largest_first) {
  Graph graph = topology::build_model("kdft:3x3x1").graph;
  for (std::uint32_t l = 0; l < graph.links().size(); ++l) {
    const topology::Link link = graph[topology::LinkId{l}];
    for (const topology::Attachment& end : link.ends) {
      if (end.at == SwitchId{4}) {
        graph.set_up(topology::LinkId{l}, false);
      }
    }
  }
  const OnGraph fabric(std::move(graph));
  const auto parts = parts_of(fabric.network, fabric.up, fabric.endpoints);
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_THAT(parts[0], SizeIs(8));
  EXPECT_THAT(parts[1], ElementsAre(4));
}

} // namespace
} // namespace tributary::unicast
