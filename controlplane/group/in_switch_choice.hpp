// Whether a group wants in-switch results: the group or the fabric manager's file asks for them, no
// member refuses, and one tree and its wait counts suffice. Pure functions of their arguments.
#pragma once

#include "controlplane/group/group.hpp"

#include <string>

namespace tributary::group {

struct InSwitchChoice {
  bool in_switch = false;
  std::string why; ///< why not; "" if wanted, and for multicasts
};

/// `by_default`: for a group without a preference (groups.in_switch_results).
[[nodiscard]] InSwitchChoice in_switch_choice(const Group& group, bool by_default);

} // namespace tributary::group
