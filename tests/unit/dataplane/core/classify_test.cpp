// The class of a frame, and why it is refused (dataplane/core/classify.hpp).

#include "tests/unit/dataplane/core/test_switch.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::core::test {
namespace {

Frame unicast_frame(Nid to, std::size_t length) {
  Frame f(contribution(0));
  f.resize(wire::ethernet_header_bytes + length);
  wire::store_be<std::uint32_t>(f.portals() + wire::portals_offset::dfa,
                                wire::FabricAddress::unicast(to, 0x123).value);
  wire::store_be<std::uint16_t>(f.portals() + wire::portals_offset::total_length,
                                static_cast<std::uint16_t>(length));
  f.fix_checksum();
  return f;
}

Frame multicast_frame(TreeNumber to, std::size_t length) {
  Frame f = unicast_frame(routed_nid, length);
  wire::store_be<std::uint32_t>(f.portals() + wire::portals_offset::dfa,
                                wire::FabricAddress::multicast(to, ReductionId{0}).value);
  f.fix_checksum();
  return f;
}

void expect_refused(Frame frame, DropReason reason, PortNumber in = child) {
  TestSwitch s;
  const Frame before = frame;
  expect_dropped(s, s.give(in, frame), in, reason);
  EXPECT_EQ(frame, before);
}

TEST(Classify, EmptyAndShortFramesAreRunts) {
  for (std::size_t length = 0; length < 34; ++length) {
    Frame f(contribution(1));
    f.resize(length);
    expect_refused(f, DropReason::runt);
  }
}

TEST(Classify, LongerThanThePortTakesIsTooLong) {
  for (Frame frame : {Frame(contribution(1)), unicast_frame(routed_nid, 80)}) {
    TestSwitch s;
    TablesBuilder builder;
    for (int port = 0; port < 2; ++port) {
      ASSERT_EQ(builder.add_port({.nid = {}, .vnis = {}, .longest_frame = 1792}), "");
    }
    ASSERT_EQ(builder.add_tree(tree, 2, PortNumber{0}, PortSet{0b10}), "");
    ASSERT_EQ(builder.add_route(routed_nid, PortNumber{0}), "");
    s.adopt(std::move(builder));
    frame.resize(1792);
    EXPECT_NE(s.give(PortNumber{1}, frame).action, Action::drop);
    frame.resize(1793);
    expect_dropped(s, s.give(PortNumber{1}, frame), PortNumber{1}, DropReason::too_long);
  }
}

TEST(Classify, OtherEthertypeIsForeign) {
  for (const std::uint16_t ethertype :
       std::initializer_list<std::uint16_t>{0x0800, 0x88B6, 0xB588, 0x0806}) {
    auto c = contribution(1);
    c.ethertype = ethertype;
    expect_refused(Frame(c), DropReason::foreign_ethertype);
  }
}

/// Ports 0 and 1 joined for foreign frames, and port 2 beside them.
void join(TestSwitch& s) {
  TablesBuilder builder;
  for (const PortNumber to : {PortNumber{1}, PortNumber{0}, no_port}) {
    PortPolicy policy;
    policy.foreign_to = to;
    policy.longest_frame = 1514;
    EXPECT_EQ(builder.add_port(policy), "");
  }
  s.adopt(std::move(builder));
}
Frame foreign_frame(std::size_t length = 64) {
  auto c = contribution(1);
  c.ethertype = 0x0800;
  Frame frame(c);
  frame.resize(length);
  return frame;
}

TEST(Classify, ForeignFramesPassBetweenJoinedPortsEachWayAndAreCounted) {
  TestSwitch s;
  join(s);
  expect_forwarded(s.give(PortNumber{0}, foreign_frame()), PortNumber{1}, Event::foreign);
  expect_forwarded(s.give(PortNumber{1}, foreign_frame(1514)), PortNumber{0}, Event::foreign);
  EXPECT_EQ(s.core.counters().ports[0].foreign_frames.read(), 1U);
  EXPECT_EQ(s.core.counters().ports[1].foreign_frames.read(), 1U);
}

TEST(Classify, ForeignFramesOfAnotherPortAndTooLongOnesAreDropped) {
  TestSwitch beside;
  join(beside);
  expect_dropped(beside, beside.give(PortNumber{2}, foreign_frame()), PortNumber{2},
                 DropReason::foreign_ethertype);
  TestSwitch s;
  join(s);
  expect_dropped(s, s.give(PortNumber{0}, foreign_frame(1515)), PortNumber{0},
                 DropReason::too_long);
}

TEST(Classify, AForeignFrameThatFindsTheOtherPortDownIsDroppedThere) {
  TestSwitch s;
  join(s);
  s.core.port_changed(PortNumber{1}, false);
  expect_dropped(s, s.give(PortNumber{0}, foreign_frame()), PortNumber{1}, DropReason::port_down);
  EXPECT_EQ(s.core.counters().ports[0].foreign_frames.read(), 0U);
}

TEST(Classify, AForeignFrameToAnAddressThatNoBridgeForwardsIsDropped) {
  for (const unsigned last : {0x00U, 0x02U, 0x0EU, 0x0FU}) {
    TestSwitch s;
    join(s);
    Frame frame = foreign_frame();
    const unsigned address[] = {0x01, 0x80, 0xC2, 0x00, 0x00, last};
    std::ranges::transform(address, frame.bytes().begin(),
                           [](unsigned b) { return static_cast<std::byte>(b); });
    expect_dropped(s, s.give(PortNumber{0}, frame), PortNumber{0}, DropReason::link_local);
    frame.bytes()[5] = std::byte{0x10};
    expect_forwarded(s.give(PortNumber{0}, frame), PortNumber{1}, Event::foreign);
  }
}

TEST(Classify, WhatIsOfTheFabricAndBrokenIsNotForeign) {
  TestSwitch s;
  join(s);
  Frame frame(contribution(1));
  frame.set(wire::portals_offset::version_ihl, 0x46);
  expect_dropped(s, s.give(PortNumber{0}, frame), PortNumber{0}, DropReason::bad_version);
}

TEST(Classify, EthertypeIsThePortsOwn) {
  TestSwitch s;
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({.ethertype = 0x88B6, .nid = {}, .vnis = {}}), "");
  ASSERT_EQ(builder.add_port({.ethertype = 0x1234, .nid = {}, .vnis = {}}), "");
  ASSERT_EQ(builder.add_tree(tree, 2, PortNumber{0}, PortSet{0b10}), "");
  s.adopt(std::move(builder));
  auto c = contribution(1);
  c.ethertype = 0x1234;
  expect_forwarded(s.give(PortNumber{1}, c), PortNumber{0}, Event::passed_not_armed);
  c.ethertype = 0x88B6;
  expect_dropped(s, s.give(PortNumber{1}, c), PortNumber{1}, DropReason::foreign_ethertype);
}

TEST(Classify, VersionOrHeaderLengthOtherThan45IsBadVersion) {
  for (const unsigned first : {0x00U, 0x44U, 0x46U, 0x55U, 0x65U, 0xFFU}) {
    Frame f(contribution(1));
    f.set(0, first);
    f.fix_checksum();
    expect_refused(f, DropReason::bad_version);
  }
}

TEST(Classify, AnySingleBitFlipOfTheHeaderIsSeen) {
  // All but the bits that are checked before the checksum.
  for (std::size_t bit = 8; bit < wire::fabric_header_bytes * 8; ++bit) {
    Frame f(contribution(1));
    f.portals()[bit / 8] ^= std::byte{1} << (bit % 8);
    expect_refused(f, DropReason::bad_checksum);
  }
}

TEST(Classify, ChecksumAgreesWithTheCodecOnEveryValue) {
  // All values of the checksum field and of one more word: both zeros of ones' complement are among
  // them.
  TestSwitch s;
  Frame f(contribution(1));
  for (std::uint32_t value = 0; value < 0x10000; ++value) {
    wire::store_be<std::uint16_t>(f.portals() + wire::portals_offset::checksum,
                                  static_cast<std::uint16_t>(value));
    const bool accepted = s.give(child, f).action != Action::drop;
    ASSERT_EQ(accepted, wire::fabric_header_checksum_ok(f.portals())) << value;
  }
  for (std::uint32_t value = 0; value < 0x10000; ++value) {
    wire::store_be<std::uint16_t>(f.portals() + wire::portals_offset::ttl,
                                  static_cast<std::uint16_t>(value));
    f.fix_checksum();
    ASSERT_NE(s.give(child, f).action, Action::drop) << value;
  }
}

TEST(Classify, ChecksumIsIgnoredWhereThePortDoesNotVerify) {
  TestSwitch s;
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({}), "");
  ASSERT_EQ(builder.add_port({.verify_checksum = false, .nid = {}, .vnis = {}}), "");
  ASSERT_EQ(builder.add_tree(tree, 2, PortNumber{0}, PortSet{0b10}), "");
  s.adopt(std::move(builder));
  Frame f(contribution(1));
  f.set(wire::portals_offset::checksum, 0x12);
  EXPECT_FALSE(wire::fabric_header_checksum_ok(f.portals()));
  expect_forwarded(s.give(PortNumber{1}, f), PortNumber{0}, Event::passed_not_armed);
}

TEST(Classify, MulticastActionOtherThanSevenAndSixIsBadAction) {
  for (unsigned action = 0; action < 6; ++action) {
    Frame f(contribution(1));
    f.set(wire::portals_offset::dfa + 3,
          (std::to_integer<unsigned>(f.portals()[wire::portals_offset::dfa + 3]) & ~7U) | action);
    f.fix_checksum();
    expect_refused(f, DropReason::bad_action);
  }
}

TEST(Classify, ReservedAddressBitsAreIgnored) {
  TestSwitch s;
  Frame f(contribution(1));
  const std::uint32_t dfa = wire::dfa_of(f.portals()).value | 3U << 16 | 3U << 21;
  wire::store_be<std::uint32_t>(f.portals() + wire::portals_offset::dfa, dfa);
  f.fix_checksum();
  expect_forwarded(s.give(child, f), parent, Event::passed_not_armed);
}

TEST(Classify, ReductionTreeWantsTotalLength80) {
  for (const std::uint16_t total :
       std::initializer_list<std::uint16_t>{0, 19, 20, 36, 79, 81, 1500}) {
    Frame f(contribution(1));
    f.resize(2000);
    wire::store_be<std::uint16_t>(f.portals() + wire::portals_offset::total_length, total);
    f.fix_checksum();
    expect_refused(f, DropReason::bad_length);
  }
}

TEST(Classify, ReductionOfFewerThan94BytesIsTruncated) {
  for (std::size_t length = 34; length < 94; ++length) {
    Frame f(contribution(1));
    f.resize(length);
    expect_refused(f, DropReason::truncated);
  }
}

TEST(Classify, BytesPastThe94thAreIgnored) {
  TestSwitch s;
  Frame f(contribution(1));
  f.resize(1514);
  f.bytes()[94] = std::byte{0xFF};
  expect_forwarded(s.give(child, f), parent, Event::passed_not_armed);
}

TEST(Classify, ReductionTreeWantsRequestLength49) {
  for (const unsigned length : {0U, 48U, 50U, 0xFFFU, 0x131U}) {
    Frame f(contribution(1));
    wire::store_be<std::uint16_t>(f.portals() + wire::portals_offset::request_length,
                                  static_cast<std::uint16_t>(length));
    expect_refused(f, DropReason::bad_request);
  }
}

TEST(Classify, FlagBitsBesideTheRequestLengthAndAnyOpcodeByteAreAccepted) {
  TestSwitch s;
  Frame f(contribution(1));
  f.set(wire::portals_offset::request_length, 0xF0);
  f.set(wire::portals_offset::command, 0x00);
  expect_forwarded(s.give(child, f), parent, Event::passed_not_armed);
}

TEST(Classify, UnknownTree) {
  auto c = contribution(1);
  c.tree = TreeNumber{8191};
  expect_refused(Frame(c), DropReason::unknown_tree);
}

TEST(Classify, PortThatIsNeitherParentNorChildIsNotOnTree) {
  expect_refused(Frame(contribution(1)), DropReason::not_on_tree, stranger);
  expect_refused(Frame(arm(1)), DropReason::not_on_tree, stranger);
  expect_refused(multicast_frame(ordinary_tree, 200), DropReason::not_on_tree, stranger);
}

TEST(Multicast, OrdinaryTreeReplicatesAnyPortalsFrameFromTheParent) {
  TestSwitch s;
  for (const std::size_t length : {20U, 35U, 79U, 80U, 81U, 1500U}) {
    Frame f = multicast_frame(ordinary_tree, length);
    const Frame before = f;
    expect_replicated(s.give(parent, f), children, Event::multicast);
    EXPECT_EQ(f, before);
  }
  auto like_a_reduction = arm(1);
  like_a_reduction.tree = ordinary_tree;
  expect_replicated(s.give(parent, like_a_reduction), children, Event::multicast);
  EXPECT_TRUE(s.descriptors().empty());
}

TEST(Multicast, OrdinaryTreeFromAChildIsDropped) {
  expect_refused(multicast_frame(ordinary_tree, 200), DropReason::not_from_parent);
  auto like_a_reduction = contribution(1);
  like_a_reduction.tree = ordinary_tree;
  expect_refused(Frame(like_a_reduction), DropReason::not_from_parent);
}

TEST(Multicast, OrdinaryTreeWantsAPacketThatIsWhole) {
  Frame longer = multicast_frame(ordinary_tree, 200);
  longer.resize(longer.bytes().size() - 1);
  expect_refused(longer, DropReason::bad_length, parent);
  Frame shorter = multicast_frame(ordinary_tree, 200);
  wire::store_be<std::uint16_t>(shorter.portals() + wire::portals_offset::total_length, 19);
  shorter.fix_checksum();
  expect_refused(shorter, DropReason::bad_length, parent);
}

TEST(Unicast, FollowsItsRouteUnchanged) {
  TestSwitch s;
  for (const std::size_t length : {20U, 80U, 1500U}) {
    Frame f = unicast_frame(routed_nid, length);
    const Frame before = f;
    expect_forwarded(s.give(child, f), routed, Event::unicast);
    EXPECT_EQ(f, before);
  }
}

TEST(Unicast, PaddingBehindThePacketIsNotLookedAt) {
  TestSwitch s;
  Frame f = unicast_frame(routed_nid, 27);
  f.resize(60);
  expect_forwarded(s.give(child, f), routed, Event::unicast);
}

TEST(Unicast, TotalLengthBeyondTheFrameOrShorterThanTheHeaderIsBadLength) {
  Frame longer = unicast_frame(routed_nid, 200);
  longer.resize(longer.bytes().size() - 1);
  expect_refused(longer, DropReason::bad_length);
  Frame shorter = unicast_frame(routed_nid, 20);
  wire::store_be<std::uint16_t>(shorter.portals() + wire::portals_offset::total_length, 19);
  shorter.fix_checksum();
  expect_refused(shorter, DropReason::bad_length);
}

TEST(Unicast, WithoutARouteIsDropped) {
  expect_refused(unicast_frame(Nid{0x00778}, 80), DropReason::no_route);
}

TEST(Unicast, RouteBackOutOfTheIngressPortIsDropped) {
  expect_refused(unicast_frame(routed_nid, 80), DropReason::route_to_ingress, routed);
}

/// A switch whose port 1 is an edge port of NID 0x12345 that may use VNI 0x400 alone.
TestSwitch guarded_switch() {
  auto vnis = std::make_shared<VniSet>();
  vnis->set(vni.value);
  TestSwitch s;
  TablesBuilder builder;
  EXPECT_EQ(builder.add_port({}), "");
  EXPECT_EQ(builder.add_port({.nid = Nid{0x12345}, .vnis = vnis}), "");
  EXPECT_EQ(builder.add_tree(tree, 2, PortNumber{0}, PortSet{0b10}), "");
  EXPECT_EQ(builder.add_tree(ordinary_tree, 0, PortNumber{1}, PortSet{0b1}), "");
  EXPECT_EQ(builder.add_route(routed_nid, PortNumber{0}), "");
  s.adopt(std::move(builder));
  return s;
}

TEST(EdgePort, ItsOwnSourceAndPermittedVniMayEnter) {
  TestSwitch s = guarded_switch();
  expect_forwarded(s.give(child, contribution(1)), parent, Event::passed_not_armed);
  expect_forwarded(s.give(child, unicast_frame(routed_nid, 50)), parent, Event::unicast);
}

TEST(EdgePort, EndpointBitsOfTheSourceAreNotTheGuardsBusiness) {
  TestSwitch s = guarded_switch();
  Frame f(contribution(1));
  wire::store_be<std::uint32_t>(f.portals() + wire::portals_offset::sfa,
                                wire::FabricAddress::unicast(Nid{0x12345}, 0xFFF).value);
  f.fix_checksum();
  expect_forwarded(s.give(child, f), parent, Event::passed_not_armed);
}

TEST(EdgePort, AnotherSourceIsStoppedInEveryKindOfFrame) {
  const auto forged = [](Frame f) {
    wire::store_be<std::uint32_t>(f.portals() + wire::portals_offset::sfa,
                                  wire::FabricAddress::unicast(Nid{0x12344}).value);
    f.fix_checksum();
    return f;
  };
  for (const Frame& f : {Frame(contribution(1)), unicast_frame(routed_nid, 50),
                         multicast_frame(ordinary_tree, 50)}) {
    TestSwitch s = guarded_switch();
    expect_dropped(s, s.give(child, forged(f)), child, DropReason::source_guard);
  }
}

TEST(EdgePort, AnotherVniIsStoppedInEveryKindOfFrame) {
  const auto with_vni = [](Frame f, std::uint16_t value) {
    wire::store_be<std::uint16_t>(f.portals() + wire::portals_offset::vni, value);
    f.fix_checksum();
    return f;
  };
  for (const std::uint16_t value :
       std::initializer_list<std::uint16_t>{0x0000, 0x0004, 0x0401, 0xFFFF}) {
    for (const Frame& f : {Frame(contribution(1)), unicast_frame(routed_nid, 50),
                           multicast_frame(ordinary_tree, 50)}) {
      TestSwitch s = guarded_switch();
      expect_dropped(s, s.give(child, with_vni(f, value)), child, DropReason::vni_not_permitted);
    }
  }
}

TEST(EdgePort, OtherPortsTakeAnySourceAndVni) {
  TestSwitch s = guarded_switch();
  auto a = arm(1);
  a.vni = Vni{0x999};
  expect_replicated(s.give(parent, a), PortSet{0b10}, Event::armed);
}

TEST(EdgePort, AnEmptyPermissionListPermitsNothing) {
  TestSwitch s;
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({.nid = {}, .vnis = std::make_shared<VniSet>()}), "");
  s.adopt(std::move(builder));
  expect_dropped(s, s.give(PortNumber{0}, contribution(1)), PortNumber{0},
                 DropReason::vni_not_permitted);
}

} // namespace
} // namespace tributary::core::test
