// Two workers that the test steps one by one, so that it controls which of them lags, and how long.
#include "tests/unit/dataplane/worker/fabric.hpp"

#include <array>
#include <cstdint>
#include <map>

namespace tributary::worker::test {
namespace {

constexpr std::size_t rounds_to_drain = 8;

/// Worker 0 has the even ports, worker 1 the odd ones.
class Stepped {
public:
  explicit Stepped(Options options) : fabric(with_steps(std::move(options))) {}

  void step(std::size_t worker) { fabric.workers().step(worker); }
  /// Runs until no frame is in flight.
  void drain() {
    for (std::size_t i = 0; i < rounds_to_drain; ++i) {
      step(0);
      step(1);
    }
  }
  [[nodiscard]] const WorkerStatistics& of(std::size_t worker) {
    return fabric.workers().statistics(worker);
  }
  [[nodiscard]] std::uint64_t drops(core::DropReason reason) {
    std::uint64_t sum = 0;
    for (std::size_t port = 0; port < ports; ++port) {
      sum += fabric.drops(port, reason);
    }
    return sum;
  }

  static constexpr std::size_t ports = 6;
  Fabric fabric;

private:
  static Options with_steps(Options options) {
    options.workers = 2;
    options.stepped = true;
    options.poll = config::Poll::busy;
    return options;
  }
};

// Overload. -------------------------------------------------------------------------------------

constexpr TreeNumber other_tree{8};

/// Tree 7 has its engine on worker 0, and leaves of worker 1, of which one has two endpoints: any
/// number of contributions may arrive from each. Tree 8 is the other way round.
std::shared_ptr<const core::Tables> crossed_trees() {
  core::TablesBuilder builder;
  for (std::size_t i = 0; i < Stepped::ports; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  EXPECT_EQ(builder.add_tree(tree, 4, PortNumber{0}, PortSet{0b11'1000}), "");
  EXPECT_EQ(builder.add_tree(other_tree, 2, PortNumber{1}, PortSet{0b10'0100}), "");
  return builder.build(1);
}

/// Sends `count` frames through a port whose worker takes them immediately.
void flood(Stepped& s, std::size_t port, const Frame& frame, std::size_t count) {
  constexpr std::size_t burst = Worker::burst;
  for (std::size_t sent = 0; sent < count; sent += burst) {
    for (std::size_t i = 0; i < burst; ++i) {
      s.fabric.host(port).send(frame);
    }
    s.step(s.fabric.workers().worker_of(0, PortNumber{static_cast<std::uint8_t>(port)}));
  }
}

/// One reduction on tree 8 while worker 0 is stepped as often as that needs, and no oftener.
void expect_reduction_on_the_other_tree(Stepped& s, std::uint32_t sequence) {
  s.fabric.host(1).send(arm_frame(sequence, other_tree));
  s.step(1);
  ASSERT_TRUE(s.fabric.host(2).receive().has_value());
  ASSERT_TRUE(s.fabric.host(5).receive().has_value());
  s.fabric.host(2).send(contribution(sequence, 20, other_tree));
  s.fabric.host(5).send(contribution(sequence, 50, other_tree));
  s.step(0);
  s.step(1);
  const auto frame = s.fabric.host(1).receive();
  ASSERT_TRUE(frame.has_value());
  wire::ReductionFrame result;
  ASSERT_EQ(wire::decode(*frame, wire::default_ethertype, result), wire::DecodeError::none);
  EXPECT_EQ(result.word.seqno, SequenceNumber(sequence));
  EXPECT_EQ(result.payload[0], 70U);
}

/// With frames that cross one by one, and with ones that cross combined and are refused: nothing is
/// armed for them.
class Overload : public ::testing::TestWithParam<wire::Opcode> {};
INSTANTIATE_TEST_SUITE_P(Of, Overload,
                         ::testing::Values(wire::Opcode::flt_sum_nearest, wire::Opcode::int_sum),
                         [](const auto& test) {
                           return test.param == wire::Opcode::int_sum ? "subtotals" : "frames";
                         });

TEST_P(Overload, that_lasts_loses_only_what_is_counted_and_leaves_nothing_behind) {
  constexpr std::size_t frames_at_once = 2 * handoff_ring_frames;
  const std::uint32_t before = eal().free_buffers();
  {
    Stepped s({.ports = Stepped::ports,
               .own_queues = true,
               .tables = crossed_trees(),
               .settings = engines_at_parents()});
    auto too_many = contribution(1, 1);
    too_many.word.op = static_cast<std::uint8_t>(GetParam());
    const Frame frame = bytes_of(too_many);
    std::uint64_t sent = 0;
    std::uint64_t at_root = 0;
    std::uint64_t lost_before = 0;
    for (std::uint32_t turn = 1; turn <= 10; ++turn) {
      flood(s, 3, frame, frames_at_once);
      sent += frames_at_once;
      const std::uint64_t lost = s.drops(core::DropReason::handoff_full);
      ASSERT_GT(lost, lost_before) << "no overload in turn " << turn;
      lost_before = lost;
      // The other direction is free meanwhile, and so are a worker's own queues.
      ASSERT_NO_FATAL_FAILURE(expect_reduction_on_the_other_tree(s, turn)) << "turn " << turn;
      at_root += s.fabric.root().receive_all();
    }
    s.drain();
    at_root += s.fabric.root().receive_all();
    EXPECT_EQ(sent, at_root + s.drops(core::DropReason::handoff_full) +
                        s.fabric.drops(0, core::DropReason::queue_full));
    EXPECT_EQ(s.fabric.drops(3, core::DropReason::handoff_full),
              s.drops(core::DropReason::handoff_full))
        << "where they came in";
    EXPECT_EQ((s.of(1).subtotals.read() != 0), GetParam() == wire::Opcode::int_sum);

    // Afterwards the state is as before.
    s.fabric.root().send(arm_frame(2));
    s.drain();
    for (const std::size_t leaf : {3U, 4U, 5U}) {
      ASSERT_TRUE(s.fabric.host(leaf).receive().has_value());
      auto f = contribution(2, leaf);
      f.word.count = leaf == 5 ? 2 : 1;
      s.fabric.host(leaf).send(f);
    }
    s.drain();
    const auto result = s.fabric.root().expect_reduction();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->word.count, 4U);
    EXPECT_EQ(result->payload[0], 12U);
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

// Traces. ---------------------------------------------------------------------------------------

TEST(TracesOfSubtotals, have_each_contribution_once_where_everything_is_traced) {
  constexpr std::uint32_t rounds = 20;
  // Leaves 1, 3 and 5 are of worker 1, and the engine is on worker 0.
  Stepped s({.ports = Stepped::ports, .settings = engines_at_parents()});
  s.fabric.workers().set_tracing(core::Tracing::everything);
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    s.fabric.root().send(arm_frame(round));
    s.drain();
    for (std::size_t leaf = 1; leaf < Stepped::ports; ++leaf) {
      s.fabric.host(leaf).send(contribution(round, leaf));
    }
    s.drain();
    ASSERT_TRUE(s.fabric.root().receive().has_value());
  }
  ASSERT_EQ(s.of(1).subtotals.read(), rounds) << "or this tests nothing";
  ASSERT_EQ(s.of(1).added_up.read(), 3 * rounds);

  std::map<std::uint32_t, std::map<std::uint8_t, std::size_t>> seen; // by sequence and port
  std::map<std::uint32_t, std::size_t> completed;
  for (const TraceEvent& event : s.fabric.workers().trace()) {
    if (event.event != core::Event::contributed && event.event != core::Event::completed_full) {
      continue;
    }
    ASSERT_TRUE(event.multicast);
    ASSERT_EQ(event.key, ReductionKey(tree, ReductionId{0}));
    ASSERT_EQ(event.word.opcode(), wire::Opcode::int_sum);
    ASSERT_FALSE(event.word.arm);
    ++seen[event.word.seqno.value()][event.port.value];
    if (event.event == core::Event::completed_full) {
      EXPECT_EQ(event.action, core::Action::emit);
      EXPECT_EQ(event.out, PortNumber{0});
      ++completed[event.word.seqno.value()];
    } else {
      EXPECT_EQ(event.action, core::Action::absorb);
      EXPECT_EQ(event.word.count, 1U);
    }
  }
  ASSERT_EQ(seen.size(), rounds);
  for (const auto& [sequence, by_port] : seen) {
    EXPECT_EQ(by_port.size(), Stepped::ports - 1) << sequence;
    for (const auto& [port, times] : by_port) {
      EXPECT_EQ(times, 1U) << "sequence " << sequence << ", port " << int{port};
    }
    EXPECT_EQ(completed[sequence], 1U) << sequence;
  }
}

} // namespace
} // namespace tributary::worker::test
