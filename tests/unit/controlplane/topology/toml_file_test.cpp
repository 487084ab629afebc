// Topology files of our own (controlplane/topology/toml_file.hpp).

#include "controlplane/topology/toml_file.hpp"

#include "controlplane/topology/builders.hpp"
#include "lib/configuration/diagnostic.hpp"
#include "tests/unit/controlplane/topology/complaints.hpp"
#include "tests/unit/controlplane/topology/equal_graphs.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tributary::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view small = R"(
[[switch]]
name = "leaf0"
ports = 4
guid = "0xa11ce"

[[switch]]
name = "spine"
ports = 2

[[link]]
ends = ["leaf0:0", "spine:1"]
speed_mbps = 100000

[[host]]
name = "h1"
nid = 0x12
at = "leaf0:3"
)";

std::vector<std::string> toml_complaints(std::string_view text) {
  return complaints_of([&] { return read_toml(text, "fabric.toml"); });
}

TEST(TomlFile, is_read_as_it_says) {
  const Graph graph = read_toml(small, "x");
  ASSERT_EQ(graph.switches().size(), 2U);
  EXPECT_EQ(graph[SwitchId{0}].name, "leaf0");
  EXPECT_EQ(graph[SwitchId{0}].guid, 0xA11CEU);
  EXPECT_EQ(graph[SwitchId{1}].ports, 2);
  EXPECT_EQ(graph[LinkId{0}].ends[1], (Attachment{SwitchId{1}, 1}));
  EXPECT_EQ(graph[LinkId{0}].speed_mbps, 100'000U);
  EXPECT_TRUE(graph.usable(LinkId{0}));
  EXPECT_EQ(graph[HostId{0}].nid, Nid{0x12});
  EXPECT_EQ(graph[HostId{0}].at, (Attachment{SwitchId{0}, 3}));
}

TEST(TomlFile, that_is_empty_is_an_empty_fabric) {
  EXPECT_TRUE(read_toml("", "x").switches().empty());
}

TEST(TomlFile, written_and_read_again_is_the_same_graph) {
  for (const std::string_view name : {"ft3:4", "torus:3x3x1", "dragonfly:2,1,1"}) {
    const Graph graph = build_model(name).graph;
    test::expect_equal(read_toml(write_toml(graph), "x"), graph);
  }
}

TEST(TomlFile, keeps_numbers_states_and_what_is_unplugged) {
  tributary::test::Random random(tributary::test::seed());
  for (int round = 0; round < 200 / TRIBUTARY_SEED_DIVISOR; ++round) {
    // Links and hosts come and go on a few ports, so that most ports have been used before.
    Graph graph;
    for (int s = 0; s < 4; ++s) {
      graph.add_switch(
          {.name = fmt::format("s{}", s),
           .guid = static_cast<std::uint64_t>(random() % 2 * (1000U + static_cast<unsigned>(s))),
           .ports = 4,
           .up = random() % 4 != 0});
    }
    const auto port = [&] {
      return Attachment{SwitchId{static_cast<std::uint32_t>(random() % 4)},
                        static_cast<Port>(random() % 4)};
    };
    const auto make_room = [&](Attachment at) {
      if (const auto link = graph.link_at(at)) {
        graph.unplug(*link);
      }
      if (const auto host = graph.host_at(at)) {
        graph.unplug(*host);
      }
    };
    for (int step = 0; step < 60; ++step) {
      const Attachment a = port();
      const Attachment b = port();
      make_room(a);
      if (random() % 2 == 0) {
        graph.set_up(graph.add_host({.name = fmt::format("h{}", step),
                                     .nid = Nid{static_cast<std::uint32_t>(step)},
                                     .at = a}),
                     random() % 3 != 0);
      } else if (a.at != b.at) {
        make_room(b);
        graph.set_up(graph.connect(a, b, static_cast<std::uint32_t>(random() % 3 * 1000)),
                     random() % 3 != 0);
      }
    }
    if (round % 2 == 0) { // a switch that has fewer ports now
      for (Port p = 2; p < 4; ++p) {
        make_room({SwitchId{0}, p});
      }
      graph.set_ports(SwitchId{0}, 2);
    }
    const std::string text = write_toml(graph);
    ASSERT_NO_FATAL_FAILURE(test::expect_equal(read_toml(text, "x"), graph)) << text;
  }
}

TEST(TomlFile, with_errors_names_all_of_them_with_their_lines) {
  EXPECT_THAT(
      toml_complaints(R"([[switch]]
name = "leaf0"
ports = 4
[[switch]]
name = "leaf0"
ports = 4
[[switch]]
name = "spine"
ports = 70000
[[switch]]
name = "odd"
ports = 2
guid = "a11ce"
[[link]]
ends = ["leaf0:0", "leaf0:1"]
[[link]]
ends = ["leaf0:9", "odd2:0"]
[[link]]
ends = ["leaf0", "leaf0:0"]
[[host]]
name = "h"
nid = 1046528
at = "leaf0:1"
[[host]]
nid = 2
at = "leaf0:9"
name = "i"
speed = 4
[[host]]
nid = 3
at = "leaf0:9"
name = "i"
)"),
      ElementsAre(
          "fabric.toml:5: key 'switch.name': there are two switches \"leaf0\"; correct one of "
          "them",
          HasSubstr("fabric.toml:9: key 'switch.ports': 70000 is out of range"),
          "fabric.toml:13: key 'switch.guid': \"a11ce\" is not a guid; write 0x and up to 16 "
          "hexadecimal digits",
          "fabric.toml:15: key 'link.ends': a link joins leaf0 port 0 and leaf0 port 1; "
          "correct one of them",
          HasSubstr("fabric.toml:17: key 'link.ends': no switch \"odd2\""),
          HasSubstr("fabric.toml:19: key 'link.ends': \"leaf0\" is not a port; write "
                    "SWITCH:PORT"),
          HasSubstr("fabric.toml:22: key 'host.nid': 1046528 looks like a multicast address"),
          HasSubstr("fabric.toml:28: key 'host.speed': unknown key"),
          HasSubstr("fabric.toml:31: key 'host.at': switch \"leaf0\" has no port 9")));
}

TEST(TomlFile, with_a_port_used_twice_names_who_has_it) {
  const std::string text =
      std::string(small) + "[[host]]\nname = \"h2\"\nnid = 7\nat = \"leaf0:0\"\n";
  EXPECT_THAT(toml_complaints(text),
              ElementsAre(HasSubstr("leaf0 port 0 is used already, by the link "
                                    "leaf0 port 0 - spine port 1")));
}

TEST(TomlFile, with_a_nid_or_a_host_twice_says_so) {
  EXPECT_THAT(
      toml_complaints(std::string(small) +
                      "[[host]]\nname = \"h2\"\nnid = 0x12\nat = \"leaf0:1\"\n"
                      "[[host]]\nname = \"h1\"\nnid = 0x13\nat = \"leaf0:2\"\n"),
      ElementsAre(HasSubstr("has the NID 18 of host \"h1\""), HasSubstr("two hosts \"h1\"")));
}

TEST(TomlFile, that_is_no_toml_or_has_other_sections_says_where) {
  EXPECT_THAT(toml_complaints("[[switch]]\nname = \n"),
              ElementsAre(HasSubstr("fabric.toml:2: not valid")));
  EXPECT_THAT(toml_complaints("[[swich]]\n"), ElementsAre(HasSubstr("did you mean 'switch'?")));
  EXPECT_THAT(toml_complaints("[switch]\n"), ElementsAre(HasSubstr("write [[switch]]")));
  EXPECT_THAT(
      toml_complaints("[[switch]]\nname = \"a\\u0007\"\nports = 1\n"),
      ElementsAre(HasSubstr("fabric.toml:2: key 'switch.name': has bytes that names do not have")));
}

} // namespace
} // namespace tributary::topology
