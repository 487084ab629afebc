// The cost of an impairment: nanoseconds a frame, in bursts of 32, from driver to driver.
//
//   ceiling      frames go from one array to the other; nothing could be impaired
//   off          a port could be impaired and is not: the worker's path then has a null pointer
//                that is checked once a burst. The claim is that it equals the ceiling
//   pass         an impairment is set, and lets everything pass: the cost of going through it
//   kinds        it applies to another kind of frames than those received
//   loss, burst, delay, distance, rate, everything
//                with that fault; `everything` has them all
//
// Time runs 100 ns a frame, so that `delay` (20 us) always holds 200. Repetitions are interleaved
// at random; compare the medians. The ceiling comes first.

#include "dataplane/impairment/stage.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tributary::impairment {
namespace {

constexpr std::size_t burst = 32;
constexpr std::size_t frame_count = 4'096;
constexpr std::uint64_t gap_ns = 100;

struct alignas(64) Frame {
  std::array<std::byte, 128> bytes{};
};

/// Frames in a ring: each has left before it is used again.
class Pool {
public:
  Pool() {
    for (Frame& frame : frames_) {
      wire::ReductionFrame reduction;
      wire::encode(reduction, std::span<std::byte, wire::reduction_frame_bytes>(
                                  frame.bytes.data(), wire::reduction_frame_bytes));
    }
  }
  Frame* next() { return &frames_[next_++ % frame_count]; }

private:
  std::array<Frame, frame_count> frames_;
  std::size_t next_ = 0;
};

struct Frames {
  using Handle = Frame*;
  Pool* pool;
  [[nodiscard]] FrameView view(Frame* frame) const {
    return {frame->bytes.data(), wire::reduction_frame_bytes};
  }
  Frame* copy(Frame* frame) {
    Frame* other = pool->next();
    *other = *frame;
    return other;
  }
  Frame* made_writable(Frame* frame) { return frame; }
  void give_back(Frame* frame) { benchmark::DoNotOptimize(frame); }
};

/// As rte_eth_rx_burst and rte_eth_tx_burst find a driver's functions.
[[gnu::noinline]] std::uint16_t driver_receive(Pool& pool, Frame** frames) {
  for (std::size_t i = 0; i < burst; ++i) {
    frames[i] = pool.next();
  }
  return burst;
}
[[gnu::noinline]] void driver_send(Frame* const* frames, std::uint16_t count) {
  for (std::uint16_t i = 0; i < count; ++i) {
    Frame* sent = frames[i]; // its version for constants is deprecated
    benchmark::DoNotOptimize(sent);
  }
}
std::uint16_t (*volatile receive)(Pool&, Frame**) = driver_receive;
void (*volatile send)(Frame* const*, std::uint16_t) = driver_send;

void ceiling(benchmark::State& state) {
  const auto pool = std::make_unique<Pool>();
  std::array<Frame*, burst> frames;
  for (auto _ : state) {
    send(frames.data(), receive(*pool, frames.data()));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(burst));
}

/// A port; `stage` is null unless it is impaired.
struct Port {
  std::unique_ptr<Stage<Frames>> stage;
};

void through(benchmark::State& state, const Settings* settings) {
  const auto pool = std::make_unique<Pool>();
  Counters counters;
  Port port;
  if (settings != nullptr) {
    port.stage = std::make_unique<Stage<Frames>>(*settings, 1, wire::default_ethertype, counters,
                                                 Frames{pool.get()});
  }
  benchmark::DoNotOptimize(port);
  std::array<Frame*, burst> frames;
  TimeNs now;
  for (auto _ : state) {
    const std::uint16_t count = receive(*pool, frames.data());
    benchmark::ClobberMemory(); // the pointer is in memory, as in a worker
    if (!port.stage) [[likely]] {
      send(frames.data(), count);
      continue;
    }
    now = now + burst * gap_ns;
    port.stage->admit(frames.data(), count, now);
    while (const std::uint16_t due = port.stage->take_due(now, frames.data(), burst)) {
      send(frames.data(), due);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(burst));
}

void add(const char* name, const Settings& settings) {
  benchmark::RegisterBenchmark(name,
                               [settings](benchmark::State& state) { through(state, &settings); });
}

} // namespace

void register_benchmarks() {
  benchmark::RegisterBenchmark("ceiling", ceiling);
  benchmark::RegisterBenchmark("off", [](benchmark::State& state) { through(state, nullptr); });
  add("pass", {});
  Settings other{.loss = 1, .kinds = {}};
  other.kinds.insert(Kind::foreign);
  add("kinds", other);
  add("loss", {.loss = 0.01});
  add("burst", {.good_to_bad = 0.001, .bad_to_good = 0.25});
  add("delay", {.delay_ns = 20'000});
  add("distance", {.reorder = 0.02, .reorder_distance = 8});
  add("rate", {.rate_kbps = 7'000'000});
  add("everything", {.loss = 0.01,
                     .good_to_bad = 0.001,
                     .bad_to_good = 0.25,
                     .duplicate = 0.01,
                     .reorder = 0.02,
                     .corrupt = 0.01,
                     .delay_ns = 20'000,
                     .jitter_ns = 2'000,
                     .reorder_distance = 8,
                     .rate_kbps = 7'000'000});
}

} // namespace tributary::impairment

int main(int argc, char** argv) {
  tributary::impairment::register_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
