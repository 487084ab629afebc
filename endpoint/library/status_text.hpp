// Texts about what a member waits for, and about its tree.
#pragma once

#include "endpoint/collective/member.hpp"
#include "tributary/tributary.h"

#include <string>

namespace tributary::library {

/// One line for the member, and one for each of its reductions that is not idle.
[[nodiscard]] std::string status_text(const collective::Member& member, TimeNs now);

/// One line about the groups that share the group's tree; "" if it never had dups.
[[nodiscard]] std::string contexts_text(const tributary_group& group);

} // namespace tributary::library
