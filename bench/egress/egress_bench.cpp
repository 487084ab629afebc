// The cost of egress: nanoseconds a frame from the decision to the device, which takes everything
// in the cases without congestion.
//
//   array/run:N    the ceiling: an array of 32 handles that is given to the device when it is full
//                  and at the end of the iteration, and has no queue behind it
//   queues/run:N   PortQueues, one lossy class that trims, as by default; no frame is data
//   dropping/run:N the same, and the class trims nothing
//   lossless/run:N PortQueues, one lossless class
//   tight/run:N    PortQueues, one lossy class; the device takes three of four frames it is
//                  offered, so that frames wait, and the rest has to be handled at the end of the
//                  iteration
//   tight_dropping/run:N  the same, and the class trims nothing
//
// An iteration pushes 256 frames in runs of N: 1 as with forwarded frames, 32 as with runs of
// multicasts. The device copies address and length into a ring of descriptors, behind a function
// pointer, as a driver does. Repetitions are interleaved at random; compare the medians.

#include "dataplane/core/counter.hpp"
#include "dataplane/egress/port_queues.hpp"
#include "dataplane/egress/trimming.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace tributary::egress {
namespace {

constexpr std::size_t frames_an_iteration = 256;
constexpr std::uint32_t burst = 32;
constexpr TrafficClass only_class{0};
constexpr PortNumber ingress{1};

/// The part of a packet buffer that egress needs.
struct alignas(64) Frame {
  std::uint32_t length = 94;
  std::array<std::byte, 100> rest{};
};

struct Frames {
  using Handle = Frame*;
  static std::uint32_t length(const Frame* frame) { return frame->length; }
  static bool was_trimmed(const Frame* frame) {
    return frame->length == trimmed_frame_bytes && frame->rest[0] == std::byte{1};
  }
  static bool trim(Frame* /*frame*/) { return false; }
};

/// A driver's ring of descriptors.
class Driver {
public:
  [[gnu::noinline]] static std::uint16_t send(Driver& driver, Frame** frames, std::uint16_t count) {
    for (std::uint16_t i = 0; i < count; ++i) {
      driver.ring_[driver.next_++ % ring_size] = {frames[i], frames[i]->length};
    }
    return count;
  }

private:
  static constexpr std::size_t ring_size = 1024;
  struct Descriptor {
    const Frame* frame;
    std::uint32_t length;
  };
  std::array<Descriptor, ring_size> ring_{};
  std::size_t next_ = 0;
};

/// As rte_eth_tx_burst finds a driver's function.
std::uint16_t (*volatile send)(Driver&, Frame**, std::uint16_t) = Driver::send;

struct Device {
  Driver driver;
  bool tight = false;
  std::uint64_t dropped = 0;
  std::uint16_t transmit(Frame** frames, std::uint16_t count, TrafficClass /*c*/) {
    const auto taken = tight ? static_cast<std::uint16_t>(count - count / 4) : count;
    return send(driver, frames, taken);
  }
  void drop(Frame** /*frames*/, std::uint16_t count, TrafficClass /*c*/, DropReason /*why*/) {
    dropped += count;
  }
};

/// The predecessor of the queues: an array of handles that is flushed when full.
class ArrayCollector {
public:
  void push(Frame* const* frames, std::uint32_t count, TrafficClass /*c*/, PortNumber /*ingress*/,
            TimeNs now, Device& device) {
    while (count != 0) {
      const std::uint32_t taken = std::min(count, burst - count_);
      std::copy_n(frames, taken, frames_.begin() + count_);
      frames += taken;
      count -= taken;
      count_ += taken;
      if (count_ == burst) [[unlikely]] {
        flush(now, device);
      }
    }
  }
  void push(Frame* frame, TrafficClass /*c*/, PortNumber /*ingress*/, TimeNs now, Device& device) {
    frames_[count_++] = frame;
    if (count_ == burst) [[unlikely]] {
      flush(now, device);
    }
  }
  void flush(TimeNs /*now*/, Device& device) {
    if (count_ == 0) {
      return;
    }
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      bytes += frames_[i]->length;
    }
    const std::uint16_t sent =
        device.transmit(frames_.data(), static_cast<std::uint16_t>(count_), only_class);
    tx_frames_.add(sent);
    tx_bytes_.add(bytes);
    count_ = 0;
  }

private:
  std::uint32_t count_ = 0;
  std::array<Frame*, burst> frames_{};
  core::Counter tx_frames_;
  core::Counter tx_bytes_;
};

PortSettings settings(WhenFull when_full) {
  PortSettings s;
  s.classes[0].when_full = when_full;
  return s;
}

constexpr std::size_t ports = 4;

/// `make` creates the queues of a port.
template <typename Make> void leave(benchmark::State& state, bool tight, Make&& make) {
  const auto run = static_cast<std::size_t>(state.range(0));
  std::vector<Frame> frames(frames_an_iteration);
  std::vector<Frame*> handles;
  for (Frame& frame : frames) {
    handles.push_back(&frame);
  }
  std::vector<std::uint8_t> to(frames_an_iteration);
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<std::uint8_t>(i % ports);
  }
  std::shuffle(to.begin(), to.end(), std::mt19937_64(1));
  std::vector<decltype(make())> queues;
  for (std::size_t i = 0; i < ports; ++i) {
    queues.push_back(make());
  }
  const auto device = std::make_unique<Device>();
  device->tight = tight;
  TimeNs now{1};
  for (auto _ : state) {
    benchmark::DoNotOptimize(handles.data());
    now = now + 1000;
    if (run == 1) {
      for (std::size_t i = 0; i < frames_an_iteration; ++i) {
        queues[to[i]]->push(handles[i], only_class, ingress, now, *device);
      }
    } else {
      for (std::size_t i = 0; i < frames_an_iteration; i += run) {
        queues[to[i]]->push(handles.data() + i, static_cast<std::uint32_t>(run), only_class,
                            ingress, now, *device);
      }
    }
    for (const auto& queue : queues) {
      queue->flush(now, *device);
    }
  }
  state.counters["per_frame"] = benchmark::Counter(static_cast<double>(frames_an_iteration),
                                                   benchmark::Counter::kIsIterationInvariantRate |
                                                       benchmark::Counter::kInvert);
}

void array(benchmark::State& state) {
  leave(state, false, [] { return std::make_unique<ArrayCollector>(); });
}

void with_queues(benchmark::State& state, WhenFull when_full, bool tight) {
  IngressAccounts accounts;
  leave(state, tight, [&] {
    return std::make_unique<PortQueues<Frames, burst>>(settings(when_full), &accounts);
  });
}
void queues(benchmark::State& state) { with_queues(state, WhenFull::trim, false); }
void dropping(benchmark::State& state) { with_queues(state, WhenFull::drop, false); }
void lossless(benchmark::State& state) { with_queues(state, WhenFull::pause, false); }
void tight(benchmark::State& state) { with_queues(state, WhenFull::trim, true); }
void tight_dropping(benchmark::State& state) { with_queues(state, WhenFull::drop, true); }

BENCHMARK(array)->ArgName("run")->Arg(1)->Arg(4)->Arg(32);
BENCHMARK(queues)->ArgName("run")->Arg(1)->Arg(4)->Arg(32);
BENCHMARK(dropping)->ArgName("run")->Arg(1)->Arg(32);
BENCHMARK(lossless)->ArgName("run")->Arg(1)->Arg(32);
BENCHMARK(tight)->ArgName("run")->Arg(1)->Arg(32);
BENCHMARK(tight_dropping)->ArgName("run")->Arg(1)->Arg(32);

} // namespace
} // namespace tributary::egress

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  std::array<std::array<char, 64>, 3> defaults = {{{"--benchmark_enable_random_interleaving=true"},
                                                   {"--benchmark_repetitions=15"},
                                                   {"--benchmark_report_aggregates_only=true"}}};
  for (std::size_t i = 0; i < defaults.size();
       ++i) { // options of the command line follow and take precedence
    arguments.insert(arguments.begin() + 1 + static_cast<std::ptrdiff_t>(i), defaults[i].data());
  }
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
