// A burst is the same as its frames one by one, and `explain` predicts each of them. All three run
// the code of decide.hpp, so their agreement shows that none changes what another one needs; the
// other tests and the model check correctness.

#include "dataplane/core/explain.hpp"
#include "dataplane/core/tracing.hpp"
#include "dataplane/placement/frame_owner.hpp"
#include "tests/unit/dataplane/core/alike.hpp"
#include "tests/unit/dataplane/core/random_frames.hpp"
#include "tests/unit/dataplane/core/wide_frames.hpp"

#include <algorithm>
#include <bit>

namespace tributary::core::test {
namespace {

ReductionKey key_of(Frame& frame) {
  const wire::FabricAddress dfa = wire::dfa_of(frame.portals());
  return {dfa.tree(), dfa.reduction()};
}

TEST(ProcessBurst, IsTheSameAsFramesOneByOne) {
  RandomFrames random(seed());
  TestSwitch burst(random_test_settings());
  TestSwitch single(random_test_settings());
  burst.adopt(random_test_tables(burst.core.settings().timers));
  single.adopt(random_test_tables(single.core.settings().timers));
  std::array<std::uint64_t, 32> seen{};
  for (int round = 0; round < 3000; ++round) {
    const std::size_t length = random.below(100);
    const PortNumber in = random.port();
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < length; ++i) {
      frames.push_back(random.frame());
    }
    std::vector<Frame> copies = frames;
    std::vector<FrameView> views;
    for (Frame& f : frames) {
      views.push_back(f.view());
    }
    std::vector<Decision> decisions(length);
    const BurstOutcome outcome = burst.core.process_burst(in, views, burst.now, decisions);
    ASSERT_NO_FATAL_FAILURE(expect_outcome(outcome, decisions));
    for (std::size_t i = 0; i < length; ++i) {
      const Decision d = single.give(in, copies[i]);
      ASSERT_NO_FATAL_FAILURE(expect_equal(decisions[i], d));
      ASSERT_EQ(frames[i], copies[i]);
      ++seen[static_cast<std::size_t>(d.event)];
    }
    const std::uint64_t step = random.below(random.one_in(8) ? 300'000 : 30'000);
    burst.pass(step);
    single.pass(step);
    ASSERT_EQ(burst.emitted.size(), single.emitted.size());
    ASSERT_EQ(all_descriptors(burst), all_descriptors(single));
  }
  EXPECT_EQ(all_counters(burst.core), all_counters(single.core));
  // The frames cover all events.
  for (std::size_t e = 0; e < static_cast<std::size_t>(Event::emitted_partial); ++e) {
    EXPECT_GT(seen[e], 0U) << name_of(static_cast<Event>(e));
  }
  EXPECT_GT(burst.emitted.size(), 0U);
}

/// Ports 1 to 4 cover each kind that classification distinguishes: with a guard, with a list of
/// VNIs, without checksums, and for short frames only. NIDs 0 to 5 are at the ports, 6 nowhere.
TablesBuilder tables_of_all_policies(const EngineTimers& timers) {
  TablesBuilder b(timers);
  auto vnis = std::make_shared<VniSet>();
  vnis->set(0x400);
  const std::array<PortPolicy, 6> policies = {PortPolicy{},
                                              {.nid = Nid{1}, .vnis = {}},
                                              {.nid = {}, .vnis = std::move(vnis)},
                                              {.verify_checksum = false, .nid = {}, .vnis = {}},
                                              {.nid = {}, .vnis = {}, .longest_frame = 100},
                                              {}};
  for (const PortPolicy& policy : policies) {
    EXPECT_EQ(b.add_port(policy), "");
  }
  for (std::uint8_t port = 0; port < policies.size(); ++port) {
    EXPECT_EQ(b.add_route(Nid{port}, PortNumber{port}), "");
  }
  EXPECT_EQ(b.add_tree(TreeNumber{0}, 3, PortNumber{0}, PortSet{0b00110}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{1}, 9, PortNumber{0}, PortSet{0b11110}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{2}, 7, PortNumber{3}, PortSet{0b00111}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{3}, 4, PortNumber{0}, PortSet{0b11110}), "");
  return b;
}

Frame random_unicast(RandomFrames& random) {
  Frame f(random.reduction());
  wire::store_be<std::uint32_t>(
      f.portals() + wire::portals_offset::dfa,
      wire::FabricAddress::unicast(Nid{static_cast<std::uint32_t>(random.below(7))},
                                   static_cast<std::uint16_t>(random.below(0x1000)))
          .value);
  f.fix_checksum();
  if (random.one_in(8)) {
    f.bytes()[12 + random.below(22)] ^= static_cast<std::byte>(1U << random.below(8));
    if (!random.one_in(3)) {
      f.fix_checksum();
    }
  }
  if (random.one_in(10)) {
    f.resize(random.below(120));
  }
  return f;
}

/// In bursts of mostly unicast, and of mostly reductions, the fast paths of both are taken, left
/// and taken again; a single frame takes the slow path.
TEST(ProcessBurst, RunsOfOneKindAreTheSameAsFramesOneByOne) {
  RandomFrames random(seed() + 2);
  TestSwitch burst(random_test_settings());
  TestSwitch single(random_test_settings());
  burst.adopt(tables_of_all_policies(burst.core.settings().timers));
  single.adopt(tables_of_all_policies(single.core.settings().timers));
  std::size_t on_their_way = 0;
  std::size_t contributed = 0;
  for (int round = 0; round < 3000; ++round) {
    const PortNumber in = random.port();
    const PortNumber changed = random.port();
    const bool up = !random.one_in(4);
    burst.core.port_changed(changed, up);
    single.core.port_changed(changed, up);
    const bool mostly_unicast = random.one_in(2);
    std::vector<Frame> frames;
    for (std::size_t i = random.below(70); i != 0; --i) {
      frames.push_back(random.one_in(15) == mostly_unicast ? random.frame()
                                                           : random_unicast(random));
    }
    const auto count = [&](const Decision& d) {
      on_their_way += goes_its_way(d.action, d.event) ? 1 : 0;
      contributed += d.event == Event::contributed ? 1 : 0;
    };
    ASSERT_NO_FATAL_FAILURE(
        expect_decided_alike(burst, single, in, std::move(frames), random, count));
  }
  EXPECT_EQ(all_counters(burst.core), all_counters(single.core));
  EXPECT_GT(on_their_way, 10'000U);
  EXPECT_GT(contributed, 100U);
}

/// Each frame by its bytes alone (frame_owner.hpp), whatever frames are around it.
TEST(ProcessBurst, WhatIsAnotherWorkersIsHandedOverAndChangesNothing) {
  constexpr std::uint8_t self = 1;
  RandomFrames random(seed() + 6);
  TestSwitch burst(random_test_settings());
  TestSwitch single(random_test_settings());
  placement::Owners owners{.trees = placement::Placement(3), .self = self};
  for (std::uint8_t port = 0; port < max_ports; ++port) {
    owners.ports[port] = port % 3;
  }
  for (TestSwitch* s : {&burst, &single}) {
    s->adopt(tables_of_all_policies(s->core.settings().timers));
    s->core.owners() = owners;
  }
  std::size_t handed_over = 0;
  std::size_t contributed = 0;
  for (int round = 0; round < 3000; ++round) {
    const PortNumber in = random.port();
    std::vector<Frame> frames;
    for (std::size_t i = random.below(70); i != 0; --i) {
      frames.push_back(random.one_in(15) ? random_unicast(random) : random.frame());
    }
    std::size_t i = 0;
    ASSERT_NO_FATAL_FAILURE(
        expect_decided_alike(burst, single, in, frames, random, [&](const Decision& d) {
          const FrameView frame = frames[i++].view();
          const std::size_t owner = placement::worker_of(frame.data, frame.length, owners.trees,
                                                         self, owners.ports[in.value]);
          if (d.action == Action::hand_over) {
            ++handed_over;
            ASSERT_NE(owner, self);
            ASSERT_EQ(d.port.value, owner);
          } else if (d.action != Action::drop) {
            ASSERT_EQ(owner, self);
          }
          contributed += d.event == Event::contributed ? 1 : 0;
        }));
  }
  EXPECT_EQ(all_counters(burst.core), all_counters(single.core));
  EXPECT_GT(handed_over, 10'000U);
  EXPECT_GT(contributed, 100U);
  for (std::uint16_t t = 0; t < 4; ++t) {
    for (std::uint8_t id = 0; id < reductions_per_tree; ++id) {
      const ReductionKey key(TreeNumber{t}, ReductionId{id});
      EXPECT_TRUE(owners.has(TreeNumber{t}) || !burst.core.engines().descriptor(key).match.armed())
          << "tree " << t;
    }
  }
}

/// Frames to one of the trees 4 to 7, mostly alike; some are damaged, or shorter than they say.
std::vector<Frame> frames_to_copy(RandomFrames& random, TreeNumber tree) {
  std::vector<Frame> frames;
  wire::ReductionFrame like;
  std::size_t length = 0;
  for (std::size_t i = random.below(70); i != 0; --i) {
    if (length == 0 || random.one_in(12)) {
      like = random.reduction();
      like.tree = tree;
      like.source_nid = Nid{1};
      like.vni = Vni{0x400};
      length = random.one_in(2) ? wire::reduction_frame_bytes : 34 + random.below(100);
    }
    if (random.one_in(20)) {
      like.tree = TreeNumber{static_cast<std::uint16_t>(random.below(9))};
    }
    Frame f(like);
    f.resize(length);
    wire::store_be<std::uint16_t>(f.portals() + wire::portals_offset::total_length,
                                  static_cast<std::uint16_t>(length - wire::ethernet_header_bytes));
    f.fix_checksum();
    if (random.one_in(12)) {
      f.bytes()[12 + random.below(22)] ^= static_cast<std::byte>(1U << random.below(8));
      if (random.one_in(2)) {
        f.fix_checksum();
      }
    }
    if (random.one_in(30)) {
      f.resize(random.below(120));
    }
    frames.push_back(std::move(f));
  }
  return frames;
}

TEST(ProcessBurst, CopiesAreTheSameAsFramesOneByOne) {
  RandomFrames random(seed() + 5);
  TestSwitch burst;
  TestSwitch single;
  for (TestSwitch* s : {&burst, &single}) {
    TablesBuilder tables = tables_of_all_policies(s->core.settings().timers);
    for (std::uint8_t t = 4; t < 8; ++t) {
      EXPECT_EQ(tables.add_tree(TreeNumber{t}, 0, PortNumber{static_cast<std::uint8_t>(t - 4)},
                                PortSet{0b110000}),
                "");
    }
    s->adopt(std::move(tables));
  }
  std::size_t copied = 0;
  std::size_t dropped = 0;
  for (int round = 0; round < 3000; ++round) {
    const PortNumber in{static_cast<std::uint8_t>(random.below(4))};
    const PortNumber changed = random.port();
    const bool up = !random.one_in(4);
    burst.core.port_changed(changed, up);
    single.core.port_changed(changed, up);
    const TreeNumber tree{static_cast<std::uint16_t>(random.one_in(8) ? 4U : 4U + in.value)};
    ASSERT_NO_FATAL_FAILURE(expect_decided_alike(burst, single, in, frames_to_copy(random, tree),
                                                 random, [&](const Decision& d) {
                                                   copied += d.event == Event::multicast ? 1 : 0;
                                                   dropped += d.action == Action::drop ? 1 : 0;
                                                 }));
  }
  EXPECT_EQ(all_counters(burst.core), all_counters(single.core));
  EXPECT_GT(copied, 20'000U);
  EXPECT_GT(dropped, 1'000U);
}

TEST(ProcessBurst, OfCopiesNothingIsNotable) {
  TestSwitch s;
  wire::ReductionFrame f = arm(7);
  f.tree = ordinary_tree;
  std::vector<Frame> frames(5, Frame(f));
  std::vector<FrameView> views;
  for (Frame& one : frames) {
    views.push_back(one.view());
  }
  std::vector<Decision> decisions(views.size());
  const BurstOutcome outcome = s.core.process_burst(parent, views, s.now, decisions);
  EXPECT_TRUE(outcome.notable.empty());
  expect_outcome(outcome, decisions);
  EXPECT_EQ(decisions.back().event, Event::multicast);
}

TEST(ProcessBurst, OfContributionsThatWereAbsorbedNothingIsNotable) {
  TestSwitch s;
  const auto of_each = [&](const wire::ReductionFrame& frame, ContributionCount count) {
    std::vector<Frame> frames;
    for (std::uint8_t id = 0; id < 8; ++id) {
      wire::ReductionFrame f = frame;
      f.reduction = ReductionId{id};
      frames.insert(frames.end(), count, Frame(f));
    }
    std::vector<FrameView> views;
    for (Frame& f : frames) {
      views.push_back(f.view());
    }
    std::vector<Decision> decisions(views.size());
    return s.core.process_burst(frame.word.arm ? parent : child, views, s.now, decisions);
  };
  const auto notable = [](const BurstOutcome& outcome) {
    std::size_t count = 0;
    outcome.notable.for_each([&](std::size_t /*place*/) { ++count; });
    return count;
  };
  EXPECT_EQ(notable(of_each(arm(7), 1)), 8U);
  EXPECT_EQ(notable(of_each(contribution(7), wait_count - 1)), 0U);
  EXPECT_EQ(notable(of_each(contribution(7), 1)), 8U) << "they complete the reductions";
}

/// Reductions of all operators as they run: arms, then contributions of one operator and mostly one
/// count, from a switch and from hosts that count once; now and then one bit anywhere is another,
/// the sequence is the one before, or a code reports an error below.
class RunningReductions {
public:
  explicit RunningReductions(std::uint64_t seed) : random_(seed) {}

  /// Frames that arrive at a port: 0 and 3 are parents, 3 is a child as well.
  std::vector<Frame> burst(PortNumber in) {
    std::vector<Frame> frames;
    const bool from_parent = in.value == 0 || (in.value == 3 && random_.one_in(2));
    if (in.value == 0) {
      sequence_ = (sequence_ + 1) % 1024;
    }
    if (in.value == 0 || random_.one_in(8)) {
      op_ = wire::all_opcodes[random_.below(std::size(wire::all_opcodes))];
      count_ = random_.one_in(3) ? 2 : 1;
    }
    for (std::size_t i = 1 + random_.below(70); i != 0; --i) {
      wire::ReductionFrame f = from_parent ? arm(sequence_) : contribution(sequence_, Nid{1});
      f.tree = TreeNumber{static_cast<std::uint16_t>(random_.below(4))};
      f.reduction = ReductionId{static_cast<std::uint8_t>(random_.below(8))};
      if (!from_parent) {
        make_operand(f);
      }
      frames.emplace_back(f);
      if (random_.one_in(20)) {
        disturb(frames.back());
      }
    }
    return frames;
  }
  [[nodiscard]] RandomFrames& random() { return random_; }

private:
  void make_operand(wire::ReductionFrame& f) {
    f.signature = random_.below(wire::signature_mask);
    f.word.op = static_cast<std::uint8_t>(op_);
    f.word.count = count_;
    f.word.m = static_cast<std::int8_t>(random_.below(4));
    f.word.pad = static_cast<std::uint8_t>(random_.below(8));
    for (std::uint64_t& word : f.payload) {
      switch (random_.below(4)) {
      case 0: word = random_.below(~std::uint64_t{0}); break;
      case 1: word = 0x7FF0000000000000 | random_.below(3) << 50; break; // infinity, or NaN
      case 2: word = std::bit_cast<std::uint64_t>(static_cast<double>(random_.below(100))); break;
      default: word = random_.below(100);
      }
    }
    if (random_.one_in(30)) {
      f.word.rc = static_cast<std::uint8_t>(random_.below(16));
    }
    if (random_.one_in(30)) {
      f.word.seqno = SequenceNumber{(sequence_ + 1023) % 1024};
    }
  }
  void disturb(Frame& frame) {
    if (random_.one_in(8)) {
      frame.resize(random_.below(120));
      return;
    }
    frame.bytes()[random_.below(frame.bytes().size())] ^=
        static_cast<std::byte>(1U << random_.below(8));
    if (random_.one_in(2)) {
      frame.fix_checksum();
    }
  }

  RandomFrames random_;
  std::uint32_t sequence_ = 1000;
  wire::Opcode op_ = wire::Opcode::int_sum;
  ContributionCount count_ = 1;
};

/// Trees 0 and 1 wait for many behind two ports; one endpoint is behind each child of 2 and 3, and
/// port 2 has a guard, port 4 no checksums.
TablesBuilder tables_of_running_reductions(const EngineTimers& timers) {
  TablesBuilder b(timers);
  for (const PortPolicy& policy :
       {PortPolicy{}, PortPolicy{}, PortPolicy{.nid = Nid{1}, .vnis = {}}, PortPolicy{},
        PortPolicy{.verify_checksum = false, .nid = {}, .vnis = {}}}) {
    EXPECT_EQ(b.add_port(policy), "");
  }
  EXPECT_EQ(b.add_tree(TreeNumber{0}, 20, PortNumber{0}, PortSet{0b01010}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{1}, 3, PortNumber{0}, PortSet{0b00110}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{2}, 4, PortNumber{0}, PortSet{0b11110}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{3}, 2, PortNumber{3}, PortSet{0b10010}), "");
  return b;
}

/// The fast path of a burst must do the same as the slow path.
TEST(ProcessBurst, ContributionsByTheShortWayBecomeWhatTheyDoByTheLongOne) {
  RunningReductions running(seed() + 3);
  SwitchSettings settings = random_test_settings();
  settings.descriptors_per_engine = 20;
  TestSwitch burst(settings);
  TestSwitch single(settings);
  burst.adopt(tables_of_running_reductions(settings.timers));
  single.adopt(tables_of_running_reductions(settings.timers));
  std::array<std::uint64_t, 32> seen{};
  for (int round = 0; round < 4000; ++round) {
    const PortNumber in{static_cast<std::uint8_t>(running.random().below(5))};
    expect_alike(burst, single, in, running.burst(in), running.random(),
                 [&](const Decision& d) { ++seen[static_cast<std::size_t>(d.event)]; });
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_EQ(all_counters(burst.core), all_counters(single.core));
  EXPECT_GT(seen[static_cast<std::size_t>(Event::contributed)], 5'000U);
  EXPECT_GT(seen[static_cast<std::size_t>(Event::completed_full)], 300U);
}

/// State of a descriptor when the disturbed contribution arrives.
enum class Found { free, waiting, holding, holding_another_operation, holding_a_vector };

/// A burst of contributions of one kind, the third of which has one bit that is another.
class OneBitDisturbed {
public:
  OneBitDisturbed(wire::Opcode op, Found found) : op_(op), found_(found) {
    burst_.adopt(wide_tables());
    single_.adopt(wide_tables());
  }

  void try_bit(std::size_t bit, bool with_checksum) {
    sequence_ = sequence_ % 1000 + 1;
    prepare();
    std::array<Frame, 4> frames{contribution_to(0), contribution_to(0), contribution_to(1),
                                contribution_to(1)};
    frames[2].bytes()[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    if (with_checksum) {
      frames[2].fix_checksum();
    }
    std::array<Frame, 4> copies = frames;
    std::array<FrameView, 4> views;
    std::ranges::transform(frames, views.begin(), [](Frame& f) { return f.view(); });
    std::array<Decision, 4> decisions;
    burst_.core.process_burst(child, views, burst_.now, decisions);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_equal(decisions[i], single_.give(child, copies[i])));
      ASSERT_EQ(frames[i], copies[i]);
    }
    ASSERT_EQ(all_descriptors(burst_), all_descriptors(single_));
    // Its result shows the other held data.
    give_both(child, of_count(four_words(1), wait_count));
  }
  void expect_equal_counters() const {
    EXPECT_EQ(all_counters(burst_.core), all_counters(single_.core));
  }

private:
  void prepare() {
    for (const std::uint8_t id : std::initializer_list<std::uint8_t>{0, 1}) {
      give_both(parent, Frame(with_id(arm(sequence_), ReductionId{id})));
    }
    switch (found_) {
    case Found::free: give_both(parent, Frame(with_id(disarm(sequence_), ReductionId{1}))); break;
    case Found::waiting: break;
    case Found::holding: give_both(other_child, contribution_to(1)); break;
    case Found::holding_another_operation: {
      wire::ReductionFrame f = four_words(1);
      f.word.op = static_cast<std::uint8_t>(op_ == wire::Opcode::bit_or ? wire::Opcode::bit_and
                                                                        : wire::Opcode::bit_or);
      give_both(other_child, Frame(f));
      break;
    }
    case Found::holding_a_vector:
      // What an earlier reduction has left there is of the operation.
      give_both(other_child, contribution_to(1));
      give_both(parent, Frame(with_id(arm(sequence_), ReductionId{1})));
      give_both(other_child, wide_frame(wide_contribution(sequence_, Nid{1}, ReductionId{1})));
      break;
    }
  }
  [[nodiscard]] wire::ReductionFrame four_words(std::uint8_t id) const {
    wire::ReductionFrame f = with_id(contribution(sequence_), ReductionId{id});
    f.word.op = static_cast<std::uint8_t>(op_);
    f.signature = 0x123456789A;
    return f;
  }
  [[nodiscard]] Frame contribution_to(std::uint8_t id) const { return Frame(four_words(id)); }
  static Frame of_count(wire::ReductionFrame f, ContributionCount count) {
    f.word.count = count;
    return Frame(f);
  }
  void give_both(PortNumber in, Frame frame) {
    Frame copy = frame;
    const Decision d = burst_.give(in, frame);
    ASSERT_NO_FATAL_FAILURE(expect_equal(d, single_.give(in, copy)));
    ASSERT_EQ(frame, copy);
  }

  wire::Opcode op_;
  Found found_;
  TestSwitch burst_;
  TestSwitch single_;
  std::uint32_t sequence_ = 0;
};

TEST(ProcessBurst, AContributionWithAnyBitDisturbedBecomesWhatItDoesByTheLongWay) {
  for (const wire::Opcode op : {wire::Opcode::bit_and, wire::Opcode::int_sum, wire::Opcode::flt_max,
                                wire::Opcode::flt_sum_nearest, wire::Opcode::flt_repsum}) {
    for (const Found found : {Found::free, Found::waiting, Found::holding,
                              Found::holding_another_operation, Found::holding_a_vector}) {
      OneBitDisturbed disturbed(op, found);
      for (std::size_t bit = 0; bit < wire::reduction_frame_bytes * 8; ++bit) {
        for (const bool with_checksum : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << wire::name_of(op) << ", found " << static_cast<int>(found) << ", bit "
                       << bit << (with_checksum ? ", checksum mended" : ""));
          ASSERT_NO_FATAL_FAILURE(disturbed.try_bit(bit, with_checksum));
        }
      }
      disturbed.expect_equal_counters();
    }
  }
}

TEST(PlainWord, IsLikeThoseOfTheSameOperationAndCountWhateverTheirSequence) {
  wire::ReductionWord word = contribution(7).word;
  const PlainWord plain = PlainWord::of(wire::pack(word));
  EXPECT_EQ(plain.op(), wire::Opcode::int_sum);
  EXPECT_EQ(plain.count(), 1U);
  word.seqno = word.resno = SequenceNumber{8};
  word.m = 3;
  word.pad = wire::pad_retry;
  EXPECT_EQ(plain.differing(wire::pack(word)), 0U);
  word.count = 2;
  EXPECT_NE(plain.differing(wire::pack(word)), 0U);
}

TEST(PlainWord, IsOfNoneThatTheShortWayMustNotTake) {
  const auto of = [](auto change) {
    wire::ReductionWord word = contribution(7).word;
    change(word);
    return PlainWord::of(wire::pack(word));
  };
  EXPECT_TRUE(PlainWord().is_of_none());
  EXPECT_FALSE(of([](wire::ReductionWord&) {}).is_of_none());
  EXPECT_TRUE(of([](wire::ReductionWord& w) { w.arm = true; }).is_of_none());
  EXPECT_TRUE(of([](wire::ReductionWord& w) { w.count = 0; }).is_of_none());
  EXPECT_TRUE(of([](wire::ReductionWord& w) { w.rc = 1; }).is_of_none());
  EXPECT_TRUE(of([](wire::ReductionWord& w) { w.op = 0x3F; }).is_of_none());
}

TEST(ProcessBurst, OfAReservedOperationThatCountsNothingPassesByAFreshSwitch) {
  TestSwitch s;
  s.give(parent, arm(7));
  for (const std::uint8_t op : std::initializer_list<std::uint8_t>{0x3F, 0x00}) {
    wire::ReductionFrame f = contribution(7);
    f.word.op = op;
    f.word.count = 0;
    f.word.pad = wire::pad_retry;
    std::array<Frame, 2> frames{Frame(f), Frame(f)};
    const std::array<FrameView, 2> views{frames[0].view(), frames[1].view()};
    std::array<Decision, 2> decisions;
    s.core.process_burst(child, views, s.now, decisions);
    for (const Decision& d : decisions) {
      expect_forwarded(d, parent, Event::passed_empty);
    }
  }
}

TEST(ProcessBurst, OfNothingDoesNothing) {
  TestSwitch s;
  s.core.process_burst(child, {}, s.now, {});
  EXPECT_EQ(s.all_drops(), 0U);
}

/// In turn: ids that get all they wait for and more, so that late frames find a reduction whose
/// result has not been written yet; and another tree's in between.
std::vector<Frame> more_than_enough(std::uint32_t seqno) {
  std::vector<Frame> frames;
  for (std::uint32_t i = 0; i < 3 * wait_count; ++i) {
    for (const std::uint16_t t : std::initializer_list<std::uint16_t>{0, 0, 1, 0}) {
      wire::ReductionFrame f = contribution(seqno, Nid{100 + i});
      f.tree = TreeNumber{t};
      f.reduction = ReductionId{static_cast<std::uint8_t>(frames.size() % 3)};
      frames.emplace_back(f);
    }
  }
  return frames;
}

TEST(ProcessBurst, AReductionThatIsFullIsOverForTheFramesBehindItAlsoWhereItGoesNoFurther) {
  RandomFrames random(seed());
  for (const bool in_switch : {false, true}) {
    for (const bool parent_is_up : {true, false}) {
      for (const bool root_has_contributed : {true, false}) {
        TestSwitch burst;
        TestSwitch single;
        std::array<std::size_t, 32> seen{};
        for (TestSwitch* s : {&burst, &single}) {
          TablesBuilder tables;
          for (std::size_t i = 0; i < port_count; ++i) {
            EXPECT_EQ(tables.add_port({}), "");
          }
          EXPECT_EQ(tables.add_tree(TreeNumber{0}, 6, parent, children, {.in_switch = in_switch}),
                    "");
          EXPECT_EQ(tables.add_tree(TreeNumber{1}, 4, parent, children), "");
          s->adopt(std::move(tables));
          for (std::uint8_t i = 0; i < 16; ++i) {
            wire::ReductionFrame f = arm(7);
            f.tree = TreeNumber{static_cast<std::uint16_t>(i / 8)};
            f.reduction = ReductionId{static_cast<std::uint8_t>(i % 8)};
            s->give(parent, f);
            if (in_switch && root_has_contributed && i < 8) {
              wire::ReductionFrame own = contribution(7, Nid{1});
              own.tree = f.tree;
              own.reduction = f.reduction;
              s->give(parent, own);
            }
          }
          s->core.port_changed(parent, parent_is_up);
        }
        for (int round = 0; round < 2; ++round) {
          ASSERT_NO_FATAL_FAILURE(
              expect_alike(burst, single, child, more_than_enough(7), random,
                           [&](const Decision& d) { ++seen[static_cast<std::size_t>(d.event)]; }));
        }
        EXPECT_EQ(all_counters(burst.core), all_counters(single.core));
        EXPECT_GT(burst.engine().full.read() + burst.engine().discarded.read(), 3U);
        EXPECT_EQ(seen[static_cast<std::size_t>(Event::completed_full)] != 0, parent_is_up);
        EXPECT_EQ(seen[static_cast<std::size_t>(Event::completed_in_switch)] != 0,
                  in_switch && root_has_contributed);
      }
    }
  }
}

TEST(ProcessBurst, CountsContributionsOfSeveralEngines) {
  TestSwitch s(random_test_settings());
  s.adopt(random_test_tables(s.core.settings().timers));
  std::vector<Frame> frames;
  for (const std::uint16_t t : std::initializer_list<std::uint16_t>{0, 2}) {
    auto a = arm(7);
    a.tree = TreeNumber{t};
    s.give(t == 0 ? PortNumber{0} : PortNumber{3}, a);
  }
  for (const std::uint16_t t : std::initializer_list<std::uint16_t>{0, 0, 2, 2, 2, 0}) {
    auto c = contribution(7);
    c.tree = TreeNumber{t};
    frames.emplace_back(c);
  }
  std::vector<FrameView> views;
  for (Frame& f : frames) {
    views.push_back(f.view());
  }
  std::vector<Decision> decisions(views.size());
  s.core.process_burst(child, views, s.now, decisions);
  EXPECT_EQ(s.engine(PortNumber{0}).contributions.read(), 3U);
  EXPECT_EQ(s.engine(PortNumber{3}).contributions.read(), 3U);
  EXPECT_EQ(decisions.back().event, Event::completed_full);
}

/// The counts in the sentences must match the state afterwards.
void expect_counted_as_explained(const TestSwitch& s, const Explanation& explanation,
                                 const Decision& d, Frame& frame) {
  const auto word = [&] { return wire::load_word(frame.portals()); };
  const auto counts = [](ContributionCount total, ContributionCount of) {
    return std::to_string(total) + " of " + std::to_string(of) + " contributions";
  };
  if (d.action == Action::absorb) {
    const ReductionKey key = key_of(frame);
    const DescriptorView held = s.core.engines().view(key, s.core.tables().tree(key.tree()));
    ASSERT_EQ(explanation.steps.back(),
              "the engine takes it: " + counts(held.count, held.wait_count));
  }
  if (d.action == Action::emit) {
    const ContributionCount of = s.core.tables().tree(key_of(frame).tree()).wait_count;
    const std::string& step = explanation.steps[explanation.steps.size() - 2];
    ASSERT_EQ(step, "it completes the reduction with " + counts(word().count, of) +
                        (word().count > of ? ", too many (contr_overflow)" : ""));
  }
}

TEST(Explain, ForetellsTheDecisionAndChangesNothing) {
  RandomFrames random(seed() + 1);
  for (const bool drop_foreign : {false, true}) {
    SwitchSettings settings = random_test_settings();
    settings.drop_foreign = drop_foreign;
    TestSwitch s(settings);
    s.adopt(random_test_tables(settings.timers));
    for (int i = 0; i < 20'000; ++i) {
      Frame f = random.frame();
      const Frame before = f;
      const PortNumber in = random.port();
      const bool look_closer = i % 500 == 0;
      const auto counters = look_closer ? all_counters(s.core) : std::vector<std::uint64_t>{};
      const auto descriptors = all_descriptors(s);
      const Explanation e = explain(s.core, in, f.view());
      ASSERT_EQ(f, before);
      ASSERT_EQ(all_descriptors(s), descriptors);
      if (look_closer) {
        ASSERT_EQ(all_counters(s.core), counters);
      }
      ASSERT_GE(e.steps.size(), 2U);
      const Decision d = s.give(in, f);
      ASSERT_NO_FATAL_FAILURE(expect_equal(e.decision, d));
      ASSERT_NO_FATAL_FAILURE(expect_counted_as_explained(s, e, d, f));
      if (i % 64 == 0) {
        s.core.port_changed(random.port(), random.below(3) != 0);
      }
      s.pass(random.below(3000));
    }
  }
}

std::string explanation(const SwitchCore& core, PortNumber in, const wire::ReductionFrame& r) {
  Frame f(r);
  std::string text;
  for (const std::string& step : explain(core, in, f.view()).steps) {
    text += step + '\n';
  }
  return text;
}

TEST(Explain, TellsTheTreeTheDescriptorAndTheVerdict) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(child, contribution(7));
  const std::string text = explanation(s.core, child, contribution(7));
  for (const char* part :
       {"94 bytes came in on port 1", "EtherType 0x88b5", "VNI 1024, checksum right",
        "source NID 74565", "tree 2748, reduction 0", "wait count 4", "port 1 is a child",
        "INT_SUM", "sequence 7, 1 of 4 contributions", "the engine takes it: 2 of 4"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
}

TEST(Explain, NamesTheDropAndDescribesIt) {
  TestSwitch s;
  s.give(parent, arm(7));
  const std::string text = explanation(s.core, child, contribution(6));
  EXPECT_NE(text.find("dropped as stale_sequence: a contribution to a sequence older"),
            std::string::npos)
      << text;
}

TEST(Explain, SaysWhichPortsAreLeftOutAndWhatTheResultWas) {
  TestSwitch s;
  s.core.port_changed(other_child, false);
  const std::string copied = explanation(s.core, parent, arm(7));
  EXPECT_NE(copied.find("of those it is copied to, port 2 is down and left out"), std::string::npos)
      << copied;
  s.give(parent, arm(7));
  auto all = contribution(7);
  all.word.count = wait_count + 1;
  const std::string complete = explanation(s.core, child, all);
  EXPECT_NE(complete.find("completes the reduction with 5 of 4 contributions, too many"),
            std::string::npos)
      << complete;
  EXPECT_NE(complete.find("the result of 5 contributions leaves through port 0"), std::string::npos)
      << complete;
  s.core.port_changed(parent, false);
  EXPECT_NE(explanation(s.core, child, all).find("dropped as port_down"), std::string::npos);
}

TEST(Explain, SaysWhenTheEngineIsAnotherWorkers) {
  TestSwitch s({}, PortSet{0b10000});
  const std::string text = explanation(s.core, child, contribution(6));
  EXPECT_NE(text.find("the engine belongs to the worker of port"), std::string::npos) << text;
}

} // namespace
} // namespace tributary::core::test
