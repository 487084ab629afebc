// VTFTR: the paper's algorithm for fat trees of two dimensions, with what it leaves open ruled.
//
// Two virtual channels. Every route is a part of row, column, row, column: the leaf that takes a
// frame from a column to a row raises its virtual channel, so the rank of shape.hpp rises with
// every hop and no cycle of waits can close.
//
//   state      a leaf: for each other leaf whether to begin along the row or the column.
//              A row root: which columns may stand in for one whose leaf is dead (its spare list);
//              a column root: which rows
//   known      a *clean* column has no dead leaf, a clean row neither
//
//   leaf       1. the corner of xy is alive                    row first
//              2. the corner of yx is alive                    column first
//              3. there is a clean column                      row first; the root misroutes: RCR
//              4. there is a clean row                         column first: CRC
//              5. else there is no route
//   spares     of a row root all clean columns, of a column root all clean rows
//
// Without faults lists hold all. What is dead and not known yet is met by a root: its port is down,
// and the spare list stands in at once.
//
// The paper loses nothing up to n - 1 dead leaves: as many leave a clean column and a clean row.
// One unknown fault is survived while at most n - 3 are known.
//
// What the paper says otherwise, or not at all, and why it is so here: docs/protocol/
// unicast-routes.md. Source: VTFTR, Computer Engineering 2022(12).
#pragma once

#include "controlplane/unicast/corner_tables.hpp"

#include <memory>

namespace tributary::unicast {

class Vtftr final : public Algorithm {
public:
  /// Throws RouteError unless the shape has two dimensions and there are two virtual channels or
  /// more; one is enough for `LeafRule::no_turn`.
  Vtftr(const Shape& shape, const RouteOptions& options, const CornerVariant& variant = {});
  [[nodiscard]] TableSet tables(const Faults& known) override;
  /// What the tables are made by. Keeps a reference to this and to `known`.
  [[nodiscard]] std::unique_ptr<CornerRules> rules(const Faults& known) const;

private:
  Shape shape_;
  RouteOptions options_;
  CornerVariant variant_;
};

} // namespace tributary::unicast
