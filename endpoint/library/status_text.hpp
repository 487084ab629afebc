// A text about what a member waits for.
#pragma once

#include "endpoint/collective/member.hpp"

#include <string>

namespace tributary::library {

/// One line for the member, and one for each of its reductions that is not idle.
[[nodiscard]] std::string status_text(const collective::Member& member, TimeNs now);

} // namespace tributary::library
