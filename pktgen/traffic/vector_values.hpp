// The elements of vectors in wide frames, and their expected results.
//
// All of it is independent scalar code that shares nothing with the kernels of switches and roots.
// The operands are chosen so that a result is one sequence of bits, in whatever order they are
// combined and wherever a partial result is rounded:
//
//   operation        elements of the ranks, column by column
//   sum, signed and  whole numbers. The magnitudes of all ranks together are within what the type
//     floating       holds exactly: 127, 32,767, 2^31 - 1, 2^62; 2^53 (float64), 2^24 (float32),
//                    2,048 (float16), 256 (bfloat16). Where there are more ranks than that, a
//                    column's numbers are 1 or -1 at some of them, others each column, and 0 at
//                    the rest
//   sum, unsigned    any bits: they wrap
//   min, max         integers: any bits. Floats: numbers of few digits, infinities, zeros of both
//                    signs; no NaN
//   and, or          each byte has any bits at one rank, which differs from byte to byte, and what
//                    changes nothing at the others
//   xor              any bits
//   minmaxloc        few values, so that there are ties; indices of no visible order
//   repsum           multiples of 2^-30; in every other column 2^60 at one rank and -2^60 at
//                    another, beside which a plain sum would lose all the others
//   all others       any bits at one rank, which differs from column to column, and the operator's
//                    identity at the others: the result needs no arithmetic
//
// So the result code is success, but for the wrapping of unsigned sums, which switches add as
// signed ones.
//
// Pure.
#pragma once

#include "endpoint/collective/element_type.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::pktgen::traffic {

class VectorValues {
public:
  /// `size` ranks. Requires that wide frames have such a reduction.
  VectorValues(wire::Opcode op, collective::ElementType type, std::uint32_t size,
               std::uint64_t seed)
      : VectorValues(op, type, size, seed, !has_arithmetic(op)) {}
  /// `one_rank_only`: as operators of the last row above, whether or not this is one.
  VectorValues(wire::Opcode op, collective::ElementType type, std::uint32_t size,
               std::uint64_t seed, bool one_rank_only)
      : op_(op), type_(type), size_(size), seed_(seed), one_rank_only_(one_rank_only) {}

  /// Writes one rank's element as it lies in memory: `bytes_of(type)`.
  void operand(std::uint64_t column, std::uint32_t rank, std::byte* element) const;
  /// Writes the result of all ranks' elements. Takes time in proportion to them.
  void expected(std::uint64_t column, std::byte* element) const;

private:
  static bool has_arithmetic(wire::Opcode op);

  wire::Opcode op_;
  collective::ElementType type_;
  std::uint32_t size_;
  std::uint64_t seed_;
  bool one_rank_only_;
};

} // namespace tributary::pktgen::traffic
