// Whether dead leaves cut a pair of live ones off, by the rules alone: for many draws of faults.
#pragma once

#include "controlplane/unicast/corner_tables.hpp"

namespace tributary::unicast {

/// Whether a pair of live leaves has no path by these rules. Only pairs with both corners dead can
/// have none, so it costs the square of the dead leaves, without tables. Requires two dimensions,
/// and that nothing but leaves is dead.
[[nodiscard]] bool strands(const Shape& shape, const CornerRules& rules, const Faults& known);

} // namespace tributary::unicast
