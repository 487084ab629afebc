// Shared frames: what any member multicasts is copied to all other ports of the tree, and no engine
// sees it.

#include "dataplane/core/explain.hpp"
#include "tests/unit/dataplane/core/test_switch.hpp"
#include "tributary/wire/shared.hpp"

namespace tributary::core::test {
namespace {

/// As member `source` sends it, 1,408 bytes.
Frame shared(TreeNumber to = tree, Nid source = Nid{0x12345}) {
  const wire::SharedFrame fields{.destination = wire::port_mac(source),
                                 .source = wire::host_mac(source),
                                 .vni = vni,
                                 .source_nid = source,
                                 .tree = to,
                                 .cookie = cookie,
                                 .chunk = 5,
                                 .bytes = 1408};
  std::vector<std::byte> bytes(wire::shared_header_bytes + 1408);
  wire::encode_header(fields, std::span(bytes).first<wire::shared_header_bytes>());
  return Frame(std::move(bytes));
}

class Shared : public testing::Test {
protected:
  Shared() {
    TablesBuilder builder = standard_tables();
    EXPECT_EQ(builder.set_shared(tree, true), "");
    s.adopt(std::move(builder));
  }
  /// `explain` must predict the decision, and the frame must stay as it is.
  Decision give(PortNumber in, Frame frame) {
    const Frame before = frame;
    const Explanation predicted = explain(s.core, in, frame.view());
    const Decision d = s.give(in, frame);
    EXPECT_EQ(predicted.decision.action, d.action) << predicted.steps.back();
    EXPECT_EQ(predicted.decision.reason, d.reason) << predicted.steps.back();
    EXPECT_EQ(predicted.decision.ports, d.ports) << predicted.steps.back();
    EXPECT_EQ(frame, before);
    return d;
  }
  static PortSet all_but(PortNumber in) {
    PortSet ports = children;
    ports.insert(parent);
    ports.erase(in);
    return ports;
  }
  TestSwitch s;
};

TEST_F(Shared, are_copied_to_all_ports_of_the_tree_but_their_own) {
  for (const PortNumber in : {parent, child, other_child, third_child}) {
    expect_replicated(give(in, shared()), all_but(in), Event::shared);
  }
  EXPECT_EQ(s.all_drops(), 0U);
}

TEST_F(Shared, of_any_length_are_copied) {
  Frame shortest = shared();
  shortest.resize(shortest_frame_bytes);
  wire::store_be<std::uint16_t>(shortest.portals() + wire::portals_offset::total_length, 20);
  shortest.fix_checksum();
  expect_replicated(give(child, shortest), all_but(child), Event::shared);
  Frame padded = shared();
  padded.resize(1600);
  expect_replicated(give(child, padded), all_but(child), Event::shared);
}

TEST_F(Shared, of_a_length_that_is_not_there_are_dropped) {
  Frame cut = shared();
  cut.resize(cut.bytes().size() - 1);
  expect_dropped(s, give(child, cut), child, DropReason::bad_length);
}

TEST_F(Shared, shorter_than_their_header_are_dropped) {
  Frame frame = shared();
  wire::store_be<std::uint16_t>(frame.portals() + wire::portals_offset::total_length, 19);
  frame.fix_checksum();
  expect_dropped(s, give(child, frame), child, DropReason::bad_length);
}

TEST_F(Shared, on_a_tree_that_is_not_there_are_dropped) {
  expect_dropped(s, give(child, shared(TreeNumber{99})), child, DropReason::unknown_tree);
}

TEST_F(Shared, on_an_ordinary_multicast_are_dropped_also_from_its_root) {
  expect_dropped(s, give(parent, shared(ordinary_tree)), parent, DropReason::not_shared);
}

TEST_F(Shared, from_a_port_that_is_not_on_the_tree_are_dropped) {
  expect_dropped(s, give(stranger, shared()), stranger, DropReason::not_on_tree);
}

TEST_F(Shared, are_dropped_while_the_tree_is_not_shared) {
  s.adopt(standard_tables());
  expect_dropped(s, give(child, shared()), child, DropReason::not_shared);
}

TEST_F(Shared, are_not_sent_by_ports_that_are_down) {
  s.core.port_changed(other_child, false);
  PortSet left = all_but(child);
  left.erase(other_child);
  expect_replicated(give(child, shared()), left, Event::shared);
  EXPECT_EQ(s.drops(other_child, DropReason::port_down), 1U);
}

TEST_F(Shared, pass_the_checks_of_their_port) {
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({}), "");
  ASSERT_EQ(builder.add_port({.nid = Nid{7}, .vnis = {}}), "");
  ASSERT_EQ(builder.add_tree(tree, 2, PortNumber{0}, PortSet{0b10}), "");
  ASSERT_EQ(builder.set_shared(tree, true), "");
  s.adopt(std::move(builder));
  expect_replicated(give(child, shared(tree, Nid{7})), PortSet{0b01}, Event::shared);
  expect_dropped(s, give(child, shared(tree, Nid{8})), child, DropReason::source_guard);
}

TEST_F(Shared, touch_no_engine) {
  s.give(parent, arm(7));
  expect_absorbed(s.give(child, contribution(7)));
  // The same bytes as a contribution's, but for the action: a word, a cookie, an id.
  Frame frame(contribution(7));
  wire::store_be<std::uint32_t>(frame.portals() + wire::portals_offset::dfa,
                                wire::FabricAddress::shared(tree).value);
  frame.fix_checksum();
  expect_replicated(give(other_child, frame), all_but(other_child), Event::shared);
  ASSERT_EQ(s.descriptors().size(), 1U);
  EXPECT_EQ(s.descriptors()[0].count, 1U);
  EXPECT_EQ(s.engine().contributions.read(), 1U);
  EXPECT_EQ(s.of(tree).passed_through.read(), 0U);
}

TEST_F(Shared, are_processed_where_they_arrive_and_only_read) {
  Frame frame = shared();
  EXPECT_EQ(s.core.engine_port(child, frame.view()), child);
  EXPECT_EQ(s.core.engine_port(parent, frame.view()), parent);
  EXPECT_TRUE(s.core.only_reads(child, frame.view()));
  Frame reduction(contribution(1));
  EXPECT_FALSE(s.core.only_reads(child, reduction.view()));
}

TEST_F(Shared, among_others_in_a_burst_are_decided_as_alone) {
  std::vector<Frame> frames;
  for (int i = 0; i < 32; ++i) {
    frames.push_back(i % 3 == 0 ? Frame(contribution(7)) : i % 3 == 1 ? shared() : Frame(arm(8)));
  }
  std::vector<FrameView> views;
  for (Frame& frame : frames) {
    views.push_back(frame.view());
  }
  std::vector<Decision> decisions(views.size());
  s.core.process_burst(child, views, s.now, decisions);
  for (std::size_t i = 1; i < decisions.size(); i += 3) {
    expect_replicated(decisions[i], all_but(child), Event::shared);
  }
}

} // namespace
} // namespace tributary::core::test
