// Encoding and decoding whole reduction frames, and the parts of it that a switch performs.
#include "bench/reduce/operands.hpp"
#include "tributary/wire/reduction.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>

namespace tributary::bench {
namespace {

using Frame = std::array<std::byte, wire::reduction_frame_bytes>;

wire::ReductionFrame sample() {
  wire::ReductionFrame f;
  f.destination = wire::port_mac(Nid{0x12345});
  f.source = wire::host_mac(Nid{0x12345});
  f.vni = Vni{0x400};
  f.source_nid = Nid{0x12345};
  f.tree = TreeNumber{0xABC};
  f.reduction = ReductionId{5};
  f.cookie = Cookie{0x677DAABC};
  f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
  f.word.count = 1;
  f.payload = {1, 2, 3, 4};
  return f;
}

void encode(benchmark::State& state) {
  wire::ReductionFrame f = sample();
  Frame frame;
  for (auto _ : state) {
    benchmark::DoNotOptimize(f);
    wire::encode(f, frame);
    benchmark::DoNotOptimize(frame);
  }
}
BENCHMARK(encode);

void decode(benchmark::State& state) {
  Frame frame;
  wire::encode(sample(), frame);
  wire::ReductionFrame f;
  for (auto _ : state) {
    benchmark::DoNotOptimize(frame);
    benchmark::DoNotOptimize(wire::decode(frame, wire::default_ethertype, f));
    benchmark::DoNotOptimize(f);
  }
}
BENCHMARK(decode);

void header_checksum(benchmark::State& state) {
  Frame frame;
  wire::encode(sample(), frame);
  for (auto _ : state) {
    benchmark::DoNotOptimize(frame);
    benchmark::DoNotOptimize(
        wire::fabric_header_checksum_ok(frame.data() + wire::ethernet_header_bytes));
  }
}
BENCHMARK(header_checksum);

void reduction_word(benchmark::State& state) {
  std::uint64_t bits = wire::pack(sample().word);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bits);
    benchmark::DoNotOptimize(wire::unpack(bits));
  }
}
BENCHMARK(reduction_word);

void payload_round_trip(benchmark::State& state) {
  Frame frame;
  wire::encode(sample(), frame);
  std::byte* const p = frame.data() + wire::ethernet_header_bytes;
  for (auto _ : state) {
    wire::store_payload(p, wire::load_payload(p));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(payload_round_trip);

} // namespace
} // namespace tributary::bench
