#include "controlplane/southbound/protocol/messages.hpp"

#include "controlplane/route_controller/routes_content.hpp"
#include "controlplane/southbound/protocol/switch_report.hpp"
#include "controlplane/trees/tree_kind.hpp"
#include "dataplane/forwarding_table/messages/codec.hpp"
#include "tests/support/random_routes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tributary::southbound::protocol {
namespace {

using transaction::Answer;
using transaction::Message;

transaction::ContentPtr entry(topology::Port parent, std::vector<topology::Port> children,
                              ContributionCount wait_count) {
  return std::make_shared<trees::TreeContent>(multicast::TreePart{.at = topology::SwitchId{3},
                                                                  .parent = parent,
                                                                  .children = std::move(children),
                                                                  .wait_count = wait_count,
                                                                  .depth = 2});
}

TEST(Messages, ATextThatATerminalObeysIsFoundWhereverItStands) {
  using control::SwitchMessage;
  const std::string bad = "x\x1b[2J\n";
  std::vector<SwitchMessage> messages(7);
  messages[0].mutable_hello()->set_name(bad);
  messages[1].mutable_hello()->set_software(bad);
  messages[2].mutable_hello()->add_ports()->set_name(bad);
  messages[3].mutable_ports()->add_ports()->mutable_neighbour()->set_name(bad);
  messages[4].mutable_ports()->add_ports()->mutable_neighbour()->set_port_name(bad);
  messages[5].mutable_refused()->set_reason(bad);
  (*messages[6].mutable_statistics()->add_ports()->mutable_drops())[bad] = 1;
  for (const SwitchMessage& message : messages) {
    const auto why = unprintable_text(message);
    ASSERT_TRUE(why) << message.kind_case();
    EXPECT_NE(why->find("control characters"), std::string::npos);
    EXPECT_EQ(why->find(bad), std::string::npos) << "and is not repeated";
  }
  SwitchMessage good;
  good.mutable_hello()->set_name("leaf0");
  good.mutable_hello()->add_ports()->set_name("p\xc3\xbc");
  EXPECT_FALSE(unprintable_text(good));
}

TEST(Messages, APrepareSaysTreesThenPermissionsThenRevocations) {
  Message message{.verb = Message::Verb::prepare, .number = 77, .changes = {}};
  message.changes.contents.emplace_back(trees::subject_of(TreeNumber{7}), entry(4, {0, 63}, 12));
  message.changes.contents.emplace_back(trees::subject_of(TreeNumber{8}), nullptr);
  message.changes.permit.push_back({{PortNumber{5}, Vni{1024}}, Nid{99}});
  message.changes.permit.push_back({{PortNumber{6}, Vni{1024}}, std::nullopt});
  message.changes.revoke.push_back({PortNumber{7}, Vni{3}});
  const control::ManagerMessage wire = message_of(message);
  ASSERT_TRUE(wire.has_prepare());
  const control::Prepare& prepare = wire.prepare();
  EXPECT_EQ(prepare.transaction(), 77U);
  ASSERT_EQ(prepare.changes_size(), 5);
  EXPECT_EQ(prepare.changes(0).set_tree().number(), 7U);
  EXPECT_EQ(prepare.changes(0).set_tree().parent(), 4U);
  EXPECT_EQ(prepare.changes(0).set_tree().children(), std::uint64_t{1} << 63U | 1U);
  EXPECT_EQ(prepare.changes(0).set_tree().wait_count(), 12U);
  EXPECT_EQ(prepare.changes(1).remove_tree(), 8U);
  EXPECT_EQ(prepare.changes(2).permit().port(), 5U);
  EXPECT_EQ(prepare.changes(2).permit().vni(), 1024U);
  EXPECT_EQ(prepare.changes(2).permit().nid(), 99U);
  EXPECT_FALSE(prepare.changes(3).permit().has_nid());
  EXPECT_EQ(prepare.changes(4).revoke().port(), 7U);
  EXPECT_EQ(prepare.changes(4).revoke().vni(), 3U);
}

TEST(Messages, WideFramesOfATreeGoBothWays) {
  const records::WideFrames frames{.slots = 64, .payload = 1408, .half_floats = true};
  const multicast::TreePart part{
      .at = {}, .parent = 4, .children = {0}, .wait_count = 1, .depth = 0};
  const auto content = std::make_shared<trees::TreeContent>(part, frames);
  Message message{.verb = Message::Verb::prepare, .number = 1, .changes = {}};
  message.changes.contents.emplace_back(trees::subject_of(TreeNumber{7}), content);
  message.changes.contents.emplace_back(trees::subject_of(TreeNumber{8}), entry(4, {0}, 1));
  const control::Prepare prepare = message_of(message).prepare();
  const control::Tree& wide = prepare.changes(0).set_tree();
  EXPECT_EQ(wide.slots(), 64U);
  EXPECT_EQ(wide.payload(), 1408U);
  EXPECT_TRUE(wide.half_floats());
  EXPECT_EQ(prepare.changes(1).set_tree().slots(), 0U) << "no wide frames";
  EXPECT_EQ(prepare.changes(1).set_tree().payload(), 0U);

  control::SwitchHello hello;
  *hello.mutable_in_force()->add_trees() = wide;
  *hello.mutable_in_force()->add_trees() = prepare.changes(1).set_tree();
  const transaction::Hello read = hello_of(hello);
  EXPECT_TRUE(read.in_force.at(0).second->same_as(*content));
  EXPECT_TRUE(read.in_force.at(1).second->same_as(*entry(4, {0}, 1)));
  hello.mutable_in_force()->mutable_trees(0)->set_slots(32);
  EXPECT_FALSE(hello_of(hello).in_force.at(0).second->same_as(*content));
}

TEST(Messages, ATreeWithInSwitchResultsGoesBothWays) {
  const multicast::TreePart part{
      .at = {}, .parent = 4, .children = {0}, .wait_count = 1, .depth = 0};
  for (const std::uint32_t payload : {32U, 1408U}) {
    const records::WideFrames frames{.slots = 8, .payload = payload, .in_switch = true};
    const transaction::Target target =
        trees::target_of(TreeNumber{7}, {{part}}, Vni{1}, {}, frames);
    const auto& content = target.parts.at(0).content;
    Message message{.verb = Message::Verb::prepare, .number = 1, .changes = {}};
    message.changes.contents.emplace_back(target.subject, content);
    const control::Tree tree = message_of(message).prepare().changes(0).set_tree();
    EXPECT_TRUE(tree.in_switch_results());
    EXPECT_EQ(tree.wait_count(), 2U) << "the root's contribution as well";
    control::SwitchHello hello;
    *hello.mutable_in_force()->add_trees() = tree;
    EXPECT_TRUE(hello_of(hello).in_force.at(0).second->same_as(*content));
    hello.mutable_in_force()->mutable_trees(0)->set_in_switch_results(false);
    EXPECT_FALSE(hello_of(hello).in_force.at(0).second->same_as(*content));
  }
}

TEST(Messages, ASharedTreeGoesBothWays) {
  const multicast::TreePart part{
      .at = {}, .parent = 4, .children = {0}, .wait_count = 1, .depth = 0};
  const transaction::Target target =
      trees::target_of(TreeNumber{7}, {{part}}, Vni{1}, {}, {.shared = true});
  const auto& content = target.parts.at(0).content;
  Message message{.verb = Message::Verb::prepare, .number = 1, .changes = {}};
  message.changes.contents.emplace_back(target.subject, content);
  const control::Tree tree = message_of(message).prepare().changes(0).set_tree();
  EXPECT_TRUE(tree.shared());
  control::SwitchHello hello;
  *hello.mutable_in_force()->add_trees() = tree;
  EXPECT_TRUE(hello_of(hello).in_force.at(0).second->same_as(*content));
  hello.mutable_in_force()->mutable_trees(0)->set_shared(false);
  EXPECT_FALSE(hello_of(hello).in_force.at(0).second->same_as(*content));
}

TEST(Messages, ARefusalForWantOfRoomIsToldApart) {
  control::SwitchMessage message;
  message.mutable_refused()->set_reason("full");
  EXPECT_FALSE(answer_of(message)->no_room);
  message.mutable_refused()->set_no_room(true);
  EXPECT_TRUE(answer_of(message)->no_room);
}

TEST(SwitchReport, WidestIsWhatTheHelloSaysCutToWhatTreesCanHave) {
  SwitchReport report;
  EXPECT_EQ(report.widest(), records::WideFrames{}) << "no memory for them";
  report.limits.set_wide_payload(1500);
  report.limits.set_wide_slots(100);
  report.limits.set_wide_forms(1U << 1U);
  EXPECT_EQ(report.widest(),
            (records::WideFrames{.slots = 64, .payload = 1472, .half_floats = false}));
  report.limits.set_wide_forms(1U << 5U);
  EXPECT_TRUE(report.widest().half_floats);
}

TEST(Messages, RoutesGoWholeAndAreKnownAgainByTheirDigest) {
  Random random(3);
  const auto routes =
      std::make_shared<const forwarding_table::Routes>(test::random_routes(8, random));
  Message message{.verb = Message::Verb::prepare, .number = 1, .changes = {}};
  const auto content = std::make_shared<route_controller::RoutesContent>(routes);
  message.changes.contents.emplace_back(route_controller::route_subject(), content);
  message.changes.contents.emplace_back(route_controller::route_subject(), nullptr);
  const control::Prepare prepare = message_of(message).prepare();
  ASSERT_EQ(prepare.changes_size(), 2);
  forwarding_table::Routes got;
  ASSERT_EQ(forwarding_table::messages::decode(prepare.changes(0).set_routes(), 8, got), "");
  EXPECT_EQ(got.table, routes->table);
  EXPECT_TRUE(prepare.changes(1).has_remove_routes());

  control::SwitchHello hello;
  hello.mutable_in_force()->mutable_routes()->set_epoch(routes->epoch - 1);
  hello.mutable_in_force()->mutable_routes()->set_digest(forwarding_table::digest(*routes));
  const transaction::Hello read = hello_of(hello);
  ASSERT_EQ(read.in_force.size(), 1U);
  EXPECT_EQ(read.in_force.front().first, route_controller::route_subject());
  EXPECT_TRUE(read.in_force.front().second->same_as(*content));
  EXPECT_EQ(route_controller::routes_of(*read.in_force.front().second).epoch(), routes->epoch - 1);
  // A switch's report cannot be forwarded: the table is not known.
  message.changes.contents = {read.in_force.front()};
  EXPECT_THROW(static_cast<void>(message_of(message)), std::invalid_argument);
}

TEST(Messages, CommitAndAbortAreTheirNumber) {
  EXPECT_EQ(message_of({.verb = Message::Verb::commit, .number = 5, .changes = {}})
                .commit()
                .transaction(),
            5U);
  EXPECT_EQ(
      message_of({.verb = Message::Verb::abort, .number = 6, .changes = {}}).abort().transaction(),
      6U);
}

TEST(Messages, AKindThatTheWireDoesNotHaveIsAnError) {
  Message message{.verb = Message::Verb::prepare, .number = 1, .changes = {}};
  message.changes.contents.emplace_back(transaction::Subject{transaction::KindNumber{200}, 1},
                                        nullptr);
  EXPECT_THROW(static_cast<void>(message_of(message)), std::invalid_argument);
}

TEST(Messages, AnswersAreReadAndAllElseIsNone) {
  control::SwitchMessage message;
  EXPECT_FALSE(answer_of(message));
  message.mutable_ports();
  EXPECT_FALSE(answer_of(message));
  message.mutable_prepared()->set_transaction(1);
  EXPECT_EQ(answer_of(message)->verb, Answer::Verb::prepared);
  EXPECT_EQ(answer_of(message)->number, 1U);
  message.mutable_committed()->set_transaction(2);
  EXPECT_EQ(answer_of(message)->verb, Answer::Verb::committed);
  EXPECT_EQ(answer_of(message)->number, 2U);
  message.mutable_refused()->set_transaction(3);
  message.mutable_refused()->set_reason("full");
  EXPECT_EQ(answer_of(message)->verb, Answer::Verb::refused);
  EXPECT_EQ(answer_of(message)->number, 3U);
  EXPECT_EQ(answer_of(message)->reason, "full");
}

TEST(Messages, AHelloSaysWhatIsInForceAndWhoseItIs) {
  control::SwitchHello wire;
  wire.mutable_limits()->set_ports(48);
  wire.mutable_limits()->set_trees(4096);
  const auto add = [&](std::uint32_t number, bool from_file) {
    control::Tree& tree = *wire.mutable_in_force()->add_trees();
    tree.set_number(number);
    tree.set_parent(4);
    tree.set_children(0b1010);
    tree.set_wait_count(9);
    tree.set_from_file(from_file);
  };
  add(7, false);
  add(8, true);
  add(max_trees, false); // no such number
  control::Permission& permission = *wire.mutable_in_force()->add_permissions();
  permission.set_port(5);
  permission.set_vni(1024);
  permission.set_nid(99);
  const transaction::Hello hello = hello_of(wire);
  EXPECT_EQ(hello.ports, 48U);
  EXPECT_EQ(hello.capacity.at(trees::tree_kind), 4096U);
  ASSERT_EQ(hello.in_force.size(), 1U);
  EXPECT_EQ(hello.in_force[0].first, trees::subject_of(TreeNumber{7}));
  EXPECT_TRUE(hello.in_force[0].second->same_as(*entry(4, {1, 3}, 9)));
  EXPECT_FALSE(hello.in_force[0].second->same_as(*entry(4, {1, 2}, 9)));
  EXPECT_EQ(hello.own, (std::vector{trees::subject_of(TreeNumber{8})}));
  ASSERT_EQ(hello.permissions.size(), 1U);
  EXPECT_EQ(hello.permissions[0],
            (transaction::GuardedPermission{{PortNumber{5}, Vni{1024}}, Nid{99}}));
}

} // namespace
} // namespace tributary::southbound::protocol
