// One piece: what a member puts into, and gets out of, one reduction frame. Pieces of a group are
// numbered from 0 in the order in which they are injected, the same at every member; piece k
// travels under reduction id f + k mod n, where n is the group's number of slots, 8 unless its
// trees have more or it shares them, and f the first id of its range, 0 unless it shares them. It
// is four words, or a vector (wide_operand.hpp).
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstdint>

namespace tributary::collective {

using PieceNumber = std::uint64_t;

/// The id of a piece in a range that begins at 0. `slots`: a power of two.
constexpr ReductionId reduction_of(PieceNumber piece, std::size_t slots = reductions_per_tree) {
  return ReductionId{static_cast<std::uint8_t>(piece & (slots - 1))};
}

/// A member's own contribution. `source` is filled in by the member.
using Operand = reduce::Contribution;

/// A finished piece. With `rc` op_mismatch, `payload[0]` holds the two source addresses and there
/// is not a result. The result of a vector is in the owner's memory, and not in `payload`.
struct Completion {
  PieceNumber piece = 0;
  wire::Payload payload{};
  wire::Opcode op = wire::Opcode::barrier;
  wire::ResultCode rc = wire::ResultCode::success;
  std::int8_t m = 0;
  std::uint8_t overflow_id = 0;
  ContributionCount count = 0;
  // At the root only:
  std::uint32_t frames = 0;            ///< frames received for it, on the tree that completed it
  ContributionCount largest_frame = 0; ///< contributions in the fullest of them
  friend bool operator==(const Completion&, const Completion&) = default;
};

} // namespace tributary::collective
