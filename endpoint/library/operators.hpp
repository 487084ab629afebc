// From the operators and types of the C API to those of frames. They come as plain numbers, for a
// C program may hand over any.
#pragma once

#include "endpoint/collective/element_type.hpp"
#include "tributary/tributary.h"
#include "tributary/wire/opcode.hpp"

#include <optional>

namespace tributary::library {

/// The type of this number, or nothing if there is none.
[[nodiscard]] std::optional<collective::ElementType> element_type(int type);

/// The opcode that reduces this type with this operator, or nothing if there is no such reduction
/// in frames of 32 bytes, or in a group whose frames may be wide.
[[nodiscard]] std::optional<wire::Opcode> opcode_for(int op, collective::ElementType type,
                                                     bool wide_group = false);

} // namespace tributary::library
