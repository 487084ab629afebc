// VTFTR: the paper's algorithm for fat trees of two dimensions, with its gaps filled.
//
// Two virtual channels. Every route is a part of row, column, row, column: the leaf that forwards a
// frame from a column to a row raises its virtual channel, so the rank of shape.hpp rises with
// every hop and no cycle of waits can close.
//
//   state      a leaf: for each other leaf whether to begin along the row or the column.
//              A row root: which columns may replace one whose leaf is dead (its spare list);
//              a column root: which rows
//   known      a *clean* column or row has no dead leaf
//
//   leaf       1. the corner of xy is alive                    row first
//              2. the corner of yx is alive                    column first
//              3. a clean column exists                        row first; the root misroutes: RCR
//              4. a clean row exists                           column first: CRC
//              5. otherwise no route
//   spares     of a row root all clean columns, of a column root all clean rows
//
// Without faults lists hold all. A root detects a dead leaf that is not known yet by its port,
// which is down, and the spare list replaces it immediately.
//
// The paper loses no pair with up to n - 1 dead leaves: a clean column and a clean row remain. One
// unknown fault is survived while at most n - 3 are known.
//
// docs/protocol/unicast-routes.md lists what the paper specifies differently, or not at all, and
// the reasons. Source: VTFTR, Computer Engineering 2022(12).
#pragma once

#include "controlplane/unicast/corner_tables.hpp"

#include <memory>

namespace tributary::unicast {

class Vtftr final : public Algorithm {
public:
  /// Throws RouteError unless the shape has two dimensions and the options at least two virtual
  /// channels.
  Vtftr(const Shape& shape, const RouteOptions& options, Detours detours = Detours::all);
  [[nodiscard]] TableSet tables(const Faults& known) override;
  /// The rules of the tables. Keeps a reference to this and to `known`.
  [[nodiscard]] std::unique_ptr<CornerRules> rules(const Faults& known) const;

private:
  Shape shape_;
  RouteOptions options_;
  Detours detours_;
};

} // namespace tributary::unicast
