// What the members of a reduce traffic contribute, and what must come out.
//
// An operation reduces one vector; it is cut into pieces of 32 bytes as the collective protocol
// wants them. Operations go through the operators in turn, so pieces repeat in cycles:
//
//   cycle   operator 0: piece piece piece   operator 1: piece   ...   operator K-1: piece piece
//
// Values come from tributary-host's workload, which knows the right result of each by scalar code
// of its own. They are made ahead, in a few variants for each operator: piece k takes variant k mod
// V. V and the eight reduction ids have no common factor, so the result of an earlier piece of the
// same reduction id cannot pass for the one that is due.
//
// One operand a rank and row lies in memory in the order of ranks, so that a walk over all leaves
// reads it in a line.
#pragma once

#include "endpoint/collective/element_type.hpp"
#include "endpoint/collective/piece.hpp"
#include "endpoint/workload/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::pktgen::traffic {

/// The names `ReduceOperands` takes, e.g. "sum-int64"; "mix" stands for all of them.
[[nodiscard]] std::vector<std::string_view> operator_names();

class ReduceOperands {
public:
  /// `size` members. Throws std::invalid_argument on an unknown operator or no elements.
  ReduceOperands(const std::vector<std::string>& operators, std::uint64_t elements,
                 std::uint32_t size, std::uint64_t seed);

  struct Place {
    std::uint64_t operation = 0; ///< numbered from 0
    std::uint32_t row = 0;
    bool first = false; ///< piece of its operation
    bool last = false;
  };
  [[nodiscard]] Place place_of(collective::PieceNumber piece) const {
    const std::uint64_t cycle = piece / cycle_.size();
    const Planned& planned = cycle_[piece % cycle_.size()];
    return {cycle * kinds_.size() + planned.kind,
            planned.first_row + static_cast<std::uint32_t>(piece % variants_), planned.first,
            planned.last};
  }
  /// Pieces of the operations of this number.
  [[nodiscard]] std::uint32_t pieces_of(std::uint64_t operation) const {
    return kinds_[operation % kinds_.size()].pieces;
  }
  /// The first piece of an operation.
  [[nodiscard]] collective::PieceNumber first_piece_of(std::uint64_t operation) const {
    return operation / kinds_.size() * cycle_.size() +
           kinds_[operation % kinds_.size()].first_piece;
  }
  [[nodiscard]] const collective::Operand& operand(std::uint32_t row, std::uint32_t rank) const {
    return operands_[std::size_t{row} * size_ + rank];
  }
  /// Whether this is bit for bit the result of all members' operands of the row.
  [[nodiscard]] bool is_right(std::uint32_t row, const collective::Completion& completion);

private:
  struct Kind {
    workload::Kind named;
    wire::Opcode op = wire::Opcode::barrier;
    collective::ElementType type = collective::ElementType::uint64;
    std::uint32_t pieces = 1;
    std::uint32_t first_piece = 0; ///< in the cycle
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
    workload::Expected expected;
    /// The completion that was found right last: all others should be its like.
    std::optional<collective::Completion> seen;
  };
  void plan(std::uint64_t elements);
  std::uint32_t add_rows(std::uint32_t kind, std::size_t elements, std::uint64_t seed);
  [[nodiscard]] bool matches(const Row& row, const collective::Completion& completion) const;

  std::uint32_t size_;
  std::uint64_t variants_;
  std::vector<Kind> kinds_;
  std::vector<Planned> cycle_;
  std::vector<Row> rows_;
  std::vector<collective::Operand> operands_; ///< [row][rank]
};

} // namespace tributary::pktgen::traffic
