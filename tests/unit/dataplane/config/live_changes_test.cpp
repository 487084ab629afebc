#include "dataplane/config/live_changes.hpp"
#include "sample.hpp"

#include <gmock/gmock.h>

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Parsed parsed(const std::string& text) { return parse_text(text, "test.toml"); }

const std::string tree_one = "[[switch.tree]]\ntree = 1\nwait_count = 1\nparent = \"up\"\n"
                             "children = [\"host\"]\n";
const std::string tree_two = "[[switch.tree]]\ntree = 2\nwait_count = 1\nparent = \"host\"\n"
                             "children = [\"up\"]\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(plan_live_changes, nothing_changed) {
  const auto changes = plan_live_changes(parsed(with(tree_one)), parsed(with(tree_one)));
  EXPECT_THAT(changes.ignored, IsEmpty());
  ASSERT_EQ(changes.switches.size(), 1U);
  EXPECT_FALSE(changes.switches[0].changed);
}

TEST(plan_live_changes, tree_added_changed_and_removed) {
  const auto running = parsed(with(tree_one));
  const auto added = plan_live_changes(running, parsed(with(tree_one + tree_two)));
  EXPECT_TRUE(added.switches[0].changed);
  EXPECT_THAT(added.switches[0].summary, HasSubstr("trees 1 added, 0 changed, 0 removed"));
  EXPECT_EQ(added.config.switches[0].trees.size(), 2U);

  const auto changed = plan_live_changes(
      running, parsed(with(replaced(tree_one, "wait_count = 1", "wait_count = 3"))));
  EXPECT_THAT(changed.switches[0].summary, HasSubstr("trees 0 added, 1 changed, 0 removed"));
  EXPECT_EQ(changed.config.switches[0].trees[0].wait_count, 3U);

  const auto removed = plan_live_changes(running, parsed(two_ports));
  EXPECT_THAT(removed.switches[0].summary, HasSubstr("trees 0 added, 0 changed, 1 removed"));
  EXPECT_THAT(removed.config.switches[0].trees, IsEmpty());
  EXPECT_THAT(removed.ignored, IsEmpty());
}

TEST(plan_live_changes, slots_change_live) {
  const auto running = parsed(with(tree_one));
  const auto changes =
      plan_live_changes(running, parsed(with(tree_one + "slots = 16\npayload = 1408\n")));
  EXPECT_THAT(changes.switches[0].summary, HasSubstr("trees 0 added, 1 changed, 0 removed"));
  EXPECT_EQ(changes.config.switches[0].trees[0].slots, (core::SlotDemand{16, 1408, false}));
  EXPECT_THAT(changes.ignored, IsEmpty());
}

TEST(plan_live_changes, route_changed) {
  const auto changes =
      plan_live_changes(parsed(with("[[switch.route]]\nnid = 5\nport = \"up\"\n")),
                        parsed(with("[[switch.route]]\nnid = 5\nport = \"host\"\n")));
  EXPECT_THAT(changes.switches[0].summary, HasSubstr("routes 0 added, 1 changed, 0 removed"));
  EXPECT_EQ(changes.config.switches[0].routes[0].port, PortNumber{1});
}

TEST(plan_live_changes, guard_and_vnis_change_live) {
  const auto changes = plan_live_changes(
      parsed(two_ports), parsed(replaced(replaced(two_ports, "[1024, 7]", "[9]"), "0x12345", "5")));
  EXPECT_TRUE(changes.switches[0].changed);
  EXPECT_THAT(changes.switches[0].summary, HasSubstr("1 port guards changed"));
  EXPECT_THAT(changes.ignored, IsEmpty());
  const auto& policy = changes.config.switches[0].ports[1].policy;
  EXPECT_EQ(policy.nid, Nid{5});
  EXPECT_TRUE(policy.vnis->test(9));
  EXPECT_FALSE(policy.vnis->test(7));
}

TEST(plan_live_changes, restart_key_is_named_and_left_alone) {
  const auto changes =
      plan_live_changes(parsed(two_ports),
                        parsed(replaced(two_ports, "workers = 1", "workers = 2\npoll = \"busy\"")));
  EXPECT_THAT(changes.ignored,
              ElementsAre("process: poll, \"adaptive\" -> \"busy\"", "process: workers, 1 -> 2"));
  EXPECT_EQ(changes.config.process.workers, 1U);
  EXPECT_FALSE(changes.switches[0].changed);
}

TEST(plan_live_changes, log_level_is_live) {
  const auto changes = plan_live_changes(
      parsed(two_ports), parsed(replaced(two_ports, "workers = 1", "log_level = \"debug\"")));
  EXPECT_EQ(changes.config.process.log_level, "debug");
  EXPECT_THAT(changes.ignored, IsEmpty());
}

TEST(plan_live_changes, interface_of_a_port_needs_a_restart) {
  const auto changes =
      plan_live_changes(parsed(two_ports), parsed(replaced(two_ports, "\"e0\"", "\"e9\"")));
  EXPECT_THAT(changes.ignored, ElementsAre("switch leaf0, port up: interface, \"e0\" -> \"e9\""));
  EXPECT_EQ(changes.config.switches[0].ports[0].interface, "e0");
}

TEST(plan_live_changes, classes_need_a_restart) {
  const std::string classes = "[[switch.class]]\nclass = 3\nweight = 2\n";
  const auto changes = plan_live_changes(
      parsed(with(classes)), parsed(replaced(with(classes), "weight = 2", "weight = 5")));
  EXPECT_THAT(changes.ignored, ElementsAre("switch leaf0, class 3: weight, 2 -> 5"));
  EXPECT_EQ(changes.config.switches[0].ports[0].classes.queues.classes[3].weight, 2U);
  const auto added = plan_live_changes(parsed(two_ports), parsed(with(classes)));
  EXPECT_THAT(added.ignored, ElementsAre("switch leaf0, class 3 was added"));
}

TEST(plan_live_changes, new_port_and_new_switch_are_named_once_each) {
  const auto changes = plan_live_changes(
      parsed(two_ports), parsed(with("[[switch.port]]\nname = \"x\"\nkind = \"null\"\n"
                                     "[[switch]]\nname = \"s2\"\n[[switch.port]]\nname = \"y\"\n"
                                     "kind = \"null\"\n")));
  EXPECT_THAT(changes.ignored,
              UnorderedElementsAre("switch leaf0, port x was added", "switch s2 was added",
                                   "switch s2, port y was added"));
  EXPECT_EQ(changes.config.switches.size(), 1U);
  EXPECT_EQ(changes.config.switches[0].ports.size(), 2U);
}

TEST(plan_live_changes, tree_over_a_port_that_is_not_running_is_refused) {
  const auto wanted = parsed(with("[[switch.port]]\nname = \"x\"\nkind = \"null\"\n"
                                  "[[switch.tree]]\ntree = 1\nwait_count = 1\nparent = \"up\"\n"
                                  "children = [\"x\"]\n"));
  try {
    static_cast<void>(plan_live_changes(parsed(two_ports), wanted));
    FAIL();
  } catch (const configuration::ConfigError& e) {
    ASSERT_EQ(e.findings().size(), 1U);
    EXPECT_EQ(e.findings()[0].line, 16);
    EXPECT_THAT(e.findings()[0].text, HasSubstr("a new port needs a restart"));
  }
}

TEST(plan_live_changes, reordered_ports_keep_their_running_numbers) {
  const std::string reordered = "[[switch]]\nname = \"leaf0\"\n"
                                "[[switch.port]]\nname = \"host\"\ninterface = \"e1\"\n"
                                "nid = 0x12345\nvnis = [1024, 7]\n"
                                "[[switch.port]]\nname = \"up\"\ninterface = \"e0\"\n" +
                                tree_one;
  const auto changes = plan_live_changes(parsed(with(tree_one)), parsed(reordered));
  EXPECT_THAT(changes.ignored, IsEmpty());
  EXPECT_FALSE(changes.switches[0].changed);
  EXPECT_EQ(changes.config.switches[0].trees[0].parent, PortNumber{0});
  EXPECT_EQ(changes.config.switches[0].trees[0].children.bits(), 0b10U);
}

} // namespace
} // namespace tributary::config
