// A file against the discovered fabric (controlplane/topology/cabling.hpp).

#include "controlplane/topology/cabling.hpp"

#include "controlplane/topology/builders.hpp"
#include "controlplane/topology/toml_file.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two leaves, two spines, one link from each to each; a host on each leaf's port 2. Both graphs
/// number elements in another order.
class CablingTest : public ::testing::Test {
protected:
  CablingTest() {
    for (const std::string name : {"leaf0", "leaf1", "spine0", "spine1"}) {
      expected.add_switch({.name = name, .ports = 4});
    }
    for (const std::string name : {"spine1", "spine0", "leaf1", "leaf0"}) {
      found.add_switch({.name = name, .ports = 4});
    }
    for (Graph* graph : {&expected, &found}) {
      join(*graph, "leaf0", 0, "spine0", 0);
      join(*graph, "spine1", 0, "leaf0", 1);
      join(*graph, "leaf1", 0, "spine0", 1);
      join(*graph, "leaf1", 1, "spine1", 1);
      host(*graph, "h0", 1, "leaf0", 2);
      host(*graph, "h1", 2, "leaf1", 2);
    }
  }
  static SwitchId at(const Graph& graph, const std::string& name) {
    return graph.find_switch(name).value();
  }
  static void join(Graph& graph, const std::string& a, Port pa, const std::string& b, Port pb) {
    graph.connect({at(graph, a), pa}, {at(graph, b), pb});
  }
  static void host(Graph& graph, const std::string& name, std::uint32_t nid, const std::string& s,
                   Port port) {
    graph.add_host({.name = name, .nid = Nid{nid}, .at = {at(graph, s), port}});
  }
  void cut(const std::string& s, Port port) {
    found.unplug(found.link_at({at(found, s), port}).value());
  }
  std::vector<std::string> differences() { return check_cabling(expected, found); }

  Graph expected;
  Graph found;
};

TEST_F(CablingTest, as_it_should_be_has_no_differences) {
  EXPECT_THAT(differences(), IsEmpty());
  EXPECT_THAT(check_cabling(Graph(), Graph()), IsEmpty());
}

TEST_F(CablingTest, wrong_link_is_named_with_where_it_goes) {
  cut("leaf0", 1);
  join(found, "leaf0", 1, "spine0", 2);
  EXPECT_THAT(differences(),
              ElementsAre("leaf0 port 1 should go to spine1 port 0, goes to spine0 port 2"));
}

TEST_F(CablingTest, two_swapped_links_are_two_lines) {
  cut("leaf0", 0);
  cut("leaf1", 0);
  join(found, "leaf0", 0, "spine0", 1);
  join(found, "leaf1", 0, "spine0", 0);
  EXPECT_THAT(differences(),
              ElementsAre("leaf0 port 0 should go to spine0 port 0, goes to spine0 port 1",
                          "leaf1 port 0 should go to spine0 port 1, goes to spine0 port 0"));
}

TEST_F(CablingTest, missing_link_goes_nowhere_and_so_does_one_that_is_down) {
  cut("leaf0", 0);
  found.set_up(found.link_at({at(found, "leaf1"), 0}).value(), false);
  EXPECT_THAT(differences(), ElementsAre("leaf0 port 0 should go to spine0 port 0, goes nowhere",
                                         "leaf1 port 0 should go to spine0 port 1, goes nowhere"));
}

TEST_F(CablingTest, link_that_was_unplugged_is_not_taken_for_the_one_that_is_there) {
  const Attachment a{at(found, "leaf1"), 1};
  const Attachment b{at(found, "spine1"), 1};
  cut("leaf1", 1);
  found.connect(a, b);
  EXPECT_THAT(differences(), IsEmpty());
}

TEST_F(CablingTest, surplus_link_is_named) {
  join(found, "leaf0", 3, "spine1", 3);
  EXPECT_THAT(differences(),
              ElementsAre("leaf0 port 3 goes to spine1 port 3, where no link is expected"));
}

TEST_F(CablingTest, missing_and_surplus_switches_are_named_without_their_links) {
  found.set_up(at(found, "spine0"), false);
  found.add_switch({.name = "stray", .ports = 4});
  join(found, "stray", 0, "leaf0", 3);
  expected.add_switch({.name = "spine2", .ports = 4});
  expected.connect({at(expected, "leaf0"), 3}, {at(expected, "spine2"), 0});
  EXPECT_THAT(differences(), ElementsAre("switch spine0 is down", "switch spine2 is missing",
                                         "switch stray should not be there"));
}

TEST_F(CablingTest, hosts_are_found_by_their_nid) {
  found.move_host(found.find_host(Nid{1}).value(), {at(found, "leaf1"), 3});
  found.set_up(found.find_host(Nid{2}).value(), false);
  host(found, "x", 9, "leaf0", 3);
  EXPECT_THAT(differences(),
              ElementsAre("host h0 (NID 1) should be on leaf0 port 2, is on leaf1 port 3",
                          "host h1 (NID 2) should be on leaf1 port 2, is not there",
                          "host x (NID 9) is on leaf0 port 3, where nothing is expected"));
}

TEST_F(CablingTest, another_host_in_its_place_is_named_with_it) {
  found.unplug(found.find_host(Nid{1}).value());
  host(found, "x", 9, "leaf0", 2);
  EXPECT_THAT(differences(), ElementsAre("host h0 (NID 1) should be on leaf0 port 2, is not there; "
                                         "leaf0 port 2 leads to host x"));
}

TEST_F(CablingTest, file_without_hosts_does_not_speak_of_hosts) {
  Graph switches_only;
  for (const Switch& s : expected.switches()) {
    switches_only.add_switch(s);
  }
  for (const Link& link : expected.links()) {
    switches_only.connect(link.ends[0], link.ends[1]);
  }
  EXPECT_THAT(check_cabling(switches_only, found), IsEmpty());
}

TEST(Cabling, every_link_of_a_random_miscabling_is_named_once) {
  tributary::test::Random random(tributary::test::seed());
  for (int round = 0; round < 50; ++round) {
    const Graph expected = build_model("ft3:4").graph;
    Graph found = read_toml(write_toml(expected), "x");
    // Some links pulled, some pairs swapped at one end.
    std::size_t pulled = 0;
    std::size_t swapped = 0;
    for (std::uint32_t i = 0; i + 1 < expected.links().size(); i += 2) {
      const LinkId a{i};
      const LinkId b{i + 1};
      const Link& first = expected[a];
      const Link& second = expected[b];
      switch (random() % 4) {
      case 0:
        found.unplug(a);
        ++pulled;
        break;
      case 1:
        if (first.ends[0].at != second.ends[1].at && second.ends[0].at != first.ends[1].at) {
          found.unplug(a);
          found.unplug(b);
          found.connect(first.ends[0], second.ends[1]);
          found.connect(second.ends[0], first.ends[1]);
          ++swapped;
        }
        break;
      default: break;
      }
    }
    const auto differences = check_cabling(expected, found);
    EXPECT_EQ(differences.size(), pulled + 2 * swapped);
    std::size_t nowhere = 0;
    for (const std::string& line : differences) {
      nowhere += line.ends_with("goes nowhere") ? 1 : 0;
    }
    EXPECT_EQ(nowhere, pulled);
  }
}

} // namespace
} // namespace tributary::topology
