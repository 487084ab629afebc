// What a group could have of wide frames, as far as it is its members' and the site's to say.
//
// The least of all holds: of what the manager's file allows, of what the group was made with, and
// of what each member's host can. Switches on its trees, and their memory, may lower it further.
// Pure functions of their arguments.
#pragma once

#include "controlplane/group/group.hpp"
#include "controlplane/records/wide_frames.hpp"

#include <string>

namespace tributary::group {

struct WideWish {
  WideFrames frames;
  /// What kept it from being more, in the order in which it was found: "rank 3 (NID 4) takes 1408
  /// bytes"; "" when the manager's file alone did.
  std::string why;
  bool short_of_room = false; ///< a switch's memory was what kept it
};

/// `most` is what the manager's file allows.
[[nodiscard]] WideWish wide_wish(const Group& group, const WideFrames& most);

/// Lowers to what another one takes; says which, and what it takes, when that is less than before.
void lower(WideWish& wish, const WideFrames& takes, const std::string& who);

} // namespace tributary::group
