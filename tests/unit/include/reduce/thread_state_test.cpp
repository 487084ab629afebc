// Whatever floating-point state a thread is in, results are those of its opcode; and the thread
// gets its state back. On machines other than x86-64 and aarch64 the four rounding modes are all
// that can be set.
#include "tests/unit/include/reduce/bit_patterns.hpp"
#include "tests/unit/include/reduce/contributions.hpp"
#include "tests/unit/include/reduce/thread_states.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <vector>

namespace tributary::test {
namespace {

using reduce::FloatState;

#if defined(TRIBUTARY_FPU)

struct Outcome {
  wire::Payload payload;
  ResultCode rc;
  std::int8_t m;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
template <FloatState state = FloatState::restore>
Outcome outcome(const Contribution& a, const Contribution& b) {
  Accumulator acc;
  reduce::start(acc, a);
  reduce::combine<state>(acc, b, NanMode::associative);
  return {acc.payload, acc.result_code(), acc.m};
}

TEST(ThreadState, ChangesNoResultOfAnyOperator) {
  Random random(seed());
  for (const Opcode op : wire::all_opcodes) {
    for (int i = 0; i < 300; ++i) {
      const Contribution a = random_contribution(random, op);
      const Contribution b = random_contribution(random, op, &a);
      const Outcome expected = outcome(a, b);
      for (const fpu::State state : thread_states()) {
        Outcome restored;
        Outcome kept;
        {
          const InState in_state(state);
          restored = outcome(a, b);
          kept = outcome<FloatState::keep>(a, b);
        }
        ASSERT_EQ(restored, expected) << wire::name_of(op) << " in state " << std::hex << state;
        ASSERT_EQ(kept, expected) << wire::name_of(op) << " in state " << std::hex << state;
      }
    }
  }
}

TEST(ThreadState, ControlBitsAreRestoredAndNoFlagIsTakenAway) {
  Random random(seed() + 1);
  for (const Opcode op : wire::all_opcodes) {
    for (int i = 0; i < 100; ++i) {
      const Contribution a = random_contribution(random, op);
      const Contribution b = random_contribution(random, op, &a);
      for (const fpu::State state : thread_states()) {
        fpu::State after;
        {
          const InState in_state(state);
          outcome(a, b);
          after = fpu::read();
        }
        ASSERT_EQ(after & fpu::control, state & fpu::control) << wire::name_of(op);
        ASSERT_EQ(after & state & fpu::all_flags, state & fpu::all_flags) << wire::name_of(op);
      }
    }
  }
}

TEST(ThreadState, KeepLeavesTheModeOfTheSumForTheNext) {
  const Contribution one = in_all_lanes(Opcode::flt_sum_upward, bits(1));
  fpu::State after;
  {
    const InState in_state(fpu::all_masked);
    outcome<FloatState::keep>(one, one);
    after = fpu::read();
  }
  EXPECT_EQ(after & fpu::control, fpu::control_for(wire::Rounding::upward));
}

TEST(ThreadState, OperatorsOtherThanSumsRaiseNoFlag) {
  Random random(seed() + 2);
  for (const Opcode op : wire::all_opcodes) {
    if (wire::is_flt_sum(op)) {
      continue;
    }
    for (int i = 0; i < 1'000; ++i) {
      const Contribution a = random_contribution(random, op);
      const Contribution b = random_contribution(random, op, &a);
      fpu::State after;
      {
        const InState in_state(fpu::all_masked);
        outcome(a, b);
        after = fpu::read();
      }
      ASSERT_EQ(after, fpu::all_masked) << wire::name_of(op);
    }
  }
}

TEST(ThreadState, ChangesNoConversionOfAReproducibleSum) {
  Random random(seed() + 3);
  for (int i = 0; i < 5'000; ++i) {
    reduce::ReproducibleSum sum{.limbs = {random(), random(), random(), random()},
                                .m = static_cast<std::int8_t>(random() % 53 - 26)};
    const std::uint64_t expected = bits(reduce::to_double(sum));
    for (const fpu::State state : thread_states()) {
      std::uint64_t converted;
      fpu::State after;
      {
        const InState in_state(state);
        converted = bits(reduce::to_double(sum));
        after = fpu::read();
      }
      ASSERT_EQ(converted, expected) << std::hex << state;
      ASSERT_EQ(after, state);
    }
  }
}

#endif

TEST(ThreadState, RoundingModeOfTheCLibraryChangesNoSum) {
  const auto op = Opcode::flt_sum_nearest;
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const Accumulator acc = reduced({in_all_lanes(op, bits(1)), in_all_lanes(op, bits(0x1p-60))});
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(acc.payload[0], bits(1));
    EXPECT_EQ(after, mode);
  }
}

} // namespace
} // namespace tributary::test
