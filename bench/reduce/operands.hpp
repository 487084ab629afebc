// Contributions as in real reductions, made once per benchmark: numbers of mixed sign and similar
// magnitude, no NaN.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/repsum.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>

namespace tributary::bench {

inline constexpr std::size_t operand_count = 64;
using Operands = std::array<reduce::Contribution, operand_count>;

inline Operands operands_for(wire::Opcode op) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  std::uniform_int_distribution<std::int64_t> integer(-1'000'000, 1'000'000);
  const auto code = static_cast<unsigned>(op);
  Operands operands;
  for (auto& c : operands) {
    c.op = op;
    c.source = wire::FabricAddress::unicast(Nid{static_cast<std::uint32_t>(random() & max_nid)});
    if (op == wire::Opcode::flt_repsum) {
      const auto sum = reduce::to_reproducible(number(random));
      c.payload = sum.limbs;
      c.m = sum.m;
      continue;
    }
    for (auto& word : c.payload) {
      word = (code & 0x20) != 0 ? std::bit_cast<std::uint64_t>(number(random))
                                : static_cast<std::uint64_t>(integer(random));
    }
    if (wire::is_minmaxloc(op)) {
      c.payload[2] = c.payload[0];
      c.payload[1] = c.payload[3] = random() % 1024;
    }
  }
  return operands;
}

} // namespace tributary::bench
