// The switch a scenario needs: by the placement rules, and the same when it went through a file.
#include "pktgen/transport/switch_for.hpp"

#include "dataplane/config/build_tables.hpp"
#include "dataplane/config/parse.hpp"
#include "lib/configuration/diagnostic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace tributary::pktgen::transport {

using scenario::Kind;
using scenario::Scenario;

namespace {

using testing::HasSubstr;

Scenario reduce_scenario(std::uint32_t leaves, std::uint32_t trees, std::size_t ports) {
  Scenario scenario;
  scenario.name = "test";
  scenario.traffic.kind = Kind::reduce;
  scenario.traffic.reduce.leaves = leaves;
  scenario.traffic.reduce.trees = trees;
  scenario.ports.resize(ports);
  return scenario;
}

Scenario stream_scenario(Kind kind, std::size_t ports) {
  Scenario scenario;
  scenario.name = "test";
  scenario.traffic.kind = kind;
  scenario.ports.resize(ports);
  return scenario;
}

Scenario mixed_scenario() {
  Scenario scenario = reduce_scenario(5, 2, 3);
  scenario.parts.resize(3);
  scenario.parts[0] = scenario.traffic;
  scenario.parts[1].kind = Kind::multicast;
  scenario.parts[1].stream.first_tree = 2;
  scenario.parts[1].stream.trees = 4;
  scenario.parts[2].kind = Kind::unicast;
  scenario.parts[2].stream.nodes = 7;
  scenario.traffic.kind = Kind::mixed;
  return scenario;
}

std::shared_ptr<const core::Tables> tables_of(const config::Switch& sw) {
  std::vector<configuration::Diagnostic> findings;
  auto tables = config::build_tables(sw, 1, findings);
  for (const auto& finding : findings) {
    ADD_FAILURE() << finding.text;
  }
  return tables;
}

std::string refusal_of(const Scenario& scenario) {
  try {
    std::ignore = switch_for(scenario);
  } catch (const configuration::ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(SwitchForTest, ReduceTreesLeadFromTheLeavesToPortZero) {
  const config::Switch sw = switch_for(reduce_scenario(1000, 3, 4));
  ASSERT_EQ(sw.ports.size(), 4U);
  ASSERT_EQ(sw.trees.size(), 3U);
  for (std::uint16_t t = 0; t < 3; ++t) {
    EXPECT_EQ(sw.trees[t].number, TreeNumber{t});
    EXPECT_EQ(sw.trees[t].wait_count, 1000U);
    EXPECT_EQ(sw.trees[t].parent, PortNumber{0});
    EXPECT_EQ(sw.trees[t].children, PortSet(0b1110));
  }
  EXPECT_EQ(sw.settings.descriptors_per_engine, 3 * reductions_per_tree);
}

TEST(SwitchForTest, PortsWithoutALeafAreNotOnTheTree) {
  EXPECT_EQ(switch_for(reduce_scenario(2, 1, 8)).trees.at(0).children, PortSet(0b110));
}

TEST(SwitchForTest, OneSideAloneHasTheOtherBehindTheFarPort) {
  Scenario scenario = reduce_scenario(9, 1, 3);
  scenario.traffic.reduce.role = scenario::Role::leaves;
  config::Switch sw = switch_for(scenario);
  ASSERT_EQ(sw.ports.size(), 4U);
  EXPECT_EQ(sw.ports[3].name, "far");
  EXPECT_EQ(sw.trees.at(0).parent, PortNumber{3});
  EXPECT_EQ(sw.trees.at(0).children, PortSet(0b0111));

  scenario.ports.resize(1);
  scenario.traffic.reduce.role = scenario::Role::root;
  sw = switch_for(scenario);
  ASSERT_EQ(sw.ports.size(), 2U);
  EXPECT_EQ(sw.trees.at(0).parent, PortNumber{0});
  EXPECT_EQ(sw.trees.at(0).children, PortSet(0b10));
}

TEST(SwitchForTest, MulticastSendersTakeTurnsAndAllOthersReceive) {
  Scenario scenario = stream_scenario(Kind::multicast, 3);
  scenario.traffic.stream.trees = 4;
  scenario.traffic.stream.first_tree = 10;
  const config::Switch sw = switch_for(scenario);
  ASSERT_EQ(sw.trees.size(), 4U);
  const PortSet children[] = {PortSet(0b110), PortSet(0b101), PortSet(0b011), PortSet(0b110)};
  for (std::size_t t = 0; t < 4; ++t) {
    EXPECT_EQ(sw.trees[t].number.value, 10 + t);
    EXPECT_EQ(sw.trees[t].wait_count, 0U);
    EXPECT_EQ(sw.trees[t].parent.value, t % 3);
    EXPECT_EQ(sw.trees[t].children, children[t]);
  }
}

TEST(SwitchForTest, SendersOfSharedFramesAreLeaves) {
  Scenario scenario = stream_scenario(Kind::multicast, 3);
  scenario.traffic.stream.trees = 3;
  scenario.traffic.stream.shared = true;
  const config::Switch sw = switch_for(scenario);
  ASSERT_EQ(sw.trees.size(), 3U);
  const PortSet children[] = {PortSet(0b101), PortSet(0b011), PortSet(0b110)};
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_TRUE(sw.trees[t].shared);
    EXPECT_EQ(sw.trees[t].wait_count, 1U);
    EXPECT_EQ(sw.trees[t].parent.value, (t + 1) % 3);
    EXPECT_EQ(sw.trees[t].children, children[t]);
  }
}

TEST(SwitchForTest, UnicastNodesAreDealtOverThePorts) {
  Scenario scenario = stream_scenario(Kind::unicast, 3);
  EXPECT_EQ(switch_for(scenario).routes.size(), 3U) << "one node for each port";
  scenario.traffic.stream.nodes = 8;
  const auto tables = tables_of(switch_for(scenario));
  for (std::uint32_t node = 0; node < 8; ++node) {
    EXPECT_EQ(tables->route(Nid{scenario.first_nid + node}).value, node % 3) << node;
  }
  EXPECT_EQ(tables->route(Nid{scenario.first_nid + 8}), no_port);
}

TEST(SwitchForTest, MixedHasWhatAllItsPartsNeed) {
  const config::Switch sw = switch_for(mixed_scenario());
  EXPECT_EQ(sw.trees.size(), 6U);
  EXPECT_EQ(sw.trees.at(1).wait_count, 5U);
  EXPECT_EQ(sw.trees.at(2).wait_count, 0U);
  EXPECT_EQ(sw.routes.size(), 7U);
}

TEST(SwitchForTest, HostedPortsAreRingsAndDescriptorsAreThoseAskedFor) {
  Scenario scenario = reduce_scenario(4, 100, 0);
  scenario.hosted.emplace().ports = 5;
  config::Switch sw = switch_for(scenario);
  ASSERT_EQ(sw.ports.size(), 5U);
  EXPECT_EQ(sw.ports[2].kind, config::PortKind::ring);
  EXPECT_NE(sw.ports[2].ring, sw.ports[3].ring);
  EXPECT_EQ(sw.settings.descriptors_per_engine, 800U);
  scenario.hosted->descriptors_per_engine = 16;
  EXPECT_EQ(switch_for(scenario).settings.descriptors_per_engine, 16U);
}

TEST(SwitchForTest, WhatCannotBeServedIsRefusedWithTheNumbers) {
  EXPECT_THAT(refusal_of(reduce_scenario(4, 1, 1)), HasSubstr("the root's"));
  EXPECT_THAT(refusal_of(reduce_scenario(4, 1, 0)), HasSubstr("1 to 64 ports"));
  EXPECT_THAT(refusal_of(reduce_scenario(4, 1, 65)), HasSubstr("would have 65"));
  EXPECT_THAT(refusal_of(reduce_scenario(4, 8193, 2)), HasSubstr("trees 0 to 8192"));
  EXPECT_THAT(refusal_of(stream_scenario(Kind::multicast, 1)), HasSubstr("receivers"));
  Scenario many = reduce_scenario(100'000, 1, 2);
  many.first_nid = 0xF0000;
  EXPECT_THAT(refusal_of(many), HasSubstr("0xff800"));
  Scenario overlapping = mixed_scenario();
  overlapping.parts[1].stream.first_tree = 1;
  EXPECT_THAT(refusal_of(overlapping), HasSubstr("both use tree 1"));
  EXPECT_EQ(refusal_of(reduce_scenario(100'000, 8192, 64)), "");
}

void expect_same_from_file(const Scenario& scenario) {
  const config::Switch sw = switch_for(scenario);
  const config::Parsed parsed = config::parse_text(print_switch_config(scenario), "printed");
  ASSERT_EQ(parsed.config.switches.size(), 1U);
  const config::Switch& read = parsed.config.switches[0];
  EXPECT_EQ(read.ethertype, sw.ethertype);
  const auto wanted = tables_of(sw);
  const auto got = tables_of(read);
  ASSERT_EQ(got->port_count(), wanted->port_count());
  for (std::size_t port = 0; port < wanted->port_count(); ++port) {
    EXPECT_EQ(read.ports[port].name, sw.ports[port].name);
    EXPECT_EQ(got->port(PortNumber{static_cast<std::uint8_t>(port)}),
              wanted->port(PortNumber{static_cast<std::uint8_t>(port)}));
  }
  EXPECT_EQ(got->tree_count(), wanted->tree_count());
  for (std::uint16_t tree = 0; tree < max_trees; ++tree) {
    EXPECT_EQ(got->tree(TreeNumber{tree}), wanted->tree(TreeNumber{tree})) << tree;
  }
  for (std::uint32_t nid = 0; nid <= max_nid; ++nid) {
    ASSERT_EQ(got->route(Nid{nid}), wanted->route(Nid{nid})) << nid;
  }
}

TEST(SwitchForTest, PrintedFileIsReadBackAsTheSameTables) {
  Scenario scenario = reduce_scenario(100, 20, 5);
  scenario.ethertype = 0x88B6;
  expect_same_from_file(scenario);
  scenario.traffic.reduce.role = scenario::Role::leaves;
  expect_same_from_file(scenario);
  expect_same_from_file(mixed_scenario());
  Scenario hosted = mixed_scenario();
  hosted.ports.clear();
  hosted.hosted.emplace().ports = 4;
  expect_same_from_file(hosted);
}

TEST(SwitchForTest, PrintedFileNamesTheInterfacesGivenAndLeavesTheOthersToBeFilledIn) {
  Scenario scenario = stream_scenario(Kind::unicast, 3);
  scenario.ports[2].raw = false;
  scenario.ports[2].device.kind = config::PortKind::memif;
  scenario.ports[2].device.socket = "/run/m.sock";
  scenario.ports[2].device.role = "client";
  scenario.switch_socket = "/run/s.sock";
  const std::string text = print_switch_config(scenario, {"swp7"});
  EXPECT_THAT(text, HasSubstr("put their names"));
  const config::Config read = config::parse_text(text, "printed").config;
  EXPECT_EQ(read.process.control_socket, "/run/s.sock");
  const auto& ports = read.switches.at(0).ports;
  EXPECT_EQ(ports[0].interface, "swp7");
  EXPECT_EQ(ports[1].interface, "IFACE1");
  EXPECT_EQ(ports[2].kind, config::PortKind::memif);
  EXPECT_EQ(ports[2].role, "server");
  EXPECT_THAT(print_switch_config(scenario, {"a", "b"}), testing::Not(HasSubstr("IFACE")));
}

TEST(SwitchForTest, LongFramesAreAskedForAndTakeAnotherKindOfPort) {
  Scenario scenario;
  scenario.traffic.kind = Kind::mixed;
  scenario.ports.resize(2);
  scenario.parts.resize(3);
  for (scenario::Part& part : scenario.parts) {
    part.kind = Kind::unicast;
    part.stream.sizes = {0, 98};
  }
  EXPECT_EQ(longest_frame_of(scenario), config::default_longest_frame);
  EXPECT_THAT(print_switch_config(scenario), testing::Not(HasSubstr("longest_frame")));
  scenario.parts[1].stream.sizes = {64, 3004, 0};
  EXPECT_EQ(longest_frame_of(scenario), 3000U);
  config::Config read = config::parse_text(print_switch_config(scenario), "printed").config;
  EXPECT_EQ(read.process.longest_frame, 3000U);
  EXPECT_EQ(read.switches[0].ports[0].kind, config::PortKind::af_xdp);
  scenario.parts[2].kind = Kind::replay;
  scenario.parts[2].replay.longest_frame = 100'000;
  EXPECT_EQ(longest_frame_of(scenario), config::most_longest_frame);
  scenario.parts[2].replay.longest_frame = 8996;
  read = config::parse_text(print_switch_config(scenario, {}, config::MemoryOrder::as_written),
                            "printed")
             .config;
  EXPECT_EQ(read.process.longest_frame, 8996U);
  EXPECT_EQ(read.switches[0].ports[0].kind, config::PortKind::af_packet);
  expect_same_from_file(scenario);
}

TEST(SwitchForTest, LongFramesTakeANicWhereAfPacketIsRefused) {
  Scenario scenario = stream_scenario(Kind::unicast, 2);
  scenario.traffic.stream.sizes = {9000};
  const std::string text =
      print_switch_config(scenario, {"0000:03:00.0"}, config::MemoryOrder::any);
  EXPECT_THAT(text, testing::AllOf(testing::Not(HasSubstr("af_packet")), HasSubstr("IFACE1"),
                                   HasSubstr("put their PCI addresses there")));
  const config::Config read =
      config::parse_text(
          print_switch_config(scenario, {"0000:03:00.0", "0000:03:00.1"}, config::MemoryOrder::any),
          "printed", {.memory_order = config::MemoryOrder::any})
          .config;
  EXPECT_EQ(read.switches[0].ports[1].kind, config::PortKind::pci);
  EXPECT_EQ(read.switches[0].ports[1].pci_address, "0000:03:00.1");
  scenario.traffic.stream.sizes = {64};
  EXPECT_THAT(print_switch_config(scenario, {}, config::MemoryOrder::any),
              HasSubstr("interface = \"IFACE0\""));
}

TEST(SwitchForTest, TreesOfVectorsHaveSlotsAndTheSwitchMemoryForThem) {
  Scenario scenario = reduce_scenario(4, 3, 2);
  EXPECT_THAT(print_switch_config(scenario), testing::Not(HasSubstr("slots")));
  scenario.traffic.reduce.type = "float32";
  config::Switch sw = switch_for(scenario);
  const core::SlotDemand usual{.slots = 128, .payload_bytes = 1408, .half_floats = false};
  EXPECT_EQ(sw.trees.at(2).slots, usual);
  EXPECT_EQ(sw.settings.descriptors_per_engine, 8U) << "trees with slots need none";
  EXPECT_EQ(sw.settings.wide_memory, core::default_wide_memory);
  expect_same_from_file(scenario);
  scenario.traffic.reduce.type = "float16";
  scenario.traffic.reduce.payload = 8192;
  scenario.traffic.reduce.slots = 64;
  scenario.traffic.reduce.trees = 100;
  sw = switch_for(scenario);
  const core::SlotDemand wide{.slots = 64, .payload_bytes = 8192, .half_floats = true};
  EXPECT_EQ(sw.trees.at(99).slots, wide);
  EXPECT_EQ(sw.settings.wide_memory, 100 * wide.bytes());
  EXPECT_EQ(longest_frame_of(scenario), 8254U);
  expect_same_from_file(scenario);
  const config::Config read = config::parse_text(print_switch_config(scenario), "printed").config;
  EXPECT_EQ(read.process.longest_frame, 8254U);
  EXPECT_EQ(read.switches[0].ports[0].kind, config::PortKind::af_packet);
  EXPECT_EQ(read.switches[0].settings.wide_memory, 100 * wide.bytes());
}

TEST(SwitchForTest, FileAsksForAsManyDescriptorsAsThereAreReductions) {
  const std::string text = print_switch_config(reduce_scenario(4, 100, 2));
  EXPECT_EQ(config::parse_text(text, "printed").config.switches[0].settings.descriptors_per_engine,
            800U);
}

} // namespace
} // namespace tributary::pktgen::transport
