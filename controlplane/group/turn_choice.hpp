// Whether a group wants in-switch results: the group or the fabric manager's file asks for them, no
// member refuses, and one tree and its wait counts suffice. Pure functions of their arguments.
#pragma once

#include "controlplane/group/group.hpp"

#include <string>

namespace tributary::group {

struct TurnChoice {
  bool turned = false;
  std::string why; ///< why not; "" if wanted, and for multicasts
};

/// `by_default`: for a group without a preference (groups.turn).
[[nodiscard]] TurnChoice turn_choice(const Group& group, bool by_default);

} // namespace tributary::group
