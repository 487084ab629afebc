// One contribution into one of eight accumulators, as an engine with eight descriptors does it.
#include "bench/reduce/operands.hpp"
#include "tributary/reduce/reducer.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cfenv>
#include <cstddef>
#include <string>

namespace tributary::bench {
namespace {

using reduce::Accumulator;
using reduce::FloatState;
using reduce::NanMode;
using wire::Opcode;

constexpr std::size_t descriptors = 8;
using Accumulators = std::array<Accumulator, descriptors>;

/// Calls `step(accumulator, contribution)` repeatedly over all operands.
template <typename Step> void run(benchmark::State& state, Opcode op, Step step) {
  const Operands operands = operands_for(op);
  Accumulators accumulators;
  for (std::size_t i = 0; i < descriptors; ++i) {
    reduce::start(accumulators[i], operands[i]);
  }
  std::size_t i = 0;
  for (auto _ : state) {
    step(accumulators[i % descriptors], operands[i % operand_count]);
    benchmark::ClobberMemory();
    ++i;
  }
  benchmark::DoNotOptimize(accumulators);
  std::fesetenv(FE_DFL_ENV); // FloatState::keep leaves its mode to the next benchmark
}

void loop(benchmark::State& state) {
  run(state, Opcode::bit_or,
      [](Accumulator& acc, const reduce::Contribution& in) { acc.op = in.op; });
}
BENCHMARK(loop);

void start(benchmark::State& state, Opcode op) {
  run(state, op, [](Accumulator& acc, const reduce::Contribution& in) { reduce::start(acc, in); });
}

template <FloatState float_state> void combine(benchmark::State& state, Opcode op) {
  run(state, op, [](Accumulator& acc, const reduce::Contribution& in) {
    reduce::combine<float_state>(acc, in, NanMode::associative);
  });
}

/// Reductions of sixteen: one start, fifteen combines, so that sticky codes are reset each time.
template <FloatState float_state> void reduction_of_16(benchmark::State& state, Opcode op) {
  std::size_t i = 0;
  run(state, op, [&i](Accumulator& acc, const reduce::Contribution& in) {
    if (i++ % (16 * descriptors) < descriptors) {
      reduce::start(acc, in);
    } else {
      reduce::combine<float_state>(acc, in, NanMode::associative);
    }
  });
}

/// From the bytes of a frame: word, payload and address taken apart, then combined.
void from_frame(benchmark::State& state, Opcode op) {
  const Operands operands = operands_for(op);
  std::array<std::array<std::byte, wire::reduction_frame_bytes>, operand_count> frames;
  for (std::size_t i = 0; i < operand_count; ++i) {
    wire::ReductionFrame f;
    f.word.op = static_cast<std::uint8_t>(op);
    f.word.m = operands[i].m;
    f.payload = operands[i].payload;
    wire::encode(f, frames[i]);
  }
  std::size_t i = 0;
  run(state, op, [&](Accumulator& acc, const reduce::Contribution&) {
    const std::byte* p = frames[i++ % operand_count].data() + wire::ethernet_header_bytes;
    const wire::ReductionWord word = wire::load_word(p);
    const reduce::Contribution in{.payload = wire::load_payload(p),
                                  .op = word.opcode(),
                                  .rc = static_cast<wire::ResultCode>(word.rc),
                                  .m = word.m,
                                  .overflow_id = word.overflow_id,
                                  .source = wire::sfa_of(p)};
    reduce::combine<FloatState::restore>(acc, in, NanMode::associative);
  });
}

const bool registered = [] {
  const auto named = [](const char* what, Opcode op) {
    return std::string(what) + "/" + std::string(wire::name_of(op));
  };
  for (const Opcode op : wire::all_opcodes) {
    benchmark::RegisterBenchmark(named("start", op).c_str(), start, op);
  }
  for (const Opcode op : wire::all_opcodes) {
    benchmark::RegisterBenchmark(named("combine", op).c_str(), combine<FloatState::restore>, op);
  }
  for (const Opcode op : wire::all_opcodes) {
    benchmark::RegisterBenchmark(named("from_frame", op).c_str(), from_frame, op);
  }
  for (const Opcode op : {Opcode::flt_sum_nearest, Opcode::flt_sum_upward}) {
    benchmark::RegisterBenchmark(named("combine_keep", op).c_str(), combine<FloatState::keep>, op);
    benchmark::RegisterBenchmark(named("reduction_of_16", op).c_str(),
                                 reduction_of_16<FloatState::restore>, op);
    benchmark::RegisterBenchmark(named("reduction_of_16_keep", op).c_str(),
                                 reduction_of_16<FloatState::keep>, op);
  }
  return true;
}();

} // namespace
} // namespace tributary::bench
