// Every endpoint counts once: what the engine knows about the endpoints below a child port (engine
// page, "One endpoint behind a port").

#include "tests/unit/dataplane/core/wide_frames.hpp"

#include <fmt/format.h>

#include <string>

namespace tributary::core::test {
namespace {

constexpr TreeNumber leaf_tree{0xABD};  ///< three child ports, three endpoints
constexpr TreeNumber mixed_tree{0xABE}; ///< two hosts and a switch with three
constexpr PortNumber uplink = third_child;
constexpr Nid first_host{11};
constexpr Nid second_host{12};

/// Ports 1 and 2 guarded, 3 to a switch.
TablesBuilder tables_with_guards() {
  TablesBuilder b;
  for (std::size_t i = 0; i < port_count; ++i) {
    PortPolicy policy;
    if (i == child.value) {
      policy.nid = first_host;
    } else if (i == other_child.value) {
      policy.nid = second_host;
    }
    EXPECT_EQ(b.add_port(policy), "");
  }
  EXPECT_EQ(b.add_tree(mixed_tree, 5, parent, PortSet{0b01110}), "");
  return b;
}
/// No port is guarded.
TablesBuilder tables_without_guards() {
  TablesBuilder b;
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(b.add_port({}), "");
  }
  EXPECT_EQ(b.add_tree(leaf_tree, 3, parent, PortSet{0b01110}), "");
  return b;
}

wire::ReductionFrame on(TreeNumber t, wire::ReductionFrame frame) {
  frame.tree = t;
  return frame;
}
wire::ReductionFrame from_first(std::uint32_t sequence) {
  return on(mixed_tree, contribution(sequence, first_host));
}
wire::ReductionFrame from_second(std::uint32_t sequence) {
  return on(mixed_tree, contribution(sequence, second_host));
}

TEST(CountedOnce, ASecondContributionOfAnEndpointIsDroppedAndChangesNothing) {
  TestSwitch s;
  s.adopt(tables_without_guards());
  s.give(parent, on(leaf_tree, arm(7)));
  auto c = on(leaf_tree, contribution(7));
  c.signature = 5;
  expect_absorbed(s.give(child, c));
  expect_dropped(s, s.give(child, c), child, DropReason::counted_twice);
  // Neither as the same operator nor as another one.
  c.word.op = static_cast<std::uint8_t>(wire::Opcode::int_max);
  EXPECT_EQ(s.give(child, c).reason, DropReason::counted_twice);
  EXPECT_EQ(s.engine().op_mismatches.read(), 0U);
  ASSERT_EQ(s.descriptors().size(), 1U);
  EXPECT_EQ(s.descriptors()[0].count, 1U);
  EXPECT_EQ(s.descriptors()[0].signature, 5U);
  EXPECT_EQ(s.engine().contributions.read(), 1U);
  expect_absorbed(s.give(other_child, on(leaf_tree, contribution(7))));
  Frame last(on(leaf_tree, contribution(7)));
  expect_emitted(s.give(third_child, last), parent);
  EXPECT_EQ(last.decoded().word.count, 3U);
  EXPECT_EQ(last.decoded().payload[0], 3U);
}

TEST(CountedOnce, AMemberCannotStandInForAnother) {
  // Its frame counts two and carries both signatures, so that the sum would be right.
  for (const bool guarded : {false, true}) {
    TestSwitch s;
    s.adopt(guarded ? tables_with_guards() : tables_without_guards());
    const TreeNumber t = guarded ? mixed_tree : leaf_tree;
    s.give(parent, on(t, arm(7)));
    auto greedy = on(t, contribution(7, first_host));
    greedy.word.count = 2;
    greedy.signature = 11 + 12;
    expect_dropped(s, s.give(child, greedy), child, DropReason::counts_others);
    EXPECT_EQ(s.descriptors()[0].count, 0U);
    // Nor beside data held already.
    expect_absorbed(s.give(other_child, on(t, contribution(7, second_host))));
    EXPECT_EQ(s.give(child, greedy).reason, DropReason::counts_others);
    EXPECT_EQ(s.descriptors()[0].count, 1U);
    expect_absorbed(s.give(child, on(t, contribution(7, first_host))));
  }
}

TEST(CountedOnce, WhatIsNotArmedPassesOnceAndCountsOne) {
  TestSwitch s;
  s.adopt(tables_with_guards());
  auto greedy = from_first(7);
  greedy.word.count = 2;
  EXPECT_EQ(s.give(child, greedy).reason, DropReason::counts_others);
  expect_forwarded(s.give(child, from_first(7)), parent, Event::passed_not_armed);
  EXPECT_EQ(s.give(child, from_first(7)).reason, DropReason::counted_twice);
  expect_forwarded(s.give(other_child, from_second(7)), parent, Event::passed_not_armed);
  EXPECT_EQ(s.of(mixed_tree).passed_through.read(), 2U);
}

TEST(CountedOnce, OnlyWhatTheParentHasOpenedPasses) {
  for (const bool is_armed : {false, true}) {
    TestSwitch s;
    s.adopt(tables_with_guards());
    auto open = on(mixed_tree, arm(7));
    open.word.arm = is_armed;
    s.give(parent, open);
    for (const std::uint32_t newer : {8U, 400U}) {
      EXPECT_EQ(s.give(child, from_first(newer)).reason, DropReason::not_opened);
    }
    EXPECT_EQ(s.give(child, from_first(6)).reason, DropReason::stale_sequence);
    EXPECT_EQ(s.of(mixed_tree).stale.read(), 1U);
    EXPECT_EQ(s.give(child, from_first(7)).action, is_armed ? Action::absorb : Action::forward);
    // A notice opens nothing.
    s.give(parent, on(mixed_tree, disarm(pre_arm_sequence.value())));
    EXPECT_EQ(s.give(child, from_first(7)).reason, DropReason::counted_twice);
    expect_forwarded(s.give(other_child, from_second(7)), parent, Event::passed_not_armed);
    // Another group has no open sequence.
    auto other_group = from_first(7);
    other_group.cookie = Cookie{1};
    EXPECT_EQ(s.give(child, other_group).reason, DropReason::not_opened);
    s.give(parent, on(mixed_tree, disarm(9)));
    expect_forwarded(s.give(child, from_first(9)), parent, Event::passed_not_armed);
    EXPECT_EQ(s.drops(child, DropReason::not_opened), 3U);
  }
}

TEST(CountedOnce, AnArmThatFailedOpensItsSequence) {
  SwitchSettings settings;
  settings.descriptors_per_engine = 0;
  TestSwitch s(settings);
  s.adopt(tables_with_guards());
  for (const std::uint32_t sequence : {7U, 8U}) {
    EXPECT_EQ(s.give(parent, on(mixed_tree, arm(sequence))).event, Event::arm_failed);
    expect_forwarded(s.give(child, from_first(sequence)), parent, Event::passed_not_armed);
    EXPECT_EQ(s.give(child, from_first(sequence)).reason, DropReason::counted_twice);
  }
}

TEST(CountedOnce, WhatPassedBeforeItsArmCameIsNotCountedAgain) {
  // A switch above may have been armed by then, and have counted it.
  TestSwitch s;
  s.adopt(tables_with_guards());
  expect_forwarded(s.give(child, from_first(7)), parent, Event::passed_not_armed);
  s.give(parent, on(mixed_tree, arm(7)));
  EXPECT_EQ(s.give(child, from_first(7)).reason, DropReason::counted_twice);
  expect_absorbed(s.give(other_child, from_second(7)));
}

TEST(CountedOnce, WhatAnEngineHasCountedDoesNotPassWhenItIsOver) {
  // Absorbed, then emitted in full, by the timer, or released by a disarm: an engine above must not
  // count the copy that follows. One that was not counted passes, once.
  enum class End { full, timer, disarm };
  for (const End end : {End::full, End::timer, End::disarm}) {
    TestSwitch s;
    s.adopt(tables_with_guards());
    s.give(parent, on(mixed_tree, arm(7)));
    expect_absorbed(s.give(child, from_first(7)));
    auto sum = on(mixed_tree, contribution(7));
    sum.word.count = 4;
    switch (end) {
    case End::full: expect_emitted(s.give(uplink, sum), parent); break;
    case End::timer: s.pass(30'000'000'000); break;
    case End::disarm: {
      auto disarm = on(mixed_tree, arm(8));
      disarm.word.arm = false;
      expect_replicated(s.give(parent, disarm), PortSet{0b01110}, Event::disarmed);
    }
    }
    const bool is_open = end != End::disarm; // else the next one is
    const DropReason reason = is_open ? DropReason::counted_twice : DropReason::stale_sequence;
    EXPECT_EQ(s.give(child, from_first(7)).reason, reason);
    EXPECT_EQ(s.give(other_child, from_second(7)).action, is_open ? Action::forward : Action::drop);
    EXPECT_EQ(s.give(other_child, from_second(7)).reason, reason);
  }
}

TEST(CountedOnce, ARetryBeginsAgain) {
  TestSwitch s;
  s.adopt(tables_with_guards());
  for (const std::uint32_t sequence : {7U, 8U, 9U}) {
    s.give(parent, on(mixed_tree, arm(sequence)));
    expect_absorbed(s.give(child, from_first(sequence)));
    expect_absorbed(s.give(other_child, from_second(sequence)));
  }
  EXPECT_EQ(s.engine().discarded.read(), 4U);
  // Also one that opens the same sequence again, whether the reduction is in progress or over.
  s.give(parent, on(mixed_tree, arm(9)));
  expect_absorbed(s.give(child, from_first(9)));
  auto rest = on(mixed_tree, contribution(9));
  rest.word.count = 4;
  expect_emitted(s.give(uplink, rest), parent);
  s.give(parent, on(mixed_tree, arm(9)));
  expect_absorbed(s.give(child, from_first(9)));
  EXPECT_EQ(s.all_drops(), 0U);
}

TEST(CountedOnce, AnUnarmedQuestionThatComesTwiceCountsNobodyTwice) {
  TestSwitch s;
  s.adopt(tables_with_guards());
  for (int i = 0; i < 2; ++i) {
    s.give(parent, on(mixed_tree, disarm(7)));
    EXPECT_EQ(s.give(child, from_first(7)).action, i == 0 ? Action::forward : Action::drop);
  }
  EXPECT_EQ(s.drops(child, DropReason::counted_twice), 1U);
}

TEST(CountedOnce, ATreeThatChangedBeginsAgain) {
  TestSwitch s;
  s.adopt(tables_without_guards());
  expect_forwarded(s.give(child, on(leaf_tree, contribution(7))), parent, Event::passed_not_armed);
  TablesBuilder changed = tables_with_guards();
  EXPECT_EQ(changed.add_tree(leaf_tree, 4, parent, PortSet{0b10010}), "");
  s.adopt(std::move(changed));
  expect_forwarded(s.give(child, on(leaf_tree, contribution(7, first_host))), parent,
                   Event::passed_not_armed);
}

/// As `tables_with_guards`, with the guards taken off.
TablesBuilder tables_with_guards_off() {
  TablesBuilder b = tables_with_guards();
  b.set_guard(child, std::nullopt);
  b.set_guard(other_child, std::nullopt);
  return b;
}

TEST(CountedOnce, AGuardThatIsSetMeanwhileCountsFromThenOn) {
  TestSwitch s;
  s.adopt(tables_with_guards_off());
  s.give(parent, on(mixed_tree, arm(7)));
  expect_absorbed(s.give(child, from_first(7)));
  s.adopt(tables_with_guards());
  expect_absorbed(s.give(child, from_first(7)));
  EXPECT_EQ(s.give(child, from_first(7)).reason, DropReason::counted_twice);
  expect_absorbed(s.give(other_child, from_second(7)));
  EXPECT_EQ(s.give(other_child, from_second(7)).reason, DropReason::counted_twice);
  EXPECT_EQ(s.descriptors()[0].count, 3U);
}

TEST(CountedOnce, WhatWasCountedBeforeTheGuardsWereTakenOffIsForgotten) {
  TestSwitch s;
  s.adopt(tables_with_guards());
  expect_forwarded(s.give(child, from_first(7)), parent, Event::passed_not_armed);
  s.adopt(tables_with_guards_off());
  s.adopt(tables_with_guards());
  // By now it may be another reduction: sequences wrap.
  expect_forwarded(s.give(child, from_first(7)), parent, Event::passed_not_armed);
}

TEST(CountedOnce, APortWithASwitchBehindItSendsAsOftenAndAsMuchAsItLikes) {
  // A switch whose engine is not armed, or has timed out, sends several frames up.
  TestSwitch s;
  s.adopt(tables_with_guards());
  s.give(parent, on(mixed_tree, arm(7)));
  auto two = on(mixed_tree, contribution(7));
  two.word.count = 2;
  expect_absorbed(s.give(uplink, two));
  expect_absorbed(s.give(child, from_first(7)));
  expect_absorbed(s.give(uplink, on(mixed_tree, contribution(7))));
  expect_emitted(s.give(other_child, from_second(7)), parent);
  expect_forwarded(s.give(uplink, two), parent, Event::passed_late);
  expect_forwarded(s.give(uplink, two), parent, Event::passed_late);
  EXPECT_EQ(s.all_drops(), 0U);
}

TEST(CountedOnce, ReductionsOfATreeAreCountedApart) {
  TestSwitch s;
  s.adopt(tables_with_guards());
  for (std::uint8_t id = 0; id < reductions_per_tree; ++id) {
    auto a = on(mixed_tree, arm(7));
    a.reduction = ReductionId{id};
    s.give(parent, a);
    auto c = from_first(7);
    c.reduction = ReductionId{id};
    expect_absorbed(s.give(child, c));
  }
  EXPECT_EQ(s.all_drops(), 0U);
}

TEST(CountedOnce, AReservedOpcodeIsNoContribution) {
  TestSwitch s;
  s.adopt(tables_with_guards());
  for (const bool armed : {false, true}) {
    const std::uint32_t sequence = armed ? 8 : 7;
    auto reserved = from_first(sequence);
    reserved.word.op = 0x04;
    if (armed) {
      s.give(parent, on(mixed_tree, arm(sequence)));
    }
    expect_forwarded(s.give(child, reserved), parent,
                     armed ? Event::passed_reserved : Event::passed_not_armed);
    EXPECT_EQ(s.give(child, from_first(sequence)).action, armed ? Action::absorb : Action::forward);
    EXPECT_EQ(s.give(child, reserved).action, Action::forward);
  }
  EXPECT_EQ(s.all_drops(), 0U);
}

TEST(CountedOnce, ABurstIsCountedLikeItsFramesOneByOne) {
  TestSwitch s;
  s.adopt(tables_with_guards());
  s.give(parent, on(mixed_tree, arm(7)));
  expect_absorbed(s.give(other_child, from_second(7)));
  std::vector<Frame> frames(3, Frame(from_first(7)));
  std::vector<FrameView> views;
  for (Frame& f : frames) {
    views.push_back(f.view());
  }
  std::vector<Decision> decisions(views.size());
  s.core.process_burst(child, views, s.now, decisions);
  expect_absorbed(decisions[0]);
  EXPECT_EQ(decisions[1].reason, DropReason::counted_twice);
  EXPECT_EQ(decisions[2].reason, DropReason::counted_twice);
  EXPECT_EQ(s.descriptors()[0].count, 2U);
}

/// The most that one host can have counted above, whatever it sends under one sequence: its frames
/// to the parent, and the engine's share of it.
struct Counted {
  std::size_t passed = 0;
  ContributionCount held = 0;
  [[nodiscard]] std::size_t all() const { return passed + held; }
};

/// Counts the frames that pass a switch with no open sequence, one opened without its engine, or an
/// armed one, when the first host repeats its frame, with others in between.
class Repeater {
public:
  enum class Opened { never, unarmed, armed, armed_elsewhere };
  static constexpr Opened all[] = {Opened::never, Opened::unarmed, Opened::armed,
                                   Opened::armed_elsewhere};

  Repeater(TestSwitch& s, TreeNumber tree, Opened opened, ReductionId id = ReductionId{0})
      : s_(s), id_(id) {
    auto open = on(tree, arm(opened == Opened::armed_elsewhere ? 5 : 7));
    open.reduction = id;
    open.word.arm = opened != Opened::unarmed;
    if (opened != Opened::never) {
      s_.give(parent, open);
    }
  }
  void send(Frame frame, bool counts = true) {
    const Decision d = s_.give(child, frame);
    EXPECT_NE(d.action, Action::emit);
    counted_.passed += counts && d.action == Action::forward ? 1 : 0;
  }
  [[nodiscard]] Counted counted() {
    for (const DescriptorView& d : s_.descriptors()) {
      counted_.held += d.key.reduction() == id_ ? d.count : 0;
    }
    return counted_;
  }

private:
  TestSwitch& s_;
  ReductionId id_;
  Counted counted_;
};

TEST(CountedOnce, NoSequenceOfSequencesBringsAnEndpointPastTwice) {
  for (const Repeater::Opened opened : Repeater::all) {
    TestSwitch s;
    s.adopt(tables_with_guards());
    Repeater repeater(s, mixed_tree, opened);
    for (const std::uint32_t between : {8U, 6U, 400U, 600U, 1000U, 9U, 1021U}) {
      repeater.send(Frame(from_first(7)));
      repeater.send(Frame(from_first(between)), false);
      auto other_group = from_first(between);
      other_group.cookie = Cookie{1};
      repeater.send(Frame(other_group), false);
      // The root uses the other number.
      auto disguised = from_first(between);
      disguised.word.resno = SequenceNumber{7};
      repeater.send(Frame(disguised));
    }
    EXPECT_LE(repeater.counted().all(), 1U) << "opened " << static_cast<int>(opened);
  }
}

/// Trees with the guarded ports' two hosts and a switch, of every kind of slots.
std::vector<SlotDemand> all_demands() {
  std::vector<SlotDemand> demands = {{}};
  for (const std::uint32_t payload : {64U, 1408U}) {
    for (const bool half_floats : {false, true}) {
      for (const bool in_switch : {false, true}) {
        demands.push_back({in_switch ? 32U : 8U, payload, half_floats, in_switch});
      }
    }
  }
  return demands;
}

TEST(CountedOnce, HoldsForEveryOperatorElementLengthAndTree) {
  constexpr TreeNumber slot_tree{0xABF};
  std::size_t tried = 0;
  TestSwitch s;
  for (const SlotDemand& demand : all_demands()) {
    for (const Repeater::Opened opened : Repeater::all) {
      std::uint8_t used = 0; // ids; of a new one nothing is known
      const auto next_id = [&] {
        if (used % demand.slots == 0) {
          s.adopt(tables_with_guards());
          TablesBuilder tables = tables_with_guards();
          EXPECT_EQ(tables.add_tree(slot_tree, 6, parent, PortSet{0b01110}, demand), "");
          s.adopt(std::move(tables));
        }
        return ReductionId{static_cast<std::uint8_t>(used++ % demand.slots)};
      };
      const auto send_often = [&](const Frame& frame, ReductionId id, const std::string& what) {
        Repeater repeater(s, slot_tree, opened, id);
        for (int i = 0; i < 3; ++i) {
          repeater.send(frame);
        }
        EXPECT_LE(repeater.counted().all(), 1U)
            << what << " on a tree of " << demand.payload_bytes << " bytes, "
            << (demand.half_floats ? "with" : "without") << " float16, opened "
            << static_cast<int>(opened);
        ++tried;
      };
      for (const wire::Opcode op : wire::all_opcodes) {
        auto words = on(slot_tree, contribution(7, first_host));
        words.word.op = static_cast<std::uint8_t>(op);
        words.reduction = next_id();
        send_often(Frame(words), words.reduction, std::string(wire::name_of(op)));
        for (const wire::Form form : wire::wide_forms) {
          for (const std::size_t bytes : {40U, 64U, 704U, 712U, 1408U}) {
            if (!wire::carries(form, op) || bytes > demand.payload_bytes) {
              continue;
            }
            auto wide = wide_contribution(7, first_host, next_id());
            wide.tree = slot_tree;
            wide.form = form;
            wide.word.op = static_cast<std::uint8_t>(op);
            wide.payload_bytes = bytes;
            send_often(
                wide_frame(wide), wide.slot,
                fmt::format("{} of {} in {} bytes", wire::name_of(op), wire::name_of(form), bytes));
          }
        }
      }
    }
  }
  EXPECT_GT(tried, 1000U);
}

} // namespace
} // namespace tributary::core::test
