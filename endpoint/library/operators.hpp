// Maps the operators and types of the C API to those of frames. They are plain numbers, because a C
// program may pass any.
#pragma once

#include "endpoint/collective/element_type.hpp"
#include "tributary/tributary.h"
#include "tributary/wire/opcode.hpp"

#include <optional>
#include <string_view>

namespace tributary::library {

/// The type of this number; nullopt if unknown.
[[nodiscard]] std::optional<collective::ElementType> element_type(int type);

/// The opcode that reduces this type with this operator; nullopt if no such reduction exists in
/// frames of 32 bytes, or in a group whose frames may be wide.
[[nodiscard]] std::optional<wire::Opcode> opcode_for(int op, collective::ElementType type,
                                                     bool wide_group = false);

/// As in tributary.h, without the prefix: "SUM_UPWARD", "FLOAT16". An operator may be any number.
[[nodiscard]] std::string_view operator_name(int op);
[[nodiscard]] std::string_view type_name(collective::ElementType type);

} // namespace tributary::library
