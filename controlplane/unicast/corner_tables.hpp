// Tables of two-dimension fat trees, with routes chosen by their corners.
//
// From leaf (r1, c1) to leaf (r2, c2) two short paths exist: xy over the corner (r1, c2), yx over
// (r2, c1). This file has the common part of VTFTR and VTFTR+; they differ in their `CornerRules`:
// which path a leaf begins, and where a root may send frames that cannot go down at their place.
//
//   leaf, from a host     the first path that the rules name; XU or YU on vc 0
//   leaf, from a row      up its column, same vc          (never by the table of the line above:
//   leaf, from a column   up its row, vc + 1               the input-dimension rule)
//   row root              down at c2; in row r2 or dest_dead; else to a spare column, which costs a
//                         turn from column to row later, or no_vc; else back to the sending leaf
//   column root           the same with rows and columns exchanged
//
// Further virtual channels depend on the policy: the last segment of a route is the one whose line
// contains the destination.
#pragma once

#include "controlplane/unicast/algorithm.hpp"

namespace tributary::unicast {

enum class FirstStep : std::uint8_t { row, column, none };

/// The kinds of detours allowed; values other than `all` are for comparisons.
enum class Detours : std::uint8_t {
  rows,   ///< row, column, row: by row roots only
  either, ///< and column, row, column
  all,    ///< and row, column, row, column, where the algorithm supports it
};

class CornerRules {
public:
  CornerRules() = default;
  CornerRules(const CornerRules&) = delete;
  CornerRules& operator=(const CornerRules&) = delete;
  virtual ~CornerRules() = default;

  /// For leaves in different rows and columns.
  [[nodiscard]] virtual FirstStep first_step(std::uint32_t from, std::uint32_t to) const = 0;
  /// Fills in the columns over which row `row` reaches leaf `to`, which is in another row. May
  /// contain the destination's own.
  virtual void spare_columns(std::uint32_t row, std::uint32_t to, Bitmap& columns) const = 0;
  virtual void spare_rows(std::uint32_t column, std::uint32_t to, Bitmap& rows) const = 0;
};

/// Requires two dimensions.
[[nodiscard]] TableSet corner_tables(const Shape& shape, const CornerRules& rules,
                                     const RouteOptions& options);

void require_corners(std::string_view algorithm, const Shape& shape);
void require_dead_leaves_only(std::string_view algorithm, const Shape& shape, const Faults& known);

} // namespace tributary::unicast
