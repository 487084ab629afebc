// An independent account of what a reduction must result in: written from the protocol page, over
// all contributions at once, without the product's operators. It knows no order and no tree.
#pragma once

#include "endpoint/collective/piece.hpp"

#include <span>
#include <string>

namespace tributary::fabric {

/// What is wrong with the result of a reduction over exactly these contributions, or an empty
/// string. All of one operator, at least two, as Workload makes them.
///
/// Exact for every operator but FLT_SUM of values that round, which must lie within one rounding
/// per addition of the exact sum, on the right side of it in the directed modes.
std::string fault_of_result(std::span<const collective::Operand> contributions,
                            const collective::Completion& result);

} // namespace tributary::fabric
