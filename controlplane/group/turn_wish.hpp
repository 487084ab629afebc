// Whether a group's tree may be turned round, as far as it is its members' to say: somebody must
// have asked for it, and all must know such trees. The switch next to the root has to, too; that is
// known when there is a tree. Pure functions of their arguments.
#pragma once

#include "controlplane/group/group.hpp"

#include <string>

namespace tributary::group {

struct TurnWish {
  bool turned = false;
  std::string why; ///< "" where it was not asked for, or is so
};

[[nodiscard]] TurnWish turn_wish(const Group& group);

} // namespace tributary::group
