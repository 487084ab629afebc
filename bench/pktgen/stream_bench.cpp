// The cost of the generator's own work per frame: nanoseconds on one thread, in cache unless the
// number of flows says otherwise. Divide a second by `compose` and `receive` together for the upper
// bound of what one core can send and receive, ports excluded.
//
//   header             Ethernet and fabric header alone
//   compose/SIZE       choosing the destination, header, stamp, payload, and the port's push; a
//                      pair of nodes
//   compose_of/NODES   the same with 64 bytes and the random pattern, by number of nodes
//   receive/SIZE       recognising, header check, sequence, histogram, payload check
//   receive_of/NODES   the same with 64 bytes and the random pattern
//   receive_ends/SIZE  with only the ends of the payload checked
//   paced/SIZE         compose in an open loop with bits a second, one frame a call
#include "pktgen/traffic/stream.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace tributary::pktgen::traffic {

using scenario::Pattern;
using scenario::Stream;

namespace {

constexpr std::size_t port_count = 2;

/// Takes everything; keeps copies on request.
class Sink : public link::Port {
public:
  [[nodiscard]] std::uint32_t longest_frame() const override { return scenario::longest_size; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "sink"; }

  bool keeps = false;
  std::vector<std::vector<std::byte>> kept;

private:
  std::size_t transmit(std::span<Slot> slots) override {
    for (const Slot& slot : slots) {
      if (keeps) {
        kept.emplace_back(slot.data, slot.data + slot.length);
      }
    }
    return slots.size();
  }
  std::size_t replenish(std::span<Slot> slots) override {
    for (Slot& slot : slots) {
      slot.data = buffers_[next_++ % buffers_.size()].data();
    }
    return slots.size();
  }
  std::size_t take(std::span<FrameView>) override { return 0; }

  std::array<std::array<std::byte, 9216>, 2 * burst> buffers_{};
  std::size_t next_ = 0;
};

Placement placement() {
  Placement where;
  where.ports.resize(port_count);
  return where;
}
Stream stream(std::uint32_t size, Pattern pattern, std::uint32_t nodes) {
  Stream s;
  s.sizes = {size};
  s.pattern = pattern;
  s.nodes = nodes;
  return s;
}

/// A traffic and two ports.
struct Rig {
  explicit Rig(const Stream& s, PayloadCheck how = PayloadCheck::whole)
      : traffic(scenario::Kind::unicast, s, placement(), 1, how) {
    traffic.start(now);
  }
  /// A burst from either port.
  void generate() {
    const std::array<link::Port*, port_count> ports{&sinks[0], &sinks[1]};
    traffic.generate(ports, now);
  }
  TimeNs now{1'000};
  std::array<Sink, port_count> sinks;
  StreamTraffic traffic;
};

void compose(benchmark::State& state, const Stream& s) {
  Rig rig(s);
  for (auto _ : state) {
    rig.now.value += 100;
    rig.generate();
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t{port_count * link::Port::burst});
}

/// Frames are received in the order they were sent, each once; then their sequences are advanced.
void receive(benchmark::State& state, const Stream& s, PayloadCheck how) {
  Rig rig(s, how);
  for (Sink& sink : rig.sinks) {
    sink.keeps = true;
  }
  std::size_t received = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (Sink& sink : rig.sinks) {
      sink.kept.clear();
    }
    for (int i = 0; i < 32; ++i) {
      rig.generate();
    }
    rig.now.value += 1'000;
    state.ResumeTiming();
    for (scenario::PortIndex p = 0; p < port_count; ++p) {
      for (std::vector<std::byte>& frame : rig.sinks[p].kept) {
        // With two ports, frames that leave one arrive at the other.
        benchmark::DoNotOptimize(rig.traffic.receive(
            1 - p, {frame.data(), static_cast<std::uint32_t>(frame.size())}, rig.now));
        ++received;
      }
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(received));
  if (rig.traffic.tally(rig.now).sum(measure::Figure::Meaning::fault) != 0) {
    state.SkipWithError("frames were not received as they should be");
  }
}

void header(benchmark::State& state) {
  const StreamHeader made({}, wire::default_ethertype, Vni{1});
  std::array<std::byte, 64> frame{};
  std::uint32_t nid = 0;
  for (auto _ : state) {
    nid = (nid + 1) & 0xFFFFU;
    made.write(frame.data(), Nid{nid}, wire::FabricAddress::unicast(Nid{nid}), 60);
    benchmark::DoNotOptimize(frame);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(header);

void compose(benchmark::State& state) {
  compose(state, stream(static_cast<std::uint32_t>(state.range(0)), Pattern::permutation, 2));
}
BENCHMARK(compose)->Arg(64)->Arg(256)->Arg(1518)->Arg(9000);

void compose_of(benchmark::State& state) {
  compose(state, stream(64, Pattern::random, static_cast<std::uint32_t>(state.range(0))));
}
BENCHMARK(compose_of)->Arg(2)->Arg(64)->Arg(1'000)->Arg(100'000);

void receive(benchmark::State& state) {
  receive(state, stream(static_cast<std::uint32_t>(state.range(0)), Pattern::permutation, 2),
          PayloadCheck::whole);
}
BENCHMARK(receive)->Arg(64)->Arg(256)->Arg(1518)->Arg(9000);

void receive_ends(benchmark::State& state) {
  receive(state, stream(static_cast<std::uint32_t>(state.range(0)), Pattern::permutation, 2),
          PayloadCheck::ends);
}
BENCHMARK(receive_ends)->Arg(1518)->Arg(9000);

void receive_of(benchmark::State& state) {
  receive(state, stream(64, Pattern::random, static_cast<std::uint32_t>(state.range(0))),
          PayloadCheck::whole);
}
BENCHMARK(receive_of)->Arg(2)->Arg(64)->Arg(1'000)->Arg(100'000);

void paced(benchmark::State& state) {
  Stream s = stream(static_cast<std::uint32_t>(state.range(0)), Pattern::permutation, 2);
  s.bits_per_second = 1e10;
  Rig rig(s);
  std::uint64_t calls = 0;
  for (auto _ : state) {
    rig.now = rig.traffic.next_due();
    rig.generate();
    ++calls;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(calls));
}
BENCHMARK(paced)->Arg(64);

} // namespace
} // namespace tributary::pktgen::traffic

BENCHMARK_MAIN();
