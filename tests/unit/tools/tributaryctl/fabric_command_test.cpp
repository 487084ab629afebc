#include "tools/tributaryctl/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::cli {
namespace fabric_command_test {

using testing::ElementsAre;
using testing::HasSubstr;
using Verb = FabricCommand::Verb;

ParsedCommand parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"tributaryctl", "fabric"});
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}
FabricCommand fabric_of(const std::vector<const char*>& arguments) {
  const ParsedCommand parsed = parse(arguments);
  EXPECT_FALSE(parsed.exit_code.has_value()) << arguments.front();
  EXPECT_EQ(parsed.command.verb, Command::Verb::fabric);
  return parsed.command.fabric;
}
std::string refused(const std::vector<const char*>& arguments) {
  testing::internal::CaptureStderr();
  const ParsedCommand parsed = parse(arguments);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(parsed.exit_code, exit_usage);
  return said;
}

TEST(fabric_command, show) {
  const FabricCommand groups = fabric_of({"show", "groups", "j1/demo", "--watch", "2s"});
  EXPECT_EQ(groups.verb, Verb::show);
  EXPECT_EQ(groups.what, "groups");
  EXPECT_EQ(groups.id, "j1/demo");
  EXPECT_EQ(groups.watch, std::chrono::seconds(2));
  const FabricCommand trees =
      fabric_of({"show", "trees", "--switch", "leaf0", "--job", "j1", "--group", "demo"});
  EXPECT_EQ(trees.at_switch, "leaf0");
  EXPECT_EQ(trees.job, "j1");
  EXPECT_EQ(trees.group, "demo");
  const FabricCommand events = fabric_of({"show", "events", "-f", "--after", "17"});
  EXPECT_TRUE(events.follow);
  EXPECT_EQ(events.after, 17U);
  EXPECT_THAT(refused({"show", "weather"}), HasSubstr("weather"));
}

TEST(fabric_command, show_paths_takes_two_hosts) {
  const FabricCommand path = fabric_of({"show", "paths", "h0", "17"});
  EXPECT_EQ(path.what, "paths");
  EXPECT_EQ(path.id, "h0");
  EXPECT_EQ(path.to, "17");
  EXPECT_EQ(fabric_of({"show", "routes"}).what, "routes");
  EXPECT_EQ(fabric_of({"show", "faults"}).what, "faults");
}

TEST(fabric_command, adopt) {
  const FabricCommand adopt = fabric_of({"adopt", "00a1b2c3d4e5f607"});
  EXPECT_EQ(adopt.verb, Verb::adopt);
  EXPECT_EQ(adopt.name, "00a1b2c3d4e5f607");
  EXPECT_THAT(refused({"adopt"}), HasSubstr("FABRIC is missing"));
  EXPECT_EQ(fabric_of({"show", "managers"}).what, "managers");
}

TEST(fabric_command, failover) {
  EXPECT_EQ(fabric_of({"failover"}).verb, Verb::failover);
  EXPECT_EQ(fabric_of({"failover"}).name, "");
  EXPECT_EQ(fabric_of({"failover", "--to", "fabric-b"}).name, "fabric-b");
  EXPECT_THAT(refused({"failover", "--to"}), HasSubstr("--to"));
}

TEST(fabric_command, drain_and_undrain) {
  const FabricCommand plain = fabric_of({"drain", "spine3"});
  EXPECT_EQ(plain.verb, Verb::drain);
  EXPECT_EQ(plain.name, "spine3");
  EXPECT_FALSE(plain.force);
  EXPECT_FALSE(plain.no_wait);
  EXPECT_EQ(plain.timeout, std::chrono::seconds(60));
  const FabricCommand forced =
      fabric_of({"drain", "leaf7", "--force", "--no-wait", "--timeout", "2.5s"});
  EXPECT_TRUE(forced.force);
  EXPECT_TRUE(forced.no_wait);
  EXPECT_EQ(forced.timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(fabric_of({"undrain", "spine3"}).verb, Verb::undrain);
  EXPECT_THAT(refused({"drain"}), HasSubstr("SWITCH is missing"));
  EXPECT_THAT(refused({"drain", "s", "--timeout", "-1"}), HasSubstr("timeout"));
}

TEST(fabric_command, topology) {
  EXPECT_EQ(fabric_of({"topology"}).topology_format, "toml");
  const FabricCommand command = fabric_of({"topology", "--format", "netlist", "-o", "net"});
  EXPECT_EQ(command.verb, Verb::write_topology);
  EXPECT_EQ(command.topology_format, "netlist");
  EXPECT_THAT(refused({"topology", "--format", "svg"}), HasSubstr("svg"));
}

TEST(fabric_command, tree_draw) {
  const FabricCommand command = fabric_of({"tree", "draw", "5", "--format", "svg", "-o", "a.svg"});
  EXPECT_EQ(command.verb, Verb::draw_tree);
  EXPECT_EQ(command.tree, 5U);
  EXPECT_EQ(command.format, "svg");
  EXPECT_THAT(refused({"tree", "draw", "x"}), HasSubstr("TREE must be a whole number from 0"));
  EXPECT_THAT(refused({"tree", "draw", "5", "--format", "png"}), HasSubstr("png"));
  refused({"tree"});
}

TEST(fabric_command, group) {
  const FabricCommand create = fabric_of({"group", "create", "demo", "--size", "16", "--job", "j1",
                                          "--trees", "2", "--root-rank", "3"});
  EXPECT_EQ(create.verb, Verb::create_group);
  EXPECT_EQ(create.name, "demo");
  EXPECT_EQ(create.size, 16U);
  EXPECT_EQ(create.job, "j1");
  EXPECT_EQ(create.trees, 2U);
  EXPECT_EQ(create.root_rank, 3U);
  EXPECT_EQ(create.in_switch_results, std::nullopt) << "as the fabric manager's file says";
  for (const bool in_switch_results : {true, false}) {
    EXPECT_EQ(fabric_of({"group", "create", "demo", "--size", "16",
                         in_switch_results ? "--in-switch-results" : "--no-in-switch-results"})
                  .in_switch_results,
              in_switch_results);
  }
  EXPECT_EQ(fabric_of({"group", "destroy", "demo"}).verb, Verb::destroy_group);
  EXPECT_THAT(refused({"group", "create", "demo"}), HasSubstr("--size"));
}

TEST(fabric_command, job) {
  const FabricCommand create = fabric_of({"job", "create", "j1", "--group-limit", "4"});
  EXPECT_EQ(create.verb, Verb::create_job);
  EXPECT_EQ(create.name, "j1");
  EXPECT_EQ(create.limit, 4U);
  const FabricCommand limited = fabric_of({"job", "create", "j1", "--hosts", "h0,1-4", "--hosts",
                                           "0:00:11", "--vnis", "1024,1030-1033"});
  EXPECT_THAT(limited.hosts, ElementsAre("h0", "1-4", "0:00:11"));
  EXPECT_THAT(limited.vnis, ElementsAre("1024", "1030-1033"));
  EXPECT_EQ(fabric_of({"job", "destroy", "j1"}).verb, Verb::destroy_job);
}

TEST(fabric_command, route) {
  const FabricCommand command =
      fabric_of({"route", "--topology", "ft3:4", "--groups", "4x4", "~4x4", "--seed", "9"});
  EXPECT_EQ(command.verb, Verb::route);
  EXPECT_THAT(command.topologies, ElementsAre("ft3:4"));
  EXPECT_THAT(command.patterns, ElementsAre("4x4", "~4x4"));
  EXPECT_EQ(command.seed, 9U);
}

TEST(fabric_command, options_of_the_program_and_of_fabric_may_stand_anywhere) {
  const ParsedCommand parsed =
      parse({"group", "destroy", "demo", "--manager", "http://fm", "--json", "--token-file", "t"});
  EXPECT_FALSE(parsed.exit_code);
  EXPECT_TRUE(parsed.command.json);
  EXPECT_EQ(parsed.command.fabric.manager, "http://fm");
  EXPECT_EQ(parsed.command.fabric.token_file, "t");
}

} // namespace fabric_command_test
} // namespace tributary::cli
