// The cost of a received frame in the engine of a host (endpoint/engine), nanoseconds: finding the
// protocol whose claim it fits, and handing it over. Protocols read nothing of it.
//
//   hand_out_trees      each group has a tree to itself
//   hand_out_ranges     groups share trees, nine on each: one has the half of the ids, and eight
//                       have ranges of eight, as communicators of the same nodes do
//   hand_out_one_of     the same, and all frames are for one group: the others rest
//
// By the number of groups, and of frames in a burst. The frames of a burst are for groups in an
// order without a pattern, so it makes up to one call for each group; and a round polls every group
// that is awake, and asks it for frames. What ranges cost is therefore the difference between
// `hand_out_ranges` and `hand_out_trees` with as many groups.

#include "endpoint/engine/engine.hpp"
#include "lib/link/port.hpp"
#include "tributary/wire/reduction.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace tributary::engine {
namespace {

constexpr std::size_t ids_of_tree = most_reductions_per_tree;
constexpr std::size_t groups_of_tree = 9;

/// Receives the same frames again and again, a burst at a time; sends nothing.
class Replay final : public link::Port {
public:
  explicit Replay(std::size_t frames_at_once)
      : link::Port(longest_burst), at_once_(frames_at_once) {}

  /// Frames of the next round.
  void set_frames_at_once(std::size_t frames) { at_once_ = frames; }

  /// A frame of 84 bytes for this address, in two cache lines.
  void add(TreeNumber tree, ReductionId id) {
    Buffer& buffer = *buffers_.emplace_back(std::make_unique<Buffer>());
    wire::ReductionFrame f;
    f.tree = tree;
    wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(buffer.bytes,
                                                                      wire::reduction_frame_bytes));
    std::byte* const portals = buffer.bytes + wire::ethernet_header_bytes;
    wire::store_be<std::uint32_t>(portals + wire::portals_offset::dfa,
                                  wire::FabricAddress::multicast(tree, id).value);
    wire::write_fabric_header_checksum(portals);
    frames_.push_back({buffer.bytes, wire::reduction_frame_bytes});
  }
  /// In an order without a pattern.
  void shuffle() { std::shuffle(frames_.begin(), frames_.end(), std::mt19937_64(1)); }

  [[nodiscard]] std::uint32_t longest_frame() const override { return 128; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "benchmark"; }

private:
  struct alignas(64) Buffer {
    std::byte bytes[128];
  };
  std::size_t transmit(std::span<Slot> slots) override { return slots.size(); }
  std::size_t replenish(std::span<Slot>) override { return 0; }
  std::size_t take(std::span<FrameView> views) override {
    const std::size_t count = std::min(at_once_, views.size());
    for (std::size_t i = 0; i < count; ++i) {
      views[i] = frames_[next_];
      next_ = next_ + 1 < frames_.size() ? next_ + 1 : 0;
    }
    return count;
  }

  std::size_t at_once_;
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<FrameView> frames_;
};

/// Counts frames, and may rest as a group without calls may.
class Counter final : public Protocol {
public:
  void receive(std::span<const FrameView> frames, TimeNs) override { count += frames.size(); }
  void poll(TimeNs) override {}
  [[nodiscard]] TimeNs next_deadline() const override { return never; }
  [[nodiscard]] bool may_rest() const override { return true; }
  [[nodiscard]] bool has_to_send() const override { return false; }
  void send(Outlet&) override {}

  std::uint64_t count = 0;
};

TreeNumber tree_at(std::size_t index) {
  return TreeNumber{static_cast<std::uint16_t>(index * 37 % max_trees)};
}

/// Enough that the frames' own cache misses are the same in all cases.
constexpr std::size_t frames_replayed = 4096;

/// Frames of the first trees, for all their ids.
void add_frames(Replay& port, std::size_t trees) {
  for (std::size_t i = 0; i < frames_replayed; ++i) {
    port.add(tree_at(i % trees), ReductionId{static_cast<std::uint8_t>(i / trees % ids_of_tree)});
  }
  port.shuffle();
}

void run_rounds(benchmark::State& state, Engine& engine, std::size_t burst) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine.round(TimeNs{1}));
  }
  state.counters["per_frame"] =
      benchmark::Counter(static_cast<double>(burst), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

/// All groups rest that may.
void settle(Engine& engine, Replay& port, std::size_t burst) {
  port.set_frames_at_once(0);
  engine.round(TimeNs{1});
  port.set_frames_at_once(burst);
}

void hand_out_trees(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto burst = static_cast<std::size_t>(state.range(1));
  Replay port(burst);
  add_frames(port, count);
  Engine engine(port, wire::default_ethertype);
  std::vector<Counter> groups(count);
  for (std::size_t i = 0; i < count; ++i) {
    engine.add(groups[i]);
    engine.claim(groups[i], tree_at(i));
  }
  run_rounds(state, engine, burst);
  if (engine.frames_unclaimed() != 0) {
    state.SkipWithError("some frames were for no group");
  }
}

/// `only_one`: gets all frames, and the others rest.
void hand_out_shared(benchmark::State& state, bool only_one) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto burst = static_cast<std::size_t>(state.range(1));
  Replay port(burst);
  Engine engine(port, wire::default_ethertype);
  std::vector<Counter> groups(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t range = i % groups_of_tree;
    const std::size_t ids = range == 0 ? ids_of_tree / 2 : 8;
    const std::size_t first = range == 0 ? 0 : ids_of_tree / 2 + 8 * (range - 1);
    engine.add(groups[i]);
    engine.claim(groups[i], tree_at(i / groups_of_tree),
                 ReductionId{static_cast<std::uint8_t>(first)}, ids, ids_of_tree);
  }
  if (only_one) { // the one with the half of the first tree
    for (std::size_t i = 0; i < frames_replayed; ++i) {
      port.add(tree_at(0), ReductionId{static_cast<std::uint8_t>(i % (ids_of_tree / 2))});
    }
    settle(engine, port, burst);
  } else {
    add_frames(port, count / groups_of_tree);
  }
  run_rounds(state, engine, burst);
  if (engine.frames_unclaimed() != 0) {
    state.SkipWithError("some frames were for no group");
  }
}
void hand_out_ranges(benchmark::State& state) { hand_out_shared(state, false); }
void hand_out_one_of(benchmark::State& state) { hand_out_shared(state, true); }

void groups_and_bursts(benchmark::internal::Benchmark* b) {
  b->ArgNames({"groups", "burst"});
  for (const int groups : {9, 72, 1008}) {
    b->Args({groups, 1})->Args({groups, 32});
  }
}

BENCHMARK(hand_out_trees)->ArgNames({"groups", "burst"})->Args({1, 1})->Args({1, 32});
BENCHMARK(hand_out_trees)->Apply(groups_and_bursts);
BENCHMARK(hand_out_ranges)->Apply(groups_and_bursts);
BENCHMARK(hand_out_one_of)->Apply(groups_and_bursts);

} // namespace
} // namespace tributary::engine
