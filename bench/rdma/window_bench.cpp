// The cost of a frame at an RDMA sink, nanoseconds.
//
//   window       the step of the window alone, by width and by how far frames are out of order:
//                `spread:1` in order, `spread:n` each block of n comes with its last frame first
//   missing      the bitmap of a RESEND, by width
//   crc          CRC32C by number of bytes
//   sink         whole data frames through a node: checks, CRC, identity, window, copy; by payload
//
// The ceiling of `sink` is `crc` and a copy of the same bytes.

#include "endpoint/rdma/node.hpp"
#include "endpoint/rdma/window.hpp"
#include "lib/link/port.hpp"
#include "tributary/wire/crc32c.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/rdma_request.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::rdma {
namespace {

/// The order in which frames arrive: blocks of `spread`, each backwards.
std::vector<std::uint32_t> order_of(std::uint32_t count, std::uint32_t spread) {
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    order[i] = i / spread * spread + spread - 1 - i % spread;
  }
  return order;
}

void window(benchmark::State& state) {
  const auto width = static_cast<std::uint32_t>(state.range(0));
  const auto spread = static_cast<std::uint32_t>(state.range(1));
  std::vector<std::uint64_t> words(width / 64);
  Window ring(words.data(), width);
  constexpr std::uint32_t count = 4096;
  const auto order = order_of(count, spread);
  std::uint32_t base = 0;
  std::uint32_t round = 0;
  for (auto _ : state) {
    for (const std::uint32_t pidx : order) {
      base += ring.take(base, round + pidx).advance;
    }
    round += count;
    benchmark::DoNotOptimize(base);
  }
  if (base != round) {
    state.SkipWithError("the window did not follow");
  }
  state.SetItemsProcessed(state.iterations() * count);
  state.counters["ns_per_frame"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * count,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(window)
    ->ArgNames({"width", "spread"})
    ->ArgsProduct({{128, 1024}, {1, 2, 64}})
    ->Args({1024, 512});

void missing(benchmark::State& state) {
  const auto width = static_cast<std::uint32_t>(state.range(0));
  std::vector<std::uint64_t> words(width / 64);
  Window ring(words.data(), width);
  for (std::uint32_t pidx = 1; pidx < width; pidx += 3) {
    ring.take(0, pidx);
  }
  std::array<std::uint64_t, rdma_policy::most_window / 64> bits{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(ring.missing(0, 0, width, bits.data()));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(missing)->ArgName("width")->Arg(128)->Arg(1024);

void crc(benchmark::State& state) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5A});
  for (auto _ : state) {
    wire::Crc32c sum;
    sum.add(bytes.data(), bytes.size());
    benchmark::DoNotOptimize(sum.value());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(crc)->ArgName("bytes")->Arg(64)->Arg(1444)->Arg(8944);

/// Remembers the last frame a node sent.
class LastFrame final : public link::Port {
public:
  [[nodiscard]] std::uint32_t longest_frame() const override { return 9014; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "benchmark"; }
  wire::RdmaHeader heard;

private:
  std::size_t transmit(std::span<Slot> slots) override {
    for (const Slot& slot : slots) {
      wire::RdmaFrame frame;
      if (wire::decode({slot.data, slot.length}, wire::default_ethertype, frame) ==
          wire::RdmaError::none) {
        heard = frame.header;
      }
    }
    given_ = 0;
    return slots.size();
  }
  std::size_t replenish(std::span<Slot> slots) override {
    std::size_t count = 0;
    for (; count < slots.size() && given_ < buffers_.size(); ++count) {
      slots[count].data = buffers_[given_++].data();
    }
    return count;
  }
  std::size_t take(std::span<FrameView>) override { return 0; }

  std::vector<std::array<std::byte, 9014>> buffers_{burst};
  std::size_t given_ = 0;
};

void send_all(Node& node, LastFrame& port) {
  while (node.has_to_send()) {
    engine::Outlet outlet(port);
    node.send(outlet);
    port.flush();
  }
}

void sink(benchmark::State& state) {
  const auto payload = static_cast<std::uint16_t>(state.range(0));
  constexpr std::uint32_t frames = 1024;
  constexpr std::size_t burst = 32;
  constexpr Vni vni{1};
  Options o;
  o.longest_frame = 9014;
  o.address = Nid{1};
  Node node(o);
  LastFrame port;
  std::vector<std::byte> memory(std::size_t{frames} * payload);
  const auto key = node.register_region(memory, {.peers_write = true}, vni);

  wire::RdmaHeader h;
  h.source = Nid{2};
  h.destination = Nid{1};
  h.vni = vni;
  std::vector<std::byte> data(payload, std::byte{0x33});
  std::vector<std::vector<std::byte>> buffers(frames);
  std::vector<FrameView> views(frames);
  TimeNs now{1};
  for (auto _ : state) {
    state.PauseTiming();
    ++h.message;
    h.kind = wire::RdmaKind::rqt;
    h.pidx = frames;
    h.word = 0;
    h.value = frames * payload;
    h.generation = h.dcid = 0;
    std::array<std::byte, wire::rdma_request_bytes> request{};
    wire::encode(wire::RdmaRequest{.key = key->value, .incarnation = 1, .payload = payload},
                 request);
    std::vector<std::byte> frame(wire::rdma_frame_bytes(request.size()));
    wire::encode(h, {}, request, frame.data());
    const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
    node.receive({&view, 1}, now);
    send_all(node, port);
    h.kind = wire::RdmaKind::wr;
    h.value = 0;
    h.dcid = port.heard.scid;
    h.generation = port.heard.generation;
    for (std::uint32_t i = 0; i < frames; ++i) {
      h.pidx = i;
      buffers[i].resize(wire::rdma_frame_bytes(payload));
      wire::encode(h, {}, data, buffers[i].data());
      views[i] = {buffers[i].data(), static_cast<std::uint32_t>(buffers[i].size())};
    }
    state.ResumeTiming();
    for (std::size_t at = 0; at < frames; at += burst) {
      node.receive(std::span(views).subspan(at, burst), now);
      now = now + 1000;
    }
    state.PauseTiming();
    send_all(node, port);
    state.ResumeTiming();
  }
  if (node.counters().placed != static_cast<std::uint64_t>(state.iterations())) {
    state.SkipWithError("not all was placed");
  }
  state.SetItemsProcessed(state.iterations() * frames);
  state.SetBytesProcessed(state.iterations() * frames * payload);
  state.counters["ns_per_frame"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * frames,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(sink)->ArgName("payload")->Arg(64)->Arg(1444)->Arg(8944);

} // namespace
} // namespace tributary::rdma

BENCHMARK_MAIN();
