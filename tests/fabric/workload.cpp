#include "tests/fabric/workload.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace tributary::fabric {

namespace {

using wire::Opcode;

constexpr std::uint64_t quiet_nan = 0x7FF8000000000000;
constexpr std::uint64_t negative_quiet_nan_with_payload = 0xFFF8000000001234;
constexpr std::uint64_t signalling_nan = 0x7FF0000000000001;
constexpr std::uint64_t infinity = 0x7FF0000000000000;
constexpr std::uint64_t sign = std::uint64_t{1} << 63;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::int64_t small_integer(Random& random) {
  return static_cast<std::int64_t>(random.below(std::uint64_t{1} << 42)) - (std::int64_t{1} << 41) +
         1;
}

/// An integer that is never zero: a sum of these is exact, and a zero only results from x + (-x).
double exact_double(Random& random) {
  const auto magnitude = static_cast<double>(1 + random.below(std::uint64_t{1} << 38));
  return random.chance(0.5) ? magnitude : -magnitude;
}

/// A positive integer of 53 significant bits: sums of these round. At most 2^63.
double rounding_double(Random& random) {
  const std::uint64_t mantissa = std::uint64_t{1} << 52 | random.next() >> 12 | 1;
  return std::ldexp(static_cast<double>(mantissa), static_cast<int>(random.below(11)));
}

double any_finite_double(Random& random) {
  for (;;) {
    const auto value = std::bit_cast<double>(random.next());
    if (std::isfinite(value)) {
      return value;
    }
  }
}

/// One value of a minimum or maximum.
std::uint64_t compared_value(Random& random, Style style, bool signalling) {
  if (style == Style::plain) {
    return bits(any_finite_double(random));
  }
  switch (random.below(12)) {
  case 0: return 0;
  case 1: return sign;
  case 2: return infinity;
  case 3: return sign | infinity;
  case 4: return quiet_nan;
  case 5: return negative_quiet_nan_with_payload;
  case 6: return signalling ? signalling_nan : quiet_nan;
  case 7: return 1; // the smallest subnormal
  default: return bits(static_cast<double>(random.below(5)) - 2.0);
  }
}

wire::Payload sum_lanes(Random& random, Style style, std::uint32_t rank) {
  wire::Payload lanes;
  for (auto& lane : lanes) {
    lane = bits(style == Style::plain ? exact_double(random) : rounding_double(random));
  }
  if (style == Style::extreme) {
    // Lane 3 holds numbers that are exact, but for an infinity of each sign: invalid, in any order.
    lanes[3] = bits(exact_double(random));
    if (rank < 2) {
      lanes[3] = rank == 0 ? infinity : sign | infinity;
    }
  }
  return lanes;
}

/// A double as a reproducible sum of one operand, straight from the definition: the value is
/// sum of T[i] * 2^(40 * (M - 3 + i)), M = floor(exponent / 40).
void store_reproducible(double value, collective::Operand& operand) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  if (value == 0) {
    operand.m = -26;
    return;
  }
  const int leading = std::max(exponent - 1, -1022);
  const int m = leading >= 0 ? leading / 40 : -((39 - leading) / 40);
  operand.m = static_cast<std::int8_t>(m);
  // As an integer in units of 2^(40 * (m - 3)): 53 bits, shifted by up to 159.
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int shift = exponent - 53 - 40 * (m - 3);
  for (int limb = 0; limb < 4; ++limb) {
    const int from = 40 * limb - shift;
    const std::uint64_t part =
        from >= 64 || from <= -64 ? 0 : (from >= 0 ? mantissa >> from : mantissa << -from);
    const std::uint64_t digits = limb == 3 ? part : part & ((std::uint64_t{1} << 40) - 1);
    operand.payload[static_cast<std::size_t>(limb)] = value < 0 ? 0 - digits : digits;
  }
}

} // namespace

Workload::Workload(std::uint64_t seed, std::uint64_t pieces, std::uint32_t members,
                   std::optional<Opcode> only)
    : members_(members) {
  Random random = Random(seed).fork(0x3C);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const Opcode op = only ? *only : random.pick(std::span<const Opcode>(wire::all_opcodes));
    // Sums fail only where two operands are combined: a single member's are always plain.
    const bool extreme = random.chance(0.3) && members > 1;
    pieces_.push_back({op, extreme ? Style::extreme : Style::plain, random.next()});
  }
}

collective::Operand Workload::operand(collective::PieceNumber piece, std::uint32_t rank) const {
  const Piece& p = pieces_[piece];
  Random random = Random(p.seed).fork(rank);
  collective::Operand operand;
  operand.op = p.op;
  auto& data = operand.payload;
  switch (p.op) {
  case Opcode::barrier:
  case Opcode::bit_and:
  case Opcode::bit_or:
  case Opcode::bit_xor:
  case Opcode::int_min:
  case Opcode::int_max:
    for (auto& lane : data) {
      lane = random.next();
    }
    break;
  case Opcode::int_sum:
    for (auto& lane : data) {
      // Two numbers from 2^62 to 2^63 - 1 wrap when added, and some two are always added.
      lane = p.style == Style::plain ? bits(small_integer(random))
                                     : std::uint64_t{1} << 62 | random.next() >> 2;
    }
    break;
  case Opcode::int_minmaxloc: {
    const std::uint64_t value =
        p.style == Style::plain ? random.next() : bits(static_cast<std::int64_t>(random.below(3)));
    data = {value, rank, value, rank};
    break;
  }
  case Opcode::flt_min:
  case Opcode::flt_max:
  case Opcode::flt_minnum:
  case Opcode::flt_maxnum:
    for (auto& lane : data) {
      lane = compared_value(random, p.style, true);
    }
    break;
  case Opcode::flt_minmaxloc:
  case Opcode::flt_minmaxnumloc: {
    // With both kinds of NaN the index of flt_minmaxloc depends on the order; by design.
    const std::uint64_t value = compared_value(random, p.style, p.op == Opcode::flt_minmaxnumloc);
    data = {value, rank, value, rank};
    break;
  }
  case Opcode::flt_repsum:
    store_reproducible(
        p.style == Style::plain
            ? exact_double(random)
            : std::ldexp(exact_double(random), static_cast<int>(random.below(300)) - 150),
        operand);
    break;
  default: // FLT_SUM in all its modes
    data = sum_lanes(random, p.style, rank);
    break;
  }
  return operand;
}

} // namespace tributary::fabric
