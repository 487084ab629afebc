// The vectors of one kind that all members contribute, as wide frames carry them, and the expected
// results (vector_values.hpp).
//
// A vector begins at a column and has as many elements as its frame:
//
//   columns     0 1 2 3 4 5 6 7 8 ... n - 1
//   rank 0    . . . . . . . . .     .
//   rank 1    . . . . . . . . .     .        a frame's vector of rank 1 from column 2 on
//   ...         |_____________|
//   results   . . . . . . . . .     .        the expected result: from the same column
//
// So all variants of a rank's vector are the same few kilobytes, and a million elements of each of
// a hundred members take no more than a frame of each does.
//
// Immutable after construction.
#pragma once

#include "endpoint/collective/element_type.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::pktgen::traffic {

class VectorPool {
public:
  /// `size` ranks. Requires that wide frames have such a reduction.
  VectorPool(wire::Opcode op, collective::ElementType type, std::uint32_t size, std::size_t columns,
             std::uint64_t seed);

  /// A rank's operand from this column on.
  [[nodiscard]] const std::byte* operand(std::uint32_t rank, std::size_t column) const {
    return operands_.data() + rank * row_bytes_ + column * element_bytes_;
  }
  /// Whether these are, bit for bit, the results from this column on.
  [[nodiscard]] bool is_right(std::size_t column, std::span<const std::byte> elements) const;

private:
  wire::Opcode op_;
  collective::ElementType type_;
  std::size_t element_bytes_; ///< in frames
  std::size_t row_bytes_;
  std::vector<std::byte> operands_; ///< [rank][column]
  /// By column; as frames carry them, but for REPSUM, whose sums have several encodings: those as
  /// stored in memory.
  std::vector<std::byte> results_;
};

} // namespace tributary::pktgen::traffic
