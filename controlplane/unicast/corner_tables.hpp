// Tables of two-dimension fat trees, where a route is chosen by its corners.
//
// From leaf (r1, c1) to leaf (r2, c2) there are two short ways: xy over the corner (r1, c2), yx
// over (r2, c1). What VTFTR and VTFTR+ have in common is here; what tells them apart is
// `CornerRules`: which way a leaf begins, and where a root may send what cannot go down where it
// should.
//
//   leaf, from a host     the first way that the rules name; XU or YU on vc 0
//   leaf, from a row      up its column, same vc          (never by the table of the line above:
//   leaf, from a column   up its row, vc + 1               the input-dimension rule)
//   row root              down at c2; in row r2 or dest_dead; else to a spare column, which costs a
//                         turn from column to row later, or no_vc; else back where it came from
//   column root           the same with rows and columns exchanged
//
// Virtual channels beyond that, by policy: the last segment of a route is the one whose line has
// the destination in it.
#pragma once

#include "controlplane/unicast/algorithm.hpp"

namespace tributary::unicast {

enum class FirstStep : std::uint8_t { row, column, none };

/// How far detours go; all but `all` only for tables of what each kind is worth.
enum class Detours : std::uint8_t {
  rows,   ///< row, column, row: by row roots only
  either, ///< and column, row, column
  all,    ///< and row, column, row, column, where the algorithm has it
};

class CornerRules {
public:
  CornerRules() = default;
  CornerRules(const CornerRules&) = delete;
  CornerRules& operator=(const CornerRules&) = delete;
  virtual ~CornerRules() = default;

  /// For leaves in different rows and columns.
  [[nodiscard]] virtual FirstStep first_step(std::uint32_t from, std::uint32_t to) const = 0;
  /// Fills in the columns over which row `row` reaches leaf `to`, which is in another one. May
  /// contain the destination's own.
  virtual void spare_columns(std::uint32_t row, std::uint32_t to, Bitmap& columns) const = 0;
  virtual void spare_rows(std::uint32_t column, std::uint32_t to, Bitmap& rows) const = 0;
};

/// What leaves do with what comes from a line.
enum class LeafRule : std::uint8_t {
  by_input, ///< as ruled
  by_table, ///< the literal reading: as if a host had sent it
  no_turn,  ///< as ruled, but the virtual channel stays: shows what it is for
};

/// What an algorithm is compared with to show what a rule is for; the defaults are as ruled.
struct CornerVariant {
  LeafRule leaf_rule = LeafRule::by_input;
  Detours detours = Detours::all;
  bool u_turn = true; ///< whether a root may send a frame back where it came from
};

/// Requires two dimensions.
[[nodiscard]] TableSet corner_tables(const Shape& shape, const CornerRules& rules,
                                     const RouteOptions& options, const CornerVariant& variant);

/// Throws RouteError when anything but leaves is dead, or the shape has not two dimensions.
/// Whether a pair of live leaves has no way: only pairs with both corners dead can, so it costs the
/// square of the dead leaves, and no tables.
[[nodiscard]] bool strands(const Shape& shape, const CornerRules& rules, const Faults& known);

void require_corners(std::string_view algorithm, const Shape& shape);
void require_dead_leaves_only(std::string_view algorithm, const Shape& shape, const Faults& known);

} // namespace tributary::unicast
