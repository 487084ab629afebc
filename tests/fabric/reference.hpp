// An independent reference for the result of a reduction: written from the protocol page, over all
// contributions together, without the product's operators. It knows no order and no tree.
#pragma once

#include "endpoint/collective/piece.hpp"

#include <span>
#include <string>

namespace tributary::fabric {

/// Describes the error in the result of a reduction over exactly these contributions; "" if it is
/// right. All of one operator, at least two, as Workload makes them.
///
/// Exact for every operator but FLT_SUM of values that round, which must lie within one rounding
/// per addition of the exact sum, on the right side of it in the directed modes.
std::string fault_of_result(std::span<const collective::Operand> contributions,
                            const collective::Completion& result);

} // namespace tributary::fabric
