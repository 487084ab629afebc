// VTFTR+: the spare lists of VTFTR replaced by the AND of two bitmaps.
//
//   state    M[r] = usable columns of row r, N[c] = usable rows of column c: n words of n bits
//            each, for the whole fabric
//   spares   of row root r1 on the way to (r2, ·)     M[r1] & M[r2]                        R C R
//            of column root c1 on the way to (·, c2)  N[c1] & N[c2]                        C R C
//            of row root r1 where that is empty       s in M[r1] with N[s] & N[c2] != 0    R C R C
//   leaf     xy, yx, RCR, CRC, RCRC: the first possible one
//
// A spare must be clean only for this pair of rows, not for the whole fabric. With the same two
// virtual channels no healthy pair loses its last route up to 2n - 3 dead leaves (rows + columns -
// 3), and no algorithm can guarantee more: if xy and yx are dead and RCR is blocked, each of the n
// columns has a dead leaf in row r1 or r2, c1 and c2 with the corners; if CRC is blocked, n in
// columns c1 and c2. Only the two corners count twice, so 2n - 2 are dead. And 2n - 2 are enough to
// cut a leaf off: the others of its row and of its column.
//
// One unknown fault is bypassed immediately while at most n - 2 are known.
//
// Source: docs/protocol/unicast-routes.md.
#pragma once

#include "controlplane/unicast/corner_tables.hpp"

#include <memory>

namespace tributary::unicast {

class VtftrPlus final : public Algorithm {
public:
  /// Throws RouteError unless the shape has two dimensions and the options at least two virtual
  /// channels.
  VtftrPlus(const Shape& shape, const RouteOptions& options, Detours detours = Detours::all);
  [[nodiscard]] TableSet tables(const Faults& known) override;
  /// The rules of the tables. Keeps a reference to this and to `known`.
  [[nodiscard]] std::unique_ptr<CornerRules> rules(const Faults& known) const;

private:
  Shape shape_;
  RouteOptions options_;
  Detours detours_;
};

} // namespace tributary::unicast
