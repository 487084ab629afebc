// The order of the sequence numbers that hosts hand out: 0 to 1021, then 0 again. (Engines compare
// modulo 1024; the two numbers that hosts leave out cost them nothing, for no engine expects +1.)
#pragma once

#include "tributary/types.hpp"

namespace tributary::collective {

/// A sequence that no result has: the resno of a first arm, before any result.
inline constexpr SequenceNumber no_sequence{1023};

constexpr SequenceNumber successor(SequenceNumber s) {
  return SequenceNumber{(std::uint32_t{s.value()} + 1) % usable_sequences};
}

/// Whether `a` was handed out after `b`, as long as fewer than 511 lie between them.
constexpr bool is_newer(SequenceNumber a, SequenceNumber b) {
  const auto ahead = (a.value() + usable_sequences - b.value()) % usable_sequences;
  return ahead >= 1 && ahead < usable_sequences / 2;
}

} // namespace tributary::collective
