// One contribution into one of many slots, as in a switch with several busy trees: frames are in
// place as a driver stored them, 62 bytes of headers before the payload, and arrive one after the
// other.
//
//   working set  frames   slots
//   L2           128 KiB  8
//   L3           4 MiB    128
#include "tributary/reduce/repsum.hpp"
#include "tributary/reduce/wide_kernels.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <string>

namespace tributary::bench::wide {
namespace {

using reduce::InstructionSet;
using reduce::NanMode;
using reduce::WideKernel;
using reduce::WideKernels;
using wire::Form;
using wire::Opcode;

/// The parameters of a benchmark.
struct Subject {
  InstructionSet set;
  Opcode op;
  Form form;
  std::size_t payload;
  std::size_t frame_bytes; ///< of all frames
  std::size_t slots;
};

struct Free {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Memory = std::unique_ptr<std::byte[], Free>;
Memory memory_of(std::size_t bytes) {
  return Memory(new (std::align_val_t{64}) std::byte[bytes]());
}

/// Numbers of mixed sign and similar magnitude, no NaN; reproducible sums of one M.
void fill(std::span<std::byte> payload, Opcode op, Form form, std::mt19937_64& random) {
  std::uniform_real_distribution<double> number(0.5, 1.0);
  const std::size_t size = wire::element_bytes(form);
  for (std::size_t at = 0; at + size <= payload.size(); at += size) {
    std::byte* const to = &payload[at];
    const double v = (random() % 2 == 0 ? 1 : -1) * number(random);
    if (form == Form::repsum) {
      const auto sum = reduce::to_reproducible(v);
      for (std::size_t i = 0; i < 4; ++i) {
        wire::store_le(to + 8 * i, sum.limbs[i]);
      }
      to[32] = static_cast<std::byte>(sum.m);
    } else if (form == Form::tuple) {
      for (std::size_t i = 0; i < 4; ++i) {
        wire::store_le(to + 8 * i, i % 2 == 0 ? std::bit_cast<std::uint64_t>(v) : random() % 1024);
      }
    } else if (!wire::is_flt_lane(op)) {
      std::generate_n(to, size, [&random] { return static_cast<std::byte>(random() % 16); });
    } else if (form == Form::bits64) {
      wire::store_le(to, std::bit_cast<std::uint64_t>(v));
    } else if (form == Form::bits32) {
      wire::store_le(to, std::bit_cast<std::uint32_t>(static_cast<float>(v)));
    } else {
      const std::uint64_t half = form == Form::bfloat16 ? 0x3F00 : 0x3800;
      wire::store_le(to, static_cast<std::uint16_t>(half | (random() & 0x807F)));
    }
  }
}

/// Calls `step(kernel, slot, payload)` over all frames and slots.
template <typename Step> void run(benchmark::State& state, const Subject& s, Step step) {
  const std::size_t frame_stride = (s.payload + wire::wide_header_bytes + 63) / 64 * 64 + 64;
  const std::size_t frame_count = std::max<std::size_t>(s.frame_bytes / frame_stride, 1);
  const std::size_t slot_stride = reduce::wide_slot_bytes(s.form, s.op, s.payload);
  const Memory frames = memory_of(frame_stride * frame_count);
  const Memory slots = memory_of(slot_stride * s.slots);
  const WideKernel kernel = WideKernels(NanMode::associative, s.set).of(s.op, s.form);
  std::mt19937_64 random(7);
  const auto payload = [&](std::size_t frame) {
    return std::span(&frames[frame * frame_stride + wire::wide_header_bytes], s.payload);
  };
  for (std::size_t i = 0; i < frame_count; ++i) {
    fill(payload(i), s.op, s.form, random);
  }
  for (std::size_t i = 0; i < s.slots; ++i) {
    kernel.begin(&slots[i * slot_stride], payload(i % frame_count));
  }
  std::size_t frame = 0;
  std::size_t slot = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(step(kernel, &slots[slot * slot_stride], payload(frame)));
    frame = frame + 1 == frame_count ? 0 : frame + 1;
    slot = slot + 1 == s.slots ? 0 : slot + 1;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(s.payload) * state.iterations());
}

void add(benchmark::State& state, const Subject& subject) {
  run(state, subject, [](const WideKernel& kernel, std::byte* slot, std::span<std::byte> payload) {
    return kernel.add(slot, payload);
  });
}
void begin(benchmark::State& state, const Subject& subject) {
  run(state, subject, [](const WideKernel& kernel, std::byte* slot, std::span<std::byte> payload) {
    return kernel.begin(slot, payload);
  });
}
/// Results are written over contributions; sums of a few hundred of them remain numbers.
void emit(benchmark::State& state, const Subject& subject) {
  run(state, subject, [](const WideKernel& kernel, std::byte* slot, std::span<std::byte> payload) {
    return kernel.emit(slot, payload);
  });
}

/// One operator for each loop.
constexpr Opcode operators[] = {
    Opcode::bit_xor,       Opcode::int_min,         Opcode::int_sum,
    Opcode::flt_min,       Opcode::flt_sum_nearest, Opcode::flt_sum_ftz_upward,
    Opcode::int_minmaxloc, Opcode::flt_minmaxloc,   Opcode::flt_repsum};

const bool registered = [] {
  struct WorkingSet {
    const char* name;
    std::size_t frame_bytes;
    std::size_t slots;
  };
  constexpr WorkingSet working_sets[] = {{"L2", 128 * 1024, 8}, {"L3", 4 * 1024 * 1024, 128}};
  for (const Form form : wire::wide_forms) {
    for (const Opcode op : operators) {
      if (!wire::carries(form, op)) {
        continue;
      }
      for (const InstructionSet set : reduce::all_instruction_sets) {
        if (!reduce::is_available(set)) {
          continue;
        }
        const auto with = [&](const char* what, auto function, std::size_t payload,
                              const WorkingSet& w) {
          const std::string name =
              std::string("wide_") + what + '/' + std::string(wire::name_of(op)) + '/' +
              std::string(wire::name_of(form)) + '/' + std::string(name_of(set)) + '/' +
              std::to_string(payload) + '/' + w.name;
          benchmark::RegisterBenchmark(name.c_str(), function,
                                       Subject{set, op, form, payload, w.frame_bytes, w.slots});
        };
        for (const WorkingSet& w : working_sets) {
          for (const std::size_t payload : {1'408U, 8'192U}) {
            with("add", add, payload, w);
          }
        }
        with("begin", begin, 1'408, working_sets[0]);
        with("emit", emit, 1'408, working_sets[0]);
      }
    }
  }
  return true;
}();

} // namespace
} // namespace tributary::bench::wide
