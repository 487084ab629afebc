// What the members of a reduce traffic contribute, and the expected results.
//
// An operation reduces one vector; it is cut into pieces as the collective protocol wants them
// (vector_cut.hpp): of 32 bytes, or in wide frames. Operations go through the operators in turn, so
// pieces repeat in cycles:
//
//   cycle   operator 0: piece piece piece   operator 1: piece   ...   operator K-1: piece piece
//
// Values of frames of 32 bytes come from tributary-host's workload, which computes each expected
// result by independent scalar code; those of wide frames from a pool of vectors for each operator
// (vector_pool.hpp). They are made in advance, in a few variants for each operator: piece k takes
// variant k mod V. V and the reduction ids have no common factor, so the result of an earlier piece
// of the same reduction id cannot pass for the expected one.
//
// The operands of a row are stored in the order of ranks, so that a walk over all leaves reads them
// sequentially.
#pragma once

#include "endpoint/collective/element_type.hpp"
#include "endpoint/collective/piece.hpp"
#include "endpoint/collective/vector_cut.hpp"
#include "endpoint/collective/wide_operand.hpp"
#include "lib/workload/workload.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "pktgen/traffic/divisor.hpp"
#include "pktgen/traffic/vector_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::pktgen::traffic {

/// The names that `operators` takes, e.g. "sum-int64"; "mix" is all of them. Wide frames have more;
/// "wide-mix" is all of those.
[[nodiscard]] std::vector<std::string_view> operator_names(bool wide = false);

class ReduceOperands {
public:
  /// For resolved settings (reduce_frames.hpp), and the leaves and the root. Throws
  /// std::invalid_argument on an unknown operator, or without elements.
  ReduceOperands(const scenario::Reduce& reduce, std::uint64_t seed);

  struct Place {
    std::uint64_t operation = 0; ///< numbered from 0
    std::uint32_t row = 0;
    bool first = false; ///< piece of its operation
    bool last = false;
  };
  [[nodiscard]] Place place_of(collective::PieceNumber piece) const {
    const std::uint64_t cycle = of_cycle_.quotient(piece);
    const Planned& planned = cycle_[piece - cycle * of_cycle_.number()];
    return {cycle * of_kinds_.number() + planned.kind,
            planned.first_row + static_cast<std::uint32_t>(of_variants_.remainder(piece)),
            planned.first, planned.last};
  }
  /// Pieces of the operations of this number.
  [[nodiscard]] std::uint32_t pieces_of(std::uint64_t operation) const {
    return kinds_[of_kinds_.remainder(operation)].pieces;
  }
  [[nodiscard]] bool is_wide(std::uint32_t row) const { return rows_[row].vector.is_wide(); }
  /// Requires that the row is not wide.
  [[nodiscard]] const collective::Operand& operand(std::uint32_t row, std::uint32_t rank) const {
    return operands_[rows_[row].first_operand + rank];
  }
  /// Requires that the row is wide. Its memory outlives the operation, and the result is not copied
  /// anywhere.
  [[nodiscard]] collective::WideOperand vector(std::uint32_t row, std::uint32_t rank) const {
    const Row& r = rows_[row];
    collective::WideOperand vector = r.vector;
    vector.in = pools_[r.pool].operand(rank, r.column);
    return vector;
  }
  /// Bytes of the elements of a piece, in the members' memory.
  [[nodiscard]] std::uint32_t element_bytes_of(std::uint32_t row) const {
    return rows_[row].element_bytes;
  }
  /// Whether this is bit for bit the result of all members' operands of the row. `vector`: the
  /// vector of the frame, if it is wide.
  [[nodiscard]] bool is_right(std::uint32_t row, const collective::Completion& completion,
                              const collective::WideView& vector = {});
  /// Whether the form has another opcode, for a frame with a wrong one.
  [[nodiscard]] static bool has_other_opcode(wire::Form form) { return form != wire::Form::repsum; }
  /// Whether all frames are of such a form.
  [[nodiscard]] bool have_other_opcodes() const;

private:
  struct Kind {
    workload::Kind named;
    wire::Opcode op = wire::Opcode::barrier;
    collective::ElementType type = collective::ElementType::uint64;
    std::uint32_t pieces = 1;
  };
  struct Planned {
    std::uint32_t kind = 0;
    std::uint32_t first_row = 0; ///< of its variants
    bool first = false;
    bool last = false;
  };
  struct Row {
    std::uint32_t kind = 0;
    std::size_t elements = 0;
    std::uint32_t element_bytes = 0;
    // Operands of 32 bytes.
    std::size_t first_operand = 0;
    workload::Expected expected;
    /// The last completion that was found right: all others should equal it.
    std::optional<collective::Completion> seen;
    // Wide.
    collective::WideOperand vector; ///< without its memory
    std::uint32_t pool = 0;
    std::uint32_t column = 0;
  };
  [[nodiscard]] static std::vector<Kind> kinds_of(const scenario::Reduce& reduce);
  void plan(std::uint32_t kind, std::uint64_t elements, std::uint64_t seed);
  std::uint32_t add_rows(std::uint32_t kind, std::size_t elements, std::uint64_t seed);
  std::uint32_t add_wide_rows(std::uint32_t kind, const collective::VectorCut& cut,
                              std::size_t elements);
  [[nodiscard]] bool matches(const Row& row, const collective::Completion& completion) const;
  [[nodiscard]] bool matches(const Row& row, const collective::Completion& completion,
                             const collective::WideView& vector) const;

  std::uint32_t size_;
  std::uint32_t payload_;
  std::vector<Kind> kinds_;
  std::uint64_t variants_;
  // By the number of kinds, of variants, and of pieces in a cycle.
  Divisor of_kinds_;
  Divisor of_variants_;
  Divisor of_cycle_{1};
  std::vector<Planned> cycle_;
  std::vector<Row> rows_;
  std::vector<collective::Operand> operands_;
  std::vector<VectorPool> pools_;
};

} // namespace tributary::pktgen::traffic
