// Which frames are wide ones, and the drop reasons of the others.

#include "dataplane/core/classify.hpp"
#include "tests/unit/dataplane/core/wide_frames.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace tributary::core::test {
namespace {

Frame from_hex(std::string_view text, std::size_t payload_from = 48, unsigned fill_low = 0,
               unsigned fill_high = 0, std::size_t payload_bytes = 0) {
  std::vector<std::byte> bytes(wire::ethernet_header_bytes);
  wire::write_ethernet_header(bytes.data(), {}, {}, wire::default_ethertype);
  for (std::size_t i = 0; i + 1 < text.size(); i += 3) {
    bytes.push_back(
        static_cast<std::byte>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  while (bytes.size() < wire::ethernet_header_bytes + payload_from + payload_bytes) {
    bytes.push_back(static_cast<std::byte>(bytes.size() % 2 == 0 ? fill_low : fill_high));
  }
  return Frame(std::move(bytes));
}

/// The golden frames of the wire format.
Frame golden_leaf() {
  return from_hex("45 d0 00 70 04 00 00 00 5a 77 a3 75 12 34 50 00 "
                  "ff b6 55 e7 cd 00 01 23 45 67 89 ab cd 00 51 02 "
                  "07 00 00 00 67 7d aa bc 00 00 2a a0 00 03 41 55 "
                  "00 00 80 3f 00 00 20 c0 cd cc cc 3d 00 00 80 7f ",
                  48, 0, 0, 64);
}
Frame golden_root() {
  return from_hex("45 20 00 60 04 00 00 00 5a 77 f6 20 00 00 10 00 "
                  "ff ff 55 e7 cd 00 00 00 00 00 00 00 00 00 41 05 "
                  "00 00 00 00 67 7d aa bc 00 00 80 20 00 21 44 02 ",
                  48, 0x80, 0x3f, 48);
}

Classified classified(Frame frame) {
  const PortPolicy policy;
  return IngressCheck(policy).classify(frame.view());
}

TEST(WideClassify, TakesTheGoldenFrames) {
  const Classified leaf = classified(golden_leaf());
  EXPECT_EQ(leaf.kind(), FrameKind::wide);
  EXPECT_EQ(leaf.key(), ReductionKey(TreeNumber{0xABC}, ReductionId{77}));
  const Classified root = classified(golden_root());
  EXPECT_EQ(root.kind(), FrameKind::wide);
  EXPECT_EQ(root.key(), ReductionKey(TreeNumber{0xABC}, ReductionId{127}));
}

TEST(WideClassify, TheEngineTakesTheGoldenFrames) {
  TestSwitch s = wide_switch();
  wire::ReductionFrame a = with_id(arm(0x155), ReductionId{77});
  s.give(parent, a);
  expect_absorbed(s.give(child, golden_leaf()));
  EXPECT_EQ(s.descriptors()[0].signature, 0x0123456789ABCDU & wire::signature_mask);
  expect_replicated(s.give(parent, golden_root()), children, Event::armed);
  EXPECT_EQ(s.descriptors().size(), 2U);
}

TEST(WideClassify, KnowsEveryIdOfBothForms) {
  for (unsigned id = 0; id < 128; ++id) {
    const ReductionId slot{static_cast<std::uint8_t>(id)};
    const Classified wide = classified(wide_frame(wide_contribution(7, Nid{1}, slot)));
    ASSERT_EQ(wide.kind(), FrameKind::wide) << id;
    ASSERT_EQ(wide.key(), ReductionKey(tree, slot));
    const Classified narrow = classified(Frame(with_id(contribution(7), slot)));
    ASSERT_EQ(narrow.kind(), id < 8 ? FrameKind::reduction : FrameKind::wide) << id;
    ASSERT_EQ(narrow.key(), ReductionKey(tree, slot));
  }
}

/// The same frame through a port with more checks, which checks field by field.
TEST(WideClassify, AGuardedPortAsksTheSame) {
  PortPolicy policy;
  policy.nid = Nid{0x12345};
  auto vnis = std::make_shared<VniSet>();
  vnis->set(vni.value);
  policy.vnis = vnis;
  const IngressCheck check(policy);
  Frame right = wide_frame(wide_contribution(7));
  EXPECT_EQ(check.classify(right.view()).kind(), FrameKind::wide);
  Frame forged = wide_frame(wide_contribution(7, Nid{5}));
  EXPECT_EQ(check.classify(forged.view()).reason(), DropReason::source_guard);
  Frame damaged = wide_frame(wide_contribution(7));
  damaged.set(wire::portals_offset::checksum, 0x12);
  EXPECT_EQ(check.classify(damaged.view()).reason(), DropReason::bad_checksum);
  Frame action = wide_frame(wide_contribution(7));
  action.set(wire::portals_offset::dfa + 3, 0xE6);
  action.fix_checksum();
  EXPECT_EQ(check.classify(action.view()).reason(), DropReason::bad_action);
}

struct Refused {
  const char* what;
  DropReason reason;
  std::function<void(Frame&)> damage;
};

void set_total_length(Frame& f, unsigned total) {
  wire::store_be<std::uint16_t>(f.portals() + wire::portals_offset::total_length,
                                static_cast<std::uint16_t>(total));
  f.fix_checksum();
}
/// All fields as in a wide frame of this many bytes, also for impossible lengths.
void set_payload(Frame& f, std::size_t bytes) {
  f.resize(wire::wide_header_bytes + bytes);
  wire::store_be<std::uint16_t>(f.portals() + wire::portals_offset::request_length,
                                wire::wide_request_length(bytes));
  set_total_length(f, static_cast<unsigned>(48 + bytes));
}

const std::vector<Refused> refusals = {
    {"no multiple of 8", DropReason::bad_length, [](Frame& f) { set_payload(f, 1404); }},
    {"shorter than 40", DropReason::bad_length, [](Frame& f) { set_payload(f, 24); }},
    {"shorter than its headers", DropReason::bad_length, [](Frame& f) { set_total_length(f, 40); }},
    {"above the tree's limit", DropReason::bad_length, [](Frame& f) { set_payload(f, 1416); }},
    {"cut short", DropReason::truncated, [](Frame& f) { f.resize(f.bytes().size() - 1); }},
    {"request length of 49", DropReason::bad_request,
     [](Frame& f) {
       f.set(wire::portals_offset::request_length, 0);
       f.set(wire::portals_offset::request_length + 1, 49);
     }},
    {"form 0", DropReason::bad_form, [](Frame& f) { f.set(wire::portals_offset::form, 0); }},
    {"form 8", DropReason::bad_form, [](Frame& f) { f.set(wire::portals_offset::form, 8); }},
    {"upper bits of the form", DropReason::bad_form,
     [](Frame& f) { f.set(wire::portals_offset::form, 0x12); }},
};

TEST(WideClassify, RefusesByName) {
  for (const std::uint8_t id : {std::uint8_t{3}, std::uint8_t{100}}) {
    for (const Refused& refused : refusals) {
      for (const PortNumber in : {child, parent}) {
        SCOPED_TRACE(refused.what);
        TestSwitch s = wide_switch();
        Frame f = wide_frame(wide_contribution(7, Nid{1}, ReductionId{id}));
        refused.damage(f);
        expect_dropped(s, s.give(in, f), in, refused.reason);
      }
    }
  }
}

TEST(WideClassify, TakesEveryLengthUpToTheTreesLimit) {
  TestSwitch s = wide_switch();
  for (std::size_t bytes = 40; bytes <= limit; bytes += 8) {
    wire::WideFrame f = wide_contribution(7);
    f.payload_bytes = bytes;
    Frame longer = wide_frame(f);
    longer.resize(longer.bytes().size() + 5); // bytes behind it are ignored
    ASSERT_EQ(s.give(child, longer).event, Event::passed_not_armed) << bytes;
  }
}

TEST(WideClassify, AnIdBeyondTheTreesIsRefused) {
  for (const PortNumber in : {child, parent}) {
    TestSwitch s = wide_switch();
    wire::WideFrame f = wide_contribution(7, Nid{1}, ReductionId{16});
    f.tree = half_tree;
    f.payload_bytes = 704;
    expect_dropped(s, s.give(in, wide_frame(f)), in, DropReason::bad_reduction_id);
    TestSwitch narrow = wide_switch();
    wire::ReductionFrame n = with_id(in == parent ? arm(7) : contribution(7), ReductionId{127});
    n.tree = half_tree;
    expect_dropped(narrow, narrow.give(in, n), in, DropReason::bad_reduction_id);
    EXPECT_TRUE(narrow.descriptors().empty());
    n.reduction = ReductionId{15};
    EXPECT_NE(narrow.give(in, n).action, core::Action::drop);
  }
}

TEST(WideClassify, AnOldTreeRefusesWideFramesAndIgnoresUpperIds) {
  TestSwitch s = wide_switch();
  wire::WideFrame f = wide_contribution(7, Nid{1}, ReductionId{3});
  f.tree = old_tree;
  expect_dropped(s, s.give(child, wide_frame(f)), child, DropReason::bad_length);
  f.slot = ReductionId{99};
  EXPECT_EQ(s.give(child, wide_frame(f)).reason, DropReason::bad_length);
  EXPECT_EQ(s.give(parent, wide_frame(f)).reason, DropReason::bad_length);

  wire::ReductionFrame a = with_id(arm(7), ReductionId{8 + 3});
  a.tree = old_tree;
  EXPECT_EQ(s.give(parent, a).event, Event::armed);
  ASSERT_EQ(s.descriptors().size(), 1U);
  EXPECT_EQ(s.descriptors()[0].key, ReductionKey(old_tree, ReductionId{3}));
  for (const unsigned id : {3U, 127U - 4U, 64U + 3U}) {
    wire::ReductionFrame c = with_id(contribution(7), ReductionId{static_cast<std::uint8_t>(id)});
    c.tree = old_tree;
    expect_absorbed(s.give(child, c));
  }
  EXPECT_EQ(s.descriptors()[0].count, 3U);
}

TEST(WideClassify, AnOrdinaryTreeCopiesThemLikeAnythingElse) {
  TestSwitch s = wide_switch();
  wire::WideFrame f = wide_contribution(7);
  f.tree = ordinary_tree;
  for (const ReductionId id : {ReductionId{3}, high_id}) {
    f.slot = id;
    Frame frame = wide_frame(f);
    expect_replicated(s.give(parent, frame), children, Event::multicast);
    wire::ReductionFrame narrow = with_id(contribution(7), id);
    narrow.tree = ordinary_tree;
    expect_replicated(s.give(parent, narrow), children, Event::multicast);
    EXPECT_EQ(s.give(child, frame).reason, DropReason::not_from_parent);
    EXPECT_EQ(s.give(stranger, frame).reason, DropReason::not_on_tree);
  }
  f.tree = TreeNumber{1};
  EXPECT_EQ(s.give(child, wide_frame(f)).reason, DropReason::unknown_tree);
}

} // namespace
} // namespace tributary::core::test
