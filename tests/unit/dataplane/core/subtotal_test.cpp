// Contributions combined by workers without the engine: the result is indistinguishable.

#include "dataplane/core/subtotal.hpp"

#include "dataplane/core/engine_home.hpp"
#include "tests/unit/dataplane/core/random_frames.hpp"

#include <bit>
#include <map>
#include <set>

namespace tributary::core::test {
namespace {

/// A frame in transit to the core that has the engine.
struct Crossing {
  Frame* frame = nullptr;
  PortNumber in;
  Subtotal* subtotal = nullptr; ///< in place of both
};

/// Workers that combine, and the items they handed over, in order.
class Adders {
public:
  explicit Adders(const SwitchCore& core) : core_(&core) {}

  /// One frame for the engine elsewhere.
  void give(PortNumber in, Frame& frame) {
    if (fast_path) {
      FrameView view = frame.view();
      void* handle = &frame;
      Steering steering{.views = std::span(&view, 1),
                        .frames = reinterpret_cast<std::byte*>(&handle),
                        .may_add = 1,
                        .owners = owners.data(),
                        .self = 1};
      const std::size_t done = core_->steer(in, steering, table_, 0);
      ASSERT_EQ(steering.kept, 0U);
      if (done == 1) {
        ++added_by_fast_path;
        return;
      }
    }
    Summand summand;
    if (adds_up && core_->summand(in, frame.view(), summand)) {
      summand.frame = &frame;
      table_.add(*core_, summand, 0, *this);
      return;
    }
    const FrameView view = frame.view();
    if (view.length >= shortest_frame_bytes) {
      const wire::FabricAddress dfa = wire::dfa_of(view.data + wire::ethernet_header_bytes);
      table_.close(ReductionKey(dfa.tree(), dfa.reduction()), *this);
    }
    cross(&frame, in, 0);
  }
  void end_round() { table_.close_all(*this); }
  bool still_adds_up() { return table_.adds_up(); }

  // For the table.
  void cross(void* frame, PortNumber in, std::uint32_t /*owner*/) {
    crossed.push_back({.frame = static_cast<Frame*>(frame), .in = in});
  }
  void cross(const OpenSubtotal& subtotal, std::uint32_t /*owner*/) {
    if (!subtotals.emplace_back().set(subtotal)) {
      subtotals.pop_back();
      for (std::size_t i = 0; i < subtotal.size; ++i) {
        cross(subtotal.frames[i], subtotal.in[i], 0);
      }
      return;
    }
    last_version = static_cast<std::uint32_t>(core_->tables().version());
    crossed.push_back({.in = no_port, .subtotal = &subtotals.back()});
  }

  std::vector<Crossing> crossed;
  std::deque<Subtotal> subtotals;
  bool adds_up = true;
  bool fast_path = true;
  std::size_t added_by_fast_path = 0;
  std::uint32_t last_version = 0; ///< of the tables when a partial aggregate crossed

private:
  const SwitchCore* core_;
  SubtotalTable table_;
  std::array<std::uint8_t, max_ports> owners{}; ///< one that has all engines, and is another one
};

/// A switch that takes partial aggregates, and one that gets the same frames in the same order one
/// by one.
class Both {
public:
  explicit Both(const SwitchSettings& settings = {}) : adding(settings), plain(settings) {}

  template <typename Make> void adopt(Make make) {
    adding.adopt(make());
    plain.adopt(make());
  }
  Frame& keep(const Frame& frame) { return frames.emplace_back(frame); }

  /// Takes the crossed items; compares decisions and frames.
  void take(Adders& adders) {
    for (const Crossing& one : adders.crossed) {
      if (one.subtotal == nullptr) {
        compare(one.in, *one.frame);
        continue;
      }
      const Subtotal& subtotal = *one.subtotal;
      std::vector<std::pair<PortNumber, Frame*>> parts;
      std::vector<Frame> copies;
      for (std::size_t i = 0; i < subtotal.size(); ++i) {
        parts.emplace_back(subtotal.in(i), static_cast<Frame*>(subtotal.frame(i)));
        copies.push_back(*parts.back().second);
      }
      ASSERT_GT(subtotal.size(), 1U);
      Decision of_last;
      Frame result;
      if (!adding.core.take_subtotal(subtotal, adders.last_version, result.view(), of_last)) {
        ++refused;
        for (auto& [in, frame] : parts) {
          compare(in, *frame);
        }
        continue;
      }
      ++taken;
      in_taken += subtotal.size();
      for (std::size_t i = 0; i < subtotal.size(); ++i) {
        const Decision d = plain.give(parts[i].first, copies[i]);
        if (i + 1 != subtotal.size()) {
          ASSERT_EQ(d.action, Action::absorb);
          ASSERT_EQ(d.event, Event::contributed);
        } else {
          expect_same(of_last, d);
          if (of_last.action == Action::absorb) {
            ASSERT_EQ(result, Frame());
            continue;
          }
          copies[i].resize(wire::reduction_frame_bytes);
          ASSERT_EQ(result, copies[i]);
        }
      }
    }
    adders.crossed.clear();
    adders.subtotals.clear();
    frames.clear();
    expect_same_state();
  }
  void pass(std::uint64_t ns) {
    adding.pass(ns);
    plain.pass(ns);
    ASSERT_EQ(adding.emitted.size(), plain.emitted.size());
    for (; compared_ < plain.emitted.size(); ++compared_) {
      ASSERT_EQ(adding.emitted[compared_].frame, plain.emitted[compared_].frame);
      ASSERT_EQ(adding.emitted[compared_].traffic_class, plain.emitted[compared_].traffic_class);
    }
  }
  void expect_same_counters() const {
    for (std::size_t p = 0; p < port_count; ++p) {
      const PortNumber port{static_cast<std::uint8_t>(p)};
      const EngineCounters& a = adding.engine(port);
      const EngineCounters& b = plain.engine(port);
      for (const auto counter :
           {&EngineCounters::arms, &EngineCounters::rearms, &EngineCounters::arm_failures,
            &EngineCounters::disarms, &EngineCounters::contributions, &EngineCounters::full,
            &EngineCounters::partial, &EngineCounters::expired_empty,
            &EngineCounters::op_mismatches, &EngineCounters::overflows,
            &EngineCounters::discarded}) {
        EXPECT_EQ((a.*counter).read(), (b.*counter).read());
      }
      for (std::size_t r = 0; r < drop_reason_count; ++r) {
        EXPECT_EQ(adding.drops(port, static_cast<DropReason>(r)),
                  plain.drops(port, static_cast<DropReason>(r)));
      }
    }
    for (std::uint16_t t = 0; t < 6; ++t) {
      const TreeCounters& a = adding.of(TreeNumber{t});
      const TreeCounters& b = plain.of(TreeNumber{t});
      for (const auto counter :
           {&TreeCounters::full, &TreeCounters::partial, &TreeCounters::passed_through,
            &TreeCounters::late, &TreeCounters::stale}) {
        EXPECT_EQ((a.*counter).read(), (b.*counter).read());
      }
    }
  }

  TestSwitch adding;
  TestSwitch plain;
  std::deque<Frame> frames;
  std::size_t taken = 0;
  std::size_t in_taken = 0;
  std::size_t refused = 0;

private:
  static void expect_same(const Decision& a, const Decision& b) {
    ASSERT_EQ(a.action, b.action) << name_of(a.action) << ' ' << name_of(b.action);
    ASSERT_EQ(a.event, b.event) << name_of(a.event) << ' ' << name_of(b.event);
    if (b.action == Action::drop) {
      ASSERT_EQ(a.reason, b.reason);
    }
    ASSERT_EQ(a.port, b.port);
    ASSERT_EQ(a.length, b.length);
    ASSERT_EQ(a.traffic_class, b.traffic_class);
  }
  void compare(PortNumber in, Frame& frame) {
    Frame copy = frame;
    const Decision d = adding.give(in, frame);
    expect_same(d, plain.give(in, copy));
    ASSERT_EQ(frame, copy);
  }
  /// The meaningful memory of an engine.
  void expect_same_state() const {
    const auto a = adding.descriptors();
    const auto b = plain.descriptors();
    ASSERT_EQ(a.size(), b.size());
    for (const DescriptorView& one : b) {
      const Descriptor& x = adding.core.engines().descriptor(one.key);
      const Descriptor& y = plain.core.engines().descriptor(one.key);
      ASSERT_EQ(x.match, y.match);
      ASSERT_EQ(x.accumulator.contributions, y.accumulator.contributions);
      if (!y.match.has_data()) {
        continue;
      }
      ASSERT_EQ(x.accumulator.payload, y.accumulator.payload);
      ASSERT_EQ(x.accumulator.op, y.accumulator.op);
      ASSERT_EQ(x.accumulator.rc, y.accumulator.rc);
      ASSERT_EQ(x.accumulator.m, y.accumulator.m);
      ASSERT_EQ(x.accumulator.overflow_id, y.accumulator.overflow_id);
      ASSERT_EQ(x.accumulator.repsum_overflow, y.accumulator.repsum_overflow);
      ASSERT_EQ(x.accumulator.repsum_inexact, y.accumulator.repsum_inexact);
      ASSERT_EQ(x.accumulator.signalling_lanes, y.accumulator.signalling_lanes);
      ASSERT_EQ(x.accumulator.source, y.accumulator.source);
      ASSERT_EQ(x.signature & wire::signature_mask, y.signature & wire::signature_mask);
      ASSERT_EQ(adding.core.engines().record(one.key).header,
                plain.core.engines().record(one.key).header);
      ASSERT_EQ(adding.core.engines().counted(one.key).ports,
                plain.core.engines().counted(one.key).ports);
    }
  }

  std::size_t compared_ = 0; ///< of the emitted frames
};

/// Operands around everything that makes an operation depend on its order.
std::uint64_t word_for(RandomFrames& random, wire::Opcode op, bool strange) {
  static constexpr std::uint64_t special[] = {reduce::canonical_nan,
                                              0x7FF0000000000001,
                                              0xFFF8000000000000,
                                              0x8000000000000000,
                                              0,
                                              reduce::float_infinity,
                                              1ULL << 56,
                                              (1ULL << 56) - 1,
                                              ~(1ULL << 56) + 1,
                                              1ULL << 62,
                                              std::uint64_t{INT64_MAX},
                                              ~(1ULL << 62) + 1};
  if (strange && random.one_in(6)) {
    return special[random.below(std::size(special))];
  }
  switch (op) {
  case wire::Opcode::int_sum:
  case wire::Opcode::flt_repsum:
    return random.below(1000) - 500 +
           (strange && random.one_in(4) ? 1ULL << (50 + random.below(13)) : 0);
  default: return std::bit_cast<std::uint64_t>(static_cast<double>(random.below(5)) - 2);
  }
}

TEST(Subtotals, GiveWhatContributionsGiveOneByOne) {
  for (const reduce::NanMode mode : {reduce::NanMode::associative, reduce::NanMode::ieee}) {
    SCOPED_TRACE(seed());
    RandomFrames random(seed() + 7 + static_cast<std::uint64_t>(mode));
    SwitchSettings settings = random_test_settings();
    settings.nan_mode = mode;
    Both both(settings);
    both.adopt([&] { return random_test_tables(settings.timers); });
    Adders adders(both.adding.core);
    std::set<wire::Opcode> held; ///< whose partial aggregates were taken
    for (int round = 0; round < 6000; ++round) {
      const auto op = wire::all_opcodes[random.below(std::size(wire::all_opcodes))];
      // Tree 2 waits for the most.
      const auto tree = static_cast<std::uint16_t>(random.one_in(2) ? 2 : random.below(4));
      // What is armed, mostly; then contributions of all ports, and now and then anything.
      if (!random.one_in(3)) {
        wire::ReductionFrame f = arm(1020);
        f.tree = TreeNumber{tree};
        const PortNumber root{static_cast<std::uint8_t>(tree == 2 ? 3 : 0)};
        both.adding.give(root, f);
        both.plain.give(root, f);
      }
      const std::size_t frames = 1 + random.below(8);
      const bool strange = random.one_in(2);
      adders.fast_path = !random.one_in(4);
      for (std::size_t i = 0; i < frames; ++i) {
        const PortNumber in = tree == 2 && !random.one_in(10)
                                  ? PortNumber{static_cast<std::uint8_t>(random.below(3))}
                                  : random.port();
        if (random.one_in(15)) {
          adders.give(in, both.keep(random.frame()));
          continue;
        }
        wire::ReductionFrame f =
            contribution(1020, Nid{static_cast<std::uint32_t>(1 + random.below(4))});
        f.tree = TreeNumber{tree};
        f.signature = random.below(1ULL << 56);
        f.word.op = static_cast<std::uint8_t>(random.one_in(20) ? wire::Opcode::int_sum : op);
        f.word.count = static_cast<ContributionCount>(random.one_in(12) ? random.below(4) : 1);
        f.word.m = static_cast<std::int8_t>(strange && random.one_in(5) ? random.below(256) : 3);
        f.word.overflow_id = static_cast<std::uint8_t>(random.below(4));
        f.word.rc = static_cast<std::uint8_t>(random.one_in(25) ? random.below(9) : 0);
        for (auto& word : f.payload) {
          word = word_for(random, op, strange);
        }
        adders.give(in, both.keep(Frame(f)));
      }
      adders.end_round();
      const std::size_t before = both.taken;
      ASSERT_NO_FATAL_FAILURE(both.take(adders)) << "round " << round;
      if (both.taken != before) {
        held.insert(op);
      }
      ASSERT_NO_FATAL_FAILURE(both.pass(random.below(40'000)));
    }
    both.expect_same_counters();
    EXPECT_GT(both.taken, 100U);
    EXPECT_GT(both.refused, 30U);
    EXPECT_GT(adders.added_by_fast_path, 100U);
    // All operations but those that round.
    EXPECT_EQ(held.count(wire::Opcode::flt_repsum), 1U);
    EXPECT_EQ(held.count(wire::Opcode::flt_minmaxloc), 1U);
    EXPECT_EQ(held.count(wire::Opcode::int_sum), 1U);
  }
}

/// Gives these contributions to armed reductions, each from a port of its own.
std::size_t crossings(TestSwitch& s, const std::vector<wire::ReductionFrame>& contributions) {
  Adders adders(s.core);
  std::deque<Frame> frames;
  std::uint8_t port = 1;
  for (const auto& f : contributions) {
    adders.give(PortNumber{static_cast<std::uint8_t>(1 + (port++ - 1) % 3)},
                frames.emplace_back(f));
  }
  adders.end_round();
  return adders.crossed.size();
}

TEST(Subtotals, AreOneForAllContributionsToAReduction) {
  TestSwitch s;
  EXPECT_EQ(crossings(s, {contribution(1), contribution(1), contribution(1)}), 1U);
}

TEST(Subtotals, AreOneForEachReductionAndSequenceAndOperation) {
  TestSwitch s;
  auto other_id = contribution(1);
  other_id.reduction = ReductionId{1};
  const auto one = contribution(1);
  EXPECT_EQ(crossings(s, {one, other_id, one, other_id, one, other_id}), 2U);
  EXPECT_EQ(crossings(s, {one, one, one, contribution(2)}), 2U);
  auto other_op = contribution(1);
  other_op.word.op = static_cast<std::uint8_t>(wire::Opcode::int_max);
  EXPECT_EQ(crossings(s, {one, one, one, other_op}), 2U);
  auto other_cookie = contribution(1);
  other_cookie.cookie = Cookie{1};
  EXPECT_EQ(crossings(s, {one, one, one, other_cookie}), 2U);
}

TEST(Subtotals, AreNotMadeOfSumsThatRound) {
  TestSwitch s;
  auto rounds = contribution(1);
  rounds.word.op = static_cast<std::uint8_t>(wire::Opcode::flt_sum_nearest);
  EXPECT_EQ(crossings(s, {rounds, rounds, rounds}), 3U);
}

TEST(Subtotals, AreNotMadeOfIntegersThatMayOverflow) {
  TestSwitch s;
  auto large = contribution(1);
  large.payload[2] = std::uint64_t{1} << 60;
  EXPECT_EQ(crossings(s, {large, contribution(1), contribution(1), contribution(1)}), 2U);
}

TEST(Subtotals, OfOneFrameCrossAsThisFrame) {
  TestSwitch s;
  Adders adders(s.core);
  std::deque<Frame> frames;
  adders.give(child, frames.emplace_back(contribution(1)));
  adders.end_round();
  ASSERT_EQ(adders.crossed.size(), 1U);
  EXPECT_EQ(adders.crossed[0].frame, &frames.back());
}

TEST(Subtotals, PauseWhereARoundGathersFewContributionsForEach) {
  TestSwitch s;
  std::deque<Frame> frames;
  Adders adders(s.core);
  for (int i = 0; i < 3; ++i) {
    adders.give(child, frames.emplace_back(contribution(1)));
  }
  adders.end_round();
  EXPECT_TRUE(adders.still_adds_up());
  for (const std::uint32_t sequence : {1U, 2U, 3U}) {
    adders.give(child, frames.emplace_back(contribution(sequence)));
  }
  adders.end_round();
  std::size_t bursts = 0;
  while (!adders.still_adds_up()) {
    ASSERT_LT(++bursts, 10'000U);
  }
  EXPECT_GT(bursts, 100U);
}

TEST(Subtotals, KeepOrderBehindAFrameOfTheirKeyThatCrossesByItself) {
  TestSwitch s;
  Adders adders(s.core);
  std::deque<Frame> frames;
  for (int i = 0; i < 3; ++i) {
    adders.give(child, frames.emplace_back(contribution(1)));
  }
  auto large = contribution(1);
  large.payload[0] = std::uint64_t{1} << 60;
  adders.give(child, frames.emplace_back(large));
  adders.end_round();
  ASSERT_EQ(adders.crossed.size(), 2U);
  EXPECT_NE(adders.crossed[0].subtotal, nullptr);
  EXPECT_EQ(adders.crossed[1].frame, &frames.back());
}

wire::ReductionFrame contribution_to(TreeNumber tree) {
  wire::ReductionFrame f = contribution(1);
  f.tree = tree;
  return f;
}
TablesBuilder two_trees(TreeNumber a, TreeNumber b) {
  TablesBuilder builder = standard_tables();
  EXPECT_EQ(builder.add_tree(a, wait_count, parent, children), "");
  EXPECT_EQ(builder.add_tree(b, wait_count, parent, children), "");
  return builder;
}

TEST(Subtotals, OfTreesThatShareARowGiveWayToEachOther) {
  for (const bool fast_path : {false, true}) {
    const TreeNumber one{0};
    const TreeNumber other{9};
    TestSwitch s;
    s.adopt(two_trees(one, other));
    Adders adders(s.core);
    adders.fast_path = fast_path;
    std::deque<Frame> frames;
    for (const TreeNumber t : {one, other, one}) {
      for (const PortNumber in : {child, other_child}) {
        adders.give(in, frames.emplace_back(contribution_to(t)));
      }
    }
    adders.give(third_child, frames.emplace_back(contribution_to(other)));
    adders.end_round();
    ASSERT_EQ(adders.crossed.size(), 4U);
    for (const std::size_t i : {0U, 1U, 2U}) {
      ASSERT_NE(adders.crossed[i].subtotal, nullptr);
      EXPECT_EQ(adders.crossed[i].subtotal->size(), 2U);
      EXPECT_EQ(adders.crossed[i].subtotal->key().tree(), i == 1 ? other : one);
      EXPECT_EQ(adders.crossed[i].subtotal->frame(0), &frames[2 * i]);
    }
    EXPECT_EQ(adders.crossed[3].frame, &frames[6]);
  }
}

TEST(Subtotals, LeaveFramesOfOnesOwnEnginesAtTheFrontOfABurst) {
  const TreeNumber own{1};
  TreeNumber foreign{2};
  TestSwitch s;
  const auto home = [&](TreeNumber t) {
    return s.core.engine_port(child, Frame(contribution_to(t)).view());
  };
  for (s.adopt(two_trees(own, foreign)); home(foreign) == home(own);
       s.adopt(two_trees(own, foreign))) {
    ++foreign.value;
  }
  std::array<std::uint8_t, max_ports> owners{};
  owners[home(own).value] = 1;
  SubtotalTable table;
  Adders crossing(s.core);
  std::deque<Frame> frames;
  const auto make = [&](TreeNumber t) { return &frames.emplace_back(contribution_to(t)); };
  Summand summand;
  ASSERT_TRUE(s.core.summand(other_child, make(foreign)->view(), summand));
  summand.frame = &frames.back();
  table.add(s.core, summand, 0, crossing); // or the fast path is not available yet
  std::array<Frame*, 5> burst{make(own), make(foreign), make(own), make(foreign), make(own)};
  burst[3]->set(wire::reduction_offset::word + 4, 0xFF); // is not one that the fast path takes
  const auto before = burst;
  std::array<FrameView, 5> views;
  std::ranges::transform(burst, views.begin(), [](Frame* frame) { return frame->view(); });
  Steering steering{.views = views,
                    .frames = reinterpret_cast<std::byte*>(burst.data()),
                    .may_add = ~std::uint32_t{0},
                    .owners = owners.data(),
                    .self = 1};
  ASSERT_EQ(s.core.steer(child, steering, table, 0), 3U);
  ASSERT_EQ(s.core.steer(child, steering, table, 4), 5U);
  ASSERT_EQ(steering.kept, 3U);
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_EQ(burst[i], before[2 * i]);
    EXPECT_EQ(views[i].data, before[2 * i]->view().data);
  }
  table.close_all(crossing);
  ASSERT_EQ(crossing.crossed.size(), 1U);
  ASSERT_NE(crossing.crossed[0].subtotal, nullptr);
  EXPECT_EQ(crossing.crossed[0].subtotal->size(), 2U);
  EXPECT_EQ(crossing.crossed[0].subtotal->frame(1), before[1]);
}

TEST(Subtotals, ThatEndAReductionLeaveAsItsResult) {
  TestSwitch s;
  s.give(parent, arm(1));
  Adders adders(s.core);
  std::deque<Frame> frames;
  for (const std::uint32_t nid : {1U, 2U, 3U}) {
    auto f = contribution(1, Nid{nid});
    f.word.count = nid == 3 ? 2 : 1;
    adders.give(PortNumber{static_cast<std::uint8_t>(nid)}, frames.emplace_back(f));
  }
  adders.end_round();
  ASSERT_EQ(adders.crossed.size(), 1U);
  const Frame last = frames.back();
  Decision d;
  Frame carrier;
  const Subtotal& subtotal = *adders.crossed[0].subtotal;
  ASSERT_TRUE(s.core.take_subtotal(subtotal, adders.last_version, carrier.view(), d));
  expect_emitted(d, parent);
  EXPECT_EQ(frames.back(), last); // its buffer belongs to another worker
  const auto result = carrier.decoded();
  EXPECT_EQ(result.word.count, 4U);
  EXPECT_EQ(result.payload, (wire::Payload{3, 6, 9, 12}));
  EXPECT_EQ(result.source_nid, Nid{1}); // headers are the first one's
  EXPECT_EQ(s.engine().contributions.read(), 3U);
}

TEST(Subtotals, AreRefusedWhereTheyBringMoreThanIsWaitedFor) {
  TestSwitch s;
  s.give(parent, arm(1));
  Adders adders(s.core);
  std::deque<Frame> frames;
  for (const PortNumber in : {child, other_child, third_child}) {
    auto f = contribution(1);
    f.word.count = 2;
    adders.give(in, frames.emplace_back(f));
  }
  adders.end_round();
  ASSERT_EQ(adders.crossed.size(), 1U);
  Decision d;
  Frame carrier;
  const Subtotal& subtotal = *adders.crossed[0].subtotal;
  EXPECT_FALSE(s.core.take_subtotal(subtotal, adders.last_version, carrier.view(), d));
  EXPECT_EQ(s.engine().contributions.read(), 0U);
}

TEST(Subtotals, AreRefusedByOtherTablesThanTheyWereCheckedBy) {
  TestSwitch s;
  s.give(parent, arm(1));
  Adders adders(s.core);
  std::deque<Frame> frames;
  for (const PortNumber in : {child, other_child, third_child}) {
    adders.give(in, frames.emplace_back(contribution(1)));
  }
  adders.end_round();
  s.adopt(standard_tables());
  Decision d;
  Frame carrier;
  const Subtotal& subtotal = *adders.crossed[0].subtotal;
  EXPECT_FALSE(s.core.take_subtotal(subtotal, adders.last_version, carrier.view(), d));
}

TEST(EngineHome, IsAPortOfTheTreeAndSpreadsTreesOverAllOfThem) {
  const MulticastEntry entry{
      .children = PortSet{0b1111'0110}, .wait_count = 6, .parent = PortNumber{0}, .valid = true};
  std::map<unsigned, std::size_t> trees;
  for (std::uint16_t t = 0; t < 700; ++t) {
    const PortNumber home = engine_home(TreeNumber{t}, entry, reduction_keys);
    ASSERT_TRUE(home == entry.parent || entry.children.contains(home));
    ++trees[home.value];
  }
  EXPECT_EQ(trees.size(), 7U);
  for (const auto& [port, count] : trees) {
    EXPECT_GT(count, 80U) << port;
    EXPECT_LT(count, 120U) << port;
  }
}

TEST(EngineHome, SpreadsTreesOverWorkersToWhichPortsBelongInTurn) {
  const MulticastEntry entry{
      .children = PortSet{0xFFFE}, .wait_count = 15, .parent = PortNumber{0}, .valid = true};
  for (std::uint16_t step = 1; step <= 3; ++step) {
    for (std::uint16_t first = 0; first < 200; first = static_cast<std::uint16_t>(first + 8)) {
      std::size_t at_odd_ports = 0;
      for (std::uint16_t i = 0; i < 16; ++i) {
        const TreeNumber tree{static_cast<std::uint16_t>(first + step * i)};
        at_odd_ports += engine_home(tree, entry, reduction_keys).value % 2;
      }
      ASSERT_GE(at_odd_ports, 4U) << first << " in steps of " << step;
      ASSERT_LE(at_odd_ports, 12U) << first << " in steps of " << step;
    }
  }
}

TEST(EngineHome, IsTheParentWhereDescriptorsAreCountedByIt) {
  const MulticastEntry entry{
      .children = PortSet{0b0110}, .wait_count = 2, .parent = PortNumber{0}, .valid = true};
  for (std::uint16_t t = 0; t < 50; ++t) {
    EXPECT_EQ(engine_home(TreeNumber{t}, entry, 64), entry.parent);
  }
}

} // namespace
} // namespace tributary::core::test
