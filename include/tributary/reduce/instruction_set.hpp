// The vector instructions of the kernels of wide frames. One binary holds the kernels compiled for
// each set; the processor's best set is chosen once, at start. Results do not depend on it.
//
//   set       what a kernel may use                       vector
//   baseline  the build's target: SSE4.2 on x86-64        16 bytes
//   avx2      AVX2, F16C                                  32 bytes
//   avx512    AVX-512 F, BW, DQ, VL, and all of avx2      64 bytes
//
// Frames of 84 bytes need none of this: docs/decisions/instruction-sets.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::reduce {

enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };

inline constexpr InstructionSet all_instruction_sets[] = {
    InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512};

constexpr std::string_view name_of(InstructionSet set) {
  switch (set) {
  case InstructionSet::baseline: return "baseline";
  case InstructionSet::avx2: return "avx2";
  case InstructionSet::avx512: return "avx512";
  }
  return "unknown";
}

#if defined(__x86_64__)

namespace detail {

/// clang's __builtin_cpu_supports does not know F16C by name. The system saves its registers if and
/// only if it saves those of AVX2.
inline bool has_half_conversion() noexcept {
  std::uint32_t a = 1;
  std::uint32_t c = 0;
  asm("cpuid" : "+a"(a), "+c"(c) : : "ebx", "edx");
  return (c >> 29 & 1U) != 0;
}

} // namespace detail

#endif

/// Whether this machine supports the set.
inline bool is_available(InstructionSet set) noexcept {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && detail::has_half_conversion();
  static const bool has_avx512 =
      has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  switch (set) {
  case InstructionSet::baseline: return true;
  case InstructionSet::avx2: return has_avx2;
  case InstructionSet::avx512: return has_avx512;
  }
  return false;
#else
  return set == InstructionSet::baseline;
#endif
}

/// The widest set that this machine supports.
inline InstructionSet best_instruction_set() noexcept {
  return is_available(InstructionSet::avx512) ? InstructionSet::avx512
         : is_available(InstructionSet::avx2) ? InstructionSet::avx2
                                              : InstructionSet::baseline;
}

} // namespace tributary::reduce
