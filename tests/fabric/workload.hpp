// What the members of a group contribute: for each piece an operator, and for each member a value
// that depends only on the seed, the piece and the rank. The values are chosen so that the result
// is known exactly in any order of combination, or up to the roundings the operator allows; see
// reference.hpp.
//
// Nearly all values differ between members, so a contribution that is lost or counted twice is
// detected.
#pragma once

#include "endpoint/collective/piece.hpp"
#include "tributary/random.hpp"
#include "tributary/wire/opcode.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::fabric {

/// How the values of one piece are made.
enum class Style : std::uint8_t {
  plain,   ///< ordinary numbers; sums are exact and do not overflow
  extreme, ///< sums wrap or round; comparisons include infinities, NaNs, ties and both zeros
};

class Workload {
public:
  /// With `only`, every piece uses this operator.
  Workload(std::uint64_t seed, std::uint64_t pieces, std::uint32_t members,
           std::optional<wire::Opcode> only = std::nullopt);

  [[nodiscard]] std::uint64_t pieces() const { return pieces_.size(); }
  [[nodiscard]] std::uint32_t members() const { return members_; }
  [[nodiscard]] wire::Opcode opcode(collective::PieceNumber piece) const {
    return pieces_[piece].op;
  }
  [[nodiscard]] Style style(collective::PieceNumber piece) const { return pieces_[piece].style; }
  /// This member's contribution.
  [[nodiscard]] collective::Operand operand(collective::PieceNumber piece,
                                            std::uint32_t rank) const;

private:
  struct Piece {
    wire::Opcode op = wire::Opcode::barrier;
    Style style = Style::plain;
    std::uint64_t seed = 0;
  };
  std::vector<Piece> pieces_;
  std::uint32_t members_;
};

} // namespace tributary::fabric
