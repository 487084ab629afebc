// Whatever floating-point state a thread is in, results are those of its opcode; and the thread
// gets its state back. On machines other than x86-64 the four rounding modes are all that can be
// set.
#include "tests/unit/include/reduce/bit_patterns.hpp"
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <vector>

namespace tributary::test {
namespace {

using reduce::FloatState;

#if defined(__x86_64__)

namespace mxcsr = reduce::mxcsr;

constexpr std::uint32_t all_flags = 0x3F;
constexpr std::uint32_t denormals_are_zero = 1U << 6;
constexpr std::uint32_t flush_to_zero = 1U << 15;

/// Every rounding mode, with and without flush-to-zero and denormals-are-zero, with every exception
/// masked, unmasked (a signal if one is raised), and with all sticky flags set.
std::vector<std::uint32_t> thread_states() {
  std::vector<std::uint32_t> states;
  for (std::uint32_t rounding = 0; rounding < 4; ++rounding) {
    for (const std::uint32_t ftz : {0U, flush_to_zero}) {
      for (const std::uint32_t daz : {0U, denormals_are_zero}) {
        for (const std::uint32_t rest : {mxcsr::all_masked, 0U, mxcsr::all_masked | all_flags}) {
          states.push_back(rounding << 13 | ftz | daz | rest);
        }
      }
    }
  }
  return states;
}

/// The thread in another state for as long as this object lives.
class InState {
public:
  explicit InState(std::uint32_t state) : before_(mxcsr::read()) { mxcsr::write(state); }
  ~InState() { mxcsr::write(before_); }
  InState(const InState&) = delete;
  InState& operator=(const InState&) = delete;

private:
  std::uint32_t before_;
};

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
      for (const std::uint32_t state : thread_states()) {
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
      for (const std::uint32_t state : thread_states()) {
        std::uint32_t after;
        {
          const InState in_state(state);
          outcome(a, b);
          after = mxcsr::read();
        }
        ASSERT_EQ(after & mxcsr::control, state & mxcsr::control) << wire::name_of(op);
        ASSERT_EQ(after & state & all_flags, state & all_flags) << wire::name_of(op);
      }
    }
  }
}

TEST(ThreadState, KeepLeavesTheModeOfTheSumForTheNext) {
  const Contribution one = in_all_lanes(Opcode::flt_sum_upward, bits(1));
  std::uint32_t after;
  {
    const InState in_state(mxcsr::all_masked);
    outcome<FloatState::keep>(one, one);
    after = mxcsr::read();
  }
  EXPECT_EQ(after & mxcsr::control, mxcsr::control_for(wire::Rounding::upward));
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
      std::uint32_t after;
      {
        const InState in_state(mxcsr::all_masked);
        outcome(a, b);
        after = mxcsr::read();
      }
      ASSERT_EQ(after, mxcsr::all_masked) << wire::name_of(op);
    }
  }
}

TEST(ThreadState, ChangesNoConversionOfAReproducibleSum) {
  Random random(seed() + 3);
  for (int i = 0; i < 5'000; ++i) {
    reduce::ReproducibleSum sum{.limbs = {random(), random(), random(), random()},
                                .m = static_cast<std::int8_t>(random() % 53 - 26)};
    const std::uint64_t expected = bits(reduce::to_double(sum));
    for (const std::uint32_t state : thread_states()) {
      std::uint64_t converted;
      std::uint32_t after;
      {
        const InState in_state(state);
        converted = bits(reduce::to_double(sum));
        after = mxcsr::read();
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
