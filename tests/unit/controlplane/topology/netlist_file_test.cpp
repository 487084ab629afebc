// InfiniBand's netlists and Graphviz (controlplane/topology/{netlist,dot}_file.hpp).

#include "controlplane/topology/netlist_file.hpp"

#include "controlplane/topology/builders.hpp"
#include "controlplane/topology/dot_file.hpp"
#include "lib/configuration/diagnostic.hpp"
#include "tests/unit/controlplane/topology/complaints.hpp"
#include "tests/unit/controlplane/topology/reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> netlist_complaints(std::string_view text) {
  return complaints_of([&] { return read_netlist(text, "net"); });
}

TEST(Netlist, as_a_simulator_reads_it) {
  const Graph graph = read_netlist(R"(# two switches, two links between them, two adapters

Switch	8 "Switch1"
[1]	"Hca1"[1]
[2]	"Hca2"[2]	w=4
[3]	"Switch2"[3]
[8]	"Switch2"[4] w=12 s=4  # wide

Switch 8 "Switch2"
[3]	"Switch1"[3]
[4]	"Switch1"[8]

Hca	2 "Hca1"
[1]	"Switch1"[1]

Hca	2 "Hca2"
[2]	"Switch1"[2]
)",
                                   "net");
  const test::Live live = test::live_of(graph);
  EXPECT_THAT(live.switches, ElementsAre("Switch1", "Switch2"));
  EXPECT_THAT(live.links,
              ElementsAre("Switch1 port 2 - Switch2 port 2", "Switch1 port 7 - Switch2 port 3"));
  EXPECT_THAT(live.hosts, ElementsAre("Hca1 1 Switch1 port 0", "Hca2 2 Switch1 port 1"));
  EXPECT_EQ(graph[SwitchId{1}].ports, 8);
}

TEST(Netlist, as_a_discovery_prints_it) {
  const Graph graph = read_netlist(R"(#
# Topology file: generated on a Sunday
#
# Initiated from node 0000000000100000 port 0000000000100001

Non-Chassis Nodes

vendid=0x2c9
devid=0xb924
sysimgguid=0x5442ba00003000
switchguid=0x5442ba00003080(5442ba00003080)
Switch  24 "S-005442ba00003080"         # "ISR9024 [of a # kind]" base port 0 lid 6 lmc 0
[22]    "H-0008f10403961354"[1](8f10403961355)         # "adapter one" lid 4 4xSDR
[10]    "H-0008f10403961354"[2](8f10403961356)         # "adapter one" lid 5 4xSDR

vendid=0x8f1
caguid=0x8f10403961354
Ca      2 "H-0008f10403961354"          # "adapter one"
[1](8f10403961355)     "S-005442ba00003080"[22]         # lid 4 lmc 0 "ISR9024" lid 6 4xSDR
[2](8f10403961356)     "S-005442ba00003080"[10]         # lid 5 lmc 0 "ISR9024" lid 6 4xSDR
)",
                                   "net");
  EXPECT_EQ(graph[SwitchId{0}].guid, 0x5442BA00003080U);
  EXPECT_THAT(test::live_of(graph).hosts,
              ElementsAre("H-0008f10403961354 1 S-005442ba00003080 port 21",
                          "H-0008f10403961354-2 2 S-005442ba00003080 port 9"));
}

TEST(Netlist, with_a_link_at_one_end_only_has_the_link) {
  const Graph graph = read_netlist("Switch 2 \"a\"\n[1] \"b\"[2]\nSwitch 2 \"b\"\n\n"
                                   "Hca 1 \"h\"\n[1] \"b\"[1]",
                                   "net");
  EXPECT_THAT(test::live_of(graph).links, ElementsAre("a port 0 - b port 1"));
  EXPECT_THAT(test::live_of(graph).hosts, ElementsAre("h 1 b port 0"));
}

TEST(Netlist, written_and_read_again_is_the_same_fabric_with_its_nids) {
  for (const std::string_view name : {"ft3:4", "torus:3x3x2", "dragonfly:2,1,1"}) {
    const Graph graph = build_model(name).graph;
    const Graph again = read_netlist(write_netlist(graph), "net");
    EXPECT_EQ(test::live_of(again), test::live_of(graph)) << name;
    ASSERT_EQ(again.switches().size(), graph.switches().size());
    for (std::uint32_t i = 0; i < graph.switches().size(); ++i) {
      EXPECT_EQ(again[SwitchId{i}].name, graph[SwitchId{i}].name);
      EXPECT_EQ(again[SwitchId{i}].guid, graph[SwitchId{i}].guid);
      EXPECT_EQ(again[SwitchId{i}].ports, graph[SwitchId{i}].ports);
    }
  }
}

TEST(Netlist, of_an_adapter_with_as_many_ports_as_there_can_be_is_read) {
  const Graph graph = read_netlist("Switch 2 \"a\"\nHca 65535 \"h\"\n"
                                   "[1] \"a\"[1]\n[65535] \"a\"[2]\n",
                                   "net");
  EXPECT_THAT(test::live_of(graph).hosts, ElementsAre("h 1 a port 0", "h-65535 2 a port 1"));
}

TEST(Netlist, with_a_host_called_like_a_switch_is_written_so_that_it_can_be_read) {
  Graph graph;
  const SwitchId a = graph.add_switch({.name = "a", .ports = 4});
  graph.add_switch({.name = "down", .ports = 4, .up = false});
  graph.add_host({.name = "a", .nid = Nid{7}, .at = {a, 0}});
  graph.add_host({.name = "a'", .nid = Nid{8}, .at = {a, 1}});
  graph.add_host({.name = "down", .nid = Nid{9}, .at = {a, 2}});
  const std::string text = write_netlist(graph);
  const Graph again = read_netlist(text, "net");
  EXPECT_THAT(test::live_of(again).hosts,
              ElementsAre("a' 8 a port 1", "a'2 7 a port 0", "down 9 a port 2"));
  EXPECT_EQ(write_netlist(again), text);
}

TEST(Netlist, takes_names_as_long_as_ours_and_cuts_them_where_a_suffix_must_fit) {
  const std::string longest(255, 'x');
  const std::string cut = longest.substr(0, 253) + "-2";
  const std::string cut_again = longest.substr(0, 254) + "'";
  Graph graph;
  const SwitchId a = graph.add_switch({.name = longest, .ports = 4});
  graph.add_host({.name = longest, .nid = Nid{7}, .at = {a, 0}});
  const Graph again = read_netlist(write_netlist(graph), "net");
  EXPECT_EQ(again[SwitchId{0}].name, longest);
  EXPECT_EQ(again[HostId{0}].name, cut_again);

  const Graph ports = read_netlist(
      "Switch 2 \"a\"\nHca 2 \"" + longest + "\"\n[1] \"a\"[1]\n" + "[2] \"a\"[2]\n", "net");
  EXPECT_EQ(ports[HostId{0}].name, longest);
  EXPECT_EQ(ports[HostId{1}].name, cut);
}

TEST(Netlist, is_written_without_what_is_down) {
  Graph graph = build_model("ft3:4").graph;
  graph.set_up(LinkId{0}, false);
  graph.unplug(LinkId{1});
  graph.set_up(HostId{0}, false);
  graph.set_up(SwitchId{7}, false);
  EXPECT_EQ(test::live_of(read_netlist(write_netlist(graph), "net")), test::live_of(graph));
}

TEST(Netlist, with_errors_in_its_lines_names_all_with_line_and_column) {
  EXPECT_THAT(
      netlist_complaints("Switch eight \"a\"\n"
                         "Switch 8 a\n"
                         "Switch 8 \"a\" b\n"
                         "Switch 8 \"a\"\n"
                         "[x] \"b\"[1]\n"
                         "[1 \"b\"[1]\n"
                         "[1] b[1]\n"
                         "[1] \"b\"\n"
                         "[1] \"b\"[1] nonsense\n"
                         "  [1](zz) \"b\"[1]\n"
                         "Router 8 \"a\"\n"
                         "[1] \"b\"[1]\n"
                         "switchguid=17\n"
                         "Switch 99999 \"c\"\n"
                         "Switch 8 \"\"\n"),
      ElementsAre(
          "net:1: column 8: a number of ports, 0 to 65535, is missing here",
          "net:2: column 10: a name in quotes, 1 to 255 printable characters, is missing here",
          "net:3: column 14: nothing but a comment may follow; put # in front of it",
          HasSubstr("net:5: column 2: this is not a port"),
          HasSubstr("net:6: column 4: this is not a port"),
          HasSubstr("net:7: column 5: the name of the other end"),
          HasSubstr("net:8: column 8: the port of the other end is missing"),
          HasSubstr("net:9: column 12: nothing but name=value"),
          HasSubstr("net:10: column 7: this is not a guid"),
          HasSubstr("net:11: column 1: \"Router\" does not begin a line of a netlist"),
          HasSubstr("net:12: column 1: this port is not part of a Switch"),
          HasSubstr("net:13: column 12: this is not a guid"),
          HasSubstr("net:14: column 8: a number of ports"),
          HasSubstr("net:15: column 10: a name in quotes, 1 to 255")));
}

TEST(Netlist, that_contradicts_itself_names_all_contradictions) {
  EXPECT_THAT(
      netlist_complaints("Switch 4 \"a\"\n"
                         "[1] \"b\"[1]\n"
                         "[1] \"b\"[2]\n"
                         "[5] \"b\"[3]\n"
                         "[2] \"b\"[9]\n"
                         "[3] \"nobody\"[1]\n"
                         "[4] \"a\"[3]\n"
                         "Switch 4 \"b\"\n"
                         "[1] \"a\"[2]\n"
                         "Hca 1 \"h\"\n"
                         "[1] \"i\"[1]\n"
                         "Hca 1 \"i\"\n"
                         "Hca 1 \"a\"\n"),
      ElementsAre("net:3: \"a\"[1] goes to \"b\"[2], but to \"b\"[1] in line 2; correct one of "
                  "them",
                  "net:4: \"a\" has no port 5; it has 1 to 4",
                  "net:5: \"b\" has no port 9; it has 1 to 4", HasSubstr("net:6: no \"nobody\""),
                  "net:7: a link has both ends in \"a\"",
                  HasSubstr("net:9: \"b\"[1] goes to \"a\"[2], but to \"a\"[1] in line 2"),
                  HasSubstr("net:11: \"h\" and \"i\" are both hosts"),
                  HasSubstr("net:13: there is a \"a\" already, in line 1")));
}

TEST(Netlist, with_a_guid_twice_says_so) {
  EXPECT_THAT(
      netlist_complaints("switchguid=0x1\nSwitch 1 \"a\"\nswitchguid=0x1\nSwitch 1 \"b\"\n"),
      ElementsAre(HasSubstr("net:4: switch \"b\" has the guid 0x0000000000000001 of switch "
                            "\"a\"")));
}

TEST(Netlist, of_nothing_is_an_empty_fabric) {
  EXPECT_TRUE(read_netlist("", "net").switches().empty());
  EXPECT_EQ(write_netlist(Graph()), "");
}

TEST(Dot, draws_switches_links_and_hosts_and_dashes_what_is_down) {
  Graph graph;
  const SwitchId a = graph.add_switch({.name = "a \"b\"", .ports = 4});
  const SwitchId b = graph.add_switch({.name = "c", .ports = 4, .up = false});
  graph.connect({a, 1}, {b, 2});
  graph.unplug(graph.connect({a, 0}, {b, 0}));
  graph.add_host({.name = "h", .nid = Nid{1}, .at = {a, 3}});
  const std::string text = write_dot(graph);
  EXPECT_THAT(text, ::testing::StartsWith("graph fabric {\n"));
  EXPECT_THAT(text, ::testing::EndsWith("}\n"));
  EXPECT_THAT(text, HasSubstr("s0 [shape=box, label=\"a \\\"b\\\"\", style=solid];"));
  EXPECT_THAT(text, HasSubstr("s1 [shape=box, label=\"c\", style=dashed];"));
  EXPECT_THAT(text, HasSubstr("s0 -- s1 [taillabel=\"1\", headlabel=\"2\", style=dashed];"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("taillabel=\"0\"")));
  EXPECT_THAT(text, HasSubstr("h0 [shape=ellipse, label=\"h\", style=solid];"));
  EXPECT_THAT(text, HasSubstr("s0 -- h0 [taillabel=\"3\", style=solid];"));
  EXPECT_THAT(write_dot(graph, {.hosts = false}), ::testing::Not(HasSubstr("h0")));
}

} // namespace
} // namespace tributary::topology
