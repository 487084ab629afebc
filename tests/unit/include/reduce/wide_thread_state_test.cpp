// Whatever floating-point state a thread is in, wide kernels compute the same, and the thread finds
// its state as it was, flags included. And sums made through the C library, for other processors
// than x86-64 and aarch64, are those made natively.
#include "tests/unit/include/reduce/thread_states.hpp"
#include "tests/unit/include/reduce/wide_operands.hpp"
#include "tributary/reduce/held_floats.hpp"
#include "tributary/reduce/wide_kernels.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::test::wide {
namespace {

/// The bytes of a payload and its result code.
struct Trace {
  std::vector<std::byte> bytes;
  ResultCode rc = ResultCode::success;
  friend bool operator==(const Trace&, const Trace&) = default;
};

/// begin, add, end.
Trace trace_of(const reduce::WideKernel& kernel, const std::vector<Vector>& operands, Form form) {
  const std::size_t bytes = operands.front().size() * wire::element_bytes(form);
  const Guarded slot(2 * bytes, 0);
  const Guarded frame(bytes, 6);
  Trace trace;
  put(frame.data(), form, operands[0]);
  trace.rc = kernel.begin(slot.data(), frame.span());
  put(frame.data(), form, operands[1]);
  trace.rc = worse(trace.rc, kernel.add(slot.data(), frame.span()));
  put(frame.data(), form, operands[2]);
  trace.rc = worse(trace.rc, kernel.end(slot.data(), frame.span()));
  trace.bytes.assign(frame.data(), frame.data() + bytes);
  const ResultCode emitted = kernel.emit(slot.data(), frame.span());
  trace.rc = worse(trace.rc, emitted);
  trace.bytes.insert(trace.bytes.end(), frame.data(), frame.data() + bytes);
  return trace;
}

std::vector<Vector> random_operands(Random& random, Opcode op, Form form, std::size_t count) {
  const Kind kind = random() % 2 == 0 ? Kind::numbers : Kind::anything;
  std::vector<Vector> operands{random_vector(random, op, form, kind, Vector(count))};
  operands.push_back(random_vector(random, op, form, kind, operands.back()));
  operands.push_back(random_vector(random, op, form, kind, operands.back()));
  return operands;
}

#if defined(TRIBUTARY_FPU)

bool is_vector_form(Form form) { return form != Form::tuple && form != Form::repsum; }

TEST(WideThreadState, ChangesNoResultAndIsAsItWas) {
  Random random(seed());
  for (const reduce::InstructionSet set : reduce::all_instruction_sets) {
    if (!reduce::is_available(set)) {
      continue;
    }
    const reduce::WideKernels kernels(NanMode::associative, set);
    for (const Opcode op : wire::all_opcodes) {
      for (const Form form : wire::wide_forms) {
        if (!is_vector_form(form) || !wire::carries(form, op)) {
          continue;
        }
        const auto operands = random_operands(random, op, form, 1 + random() % 40);
        const reduce::WideKernel kernel = kernels.of(op, form);
        const Trace expected = trace_of(kernel, operands, form);
        for (const fpu::State state : thread_states()) {
          const fpu::State before = fpu::read();
          fpu::write(state);
          const Trace trace = trace_of(kernel, operands, form);
          const fpu::State after = fpu::read();
          fpu::write(before);
          ASSERT_EQ(trace, expected) << wire::name_of(op) << std::hex << ' ' << state;
          ASSERT_EQ(after, state) << wire::name_of(op) << ' ' << wire::name_of(form);
        }
      }
    }
  }
}

TEST(HeldFloats, ChangeNoResultOfAnyKernelAmongOthersAndGiveTheThreadItsStateBack) {
  Random random(seed() + 2);
  for (const reduce::InstructionSet set : reduce::all_instruction_sets) {
    if (!reduce::is_available(set)) {
      continue;
    }
    const reduce::WideKernels kernels(NanMode::associative, set);
    for (const fpu::State state : thread_states()) {
      std::vector<Trace> expected;
      std::vector<Trace> held;
      const fpu::State before = fpu::read();
      fpu::write(state);
      fpu::State after = 0;
      {
        std::optional<reduce::HeldFloats> floats(std::in_place);
        for (int round = 0; round < 60; ++round) {
          const Opcode op = wire::all_opcodes[random() % std::size(wire::all_opcodes)];
          const Form form = wire::wide_forms[random() % std::size(wire::wide_forms)];
          if (!is_vector_form(form) || !wire::carries(form, op)) {
            continue;
          }
          const fpu::State as_held = fpu::read();
          fpu::write(fpu::all_masked);
          const auto operands = random_operands(random, op, form, 1 + random() % 40);
          expected.push_back(trace_of(kernels.of(op, form), operands, form));
          fpu::write(as_held);
          held.push_back(trace_of(kernels.of(op, form, floats->held()), operands, form));
        }
        floats.reset();
        after = fpu::read();
        fpu::write(before);
      }
      ASSERT_EQ(held, expected) << std::hex << state;
      ASSERT_EQ(after, state);
    }
  }
}

#endif

template <typename Operator> reduce::WideKernel baseline_of(Opcode op) {
  return {reduce::wide_functions_of<reduce::BaselineTarget, Operator>, {op, NanMode::associative}};
}
reduce::WideKernel through_the_library(Opcode op, Form form) {
  using Sums = reduce::LibrarySums;
  switch (form) {
  case Form::bits64: return baseline_of<reduce::WideSum<reduce::Binary64, Sums>>(op);
  case Form::bits32: return baseline_of<reduce::WideSum<reduce::Binary32, Sums>>(op);
  case Form::bits16: return baseline_of<reduce::WideNarrowSum<reduce::Binary16Narrowing, Sums>>(op);
  default: return baseline_of<reduce::WideNarrowSum<reduce::Bfloat16Narrowing, Sums>>(op);
  }
}

TEST(WideSums, ThroughTheLibraryAreThoseMadeNatively) {
  Random random(seed() + 1);
  const reduce::WideKernels kernels(NanMode::associative);
  for (const Opcode op : wire::all_opcodes) {
    for (const Form form : wire::wide_forms) {
      if (!wire::is_flt_sum(op) || !wire::carries(form, op)) {
        continue;
      }
      for (int round = 0; round < 400 / TRIBUTARY_SEED_DIVISOR; ++round) {
        const auto operands = random_operands(random, op, form, 1 + random() % 20);
        std::feclearexcept(FE_ALL_EXCEPT);
        const Trace portable = trace_of(through_the_library(op, form), operands, form);
        ASSERT_EQ(std::fegetround(), FE_TONEAREST);
        ASSERT_EQ(portable, trace_of(kernels.of(op, form), operands, form))
            << wire::name_of(op) << ' ' << wire::name_of(form);
      }
    }
  }
}

} // namespace
} // namespace tributary::test::wide
