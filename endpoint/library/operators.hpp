// From the operators and types of the C API to those of frames.
#pragma once

#include "endpoint/collective/element_type.hpp"
#include "tributary/reduce/opcode.hpp"
#include "tributary/tributary.h"

#include <optional>

namespace tributary::library {

/// The type of this number, or nothing if there is none.
[[nodiscard]] std::optional<collective::ElementType> element_type(tributary_type type);

/// The opcode that reduces this type with this operator, or nothing if there is no such reduction.
[[nodiscard]] std::optional<reduce::Opcode> opcode_for(tributary_op op,
                                                       collective::ElementType type);

} // namespace tributary::library
