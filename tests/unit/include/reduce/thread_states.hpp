// Floating-point states that a thread may be in when it calls a kernel.
#pragma once

#include "tributary/reduce/float_environment.hpp"

#include <cstdint>
#include <vector>

namespace tributary::test {

#if defined(TRIBUTARY_FPU)

namespace fpu = reduce::fpu;

#if defined(__x86_64__)

/// As -ffast-math has it.
inline constexpr fpu::State no_subnormals = fpu::flush_to_zero | fpu::denormals_are_zero;

/// Every rounding mode, with and without flush-to-zero and denormals-are-zero, with every exception
/// masked, unmasked (a signal if one is raised), and with all sticky flags set.
inline std::vector<fpu::State> thread_states() {
  std::vector<fpu::State> states;
  for (std::uint32_t rounding = 0; rounding < 4; ++rounding) {
    for (const fpu::State ftz : {0U, fpu::flush_to_zero}) {
      for (const fpu::State daz : {0U, fpu::denormals_are_zero}) {
        for (const fpu::State rest : {fpu::all_masked, 0U, fpu::all_masked | fpu::all_flags}) {
          states.push_back(rounding << 13 | ftz | daz | rest);
        }
      }
    }
  }
  return states;
}

#else

inline constexpr fpu::State no_subnormals = fpu::flush_to_zero;

/// Every rounding mode, with and without flush-to-zero and default NaNs, with no sticky flag set
/// and with all. Few processors have traps, so they are not included.
inline std::vector<fpu::State> thread_states() {
  constexpr fpu::State default_nan = fpu::State{1} << (32 + 25);
  std::vector<fpu::State> states;
  for (fpu::State rounding = 0; rounding < 4; ++rounding) {
    for (const fpu::State flush : {fpu::State{0}, fpu::flush_to_zero}) {
      for (const fpu::State nan : {fpu::State{0}, default_nan}) {
        for (const fpu::State flags : {fpu::State{0}, fpu::all_flags}) {
          states.push_back(rounding << (32 + 22) | flush | nan | flags);
        }
      }
    }
  }
  return states;
}

#endif

/// The thread in another state for as long as this object lives.
class InState {
public:
  explicit InState(fpu::State state) : before_(fpu::read()) { fpu::write(state); }
  ~InState() { fpu::write(before_); }
  InState(const InState&) = delete;
  InState& operator=(const InState&) = delete;

private:
  fpu::State before_;
};

#endif

} // namespace tributary::test
