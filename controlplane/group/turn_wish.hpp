// Whether a group's tree is to be turned round, as far as the group and its members say: it or the
// fabric manager's file asks for it, nobody in the group refuses, and all members know such trees.
// The switch next to the root has to, too; that is known when there is a tree. Pure functions of
// their arguments.
#pragma once

#include "controlplane/group/group.hpp"

#include <string>

namespace tributary::group {

struct TurnWish {
  bool turned = false;
  std::string why; ///< why not; "" where it is so, and of multicasts
};

/// `by_default`: what holds for a group that does not say (groups.turn).
[[nodiscard]] TurnWish turn_wish(const Group& group, bool by_default);

} // namespace tributary::group
