// The wide frames that a group could have, as far as its members and the site decide.
//
// The minimum applies: of the manager's file, of the group's own limit, and of what each member's
// host supports. Switches on its trees, and their memory, may lower it further. Pure functions of
// their arguments.
#pragma once

#include "controlplane/group/group.hpp"
#include "controlplane/records/wide_frames.hpp"

#include <string>

namespace tributary::group {

struct WideFramesChoice {
  WideFrames frames;
  /// What limited it, in the order in which it was found: "rank 3 (NID 4) takes 1408 bytes"; ""
  /// when only the manager's file did.
  std::string why;
  bool short_of_room = false; ///< limited by a switch's memory
};

/// `most` is what the manager's file allows.
[[nodiscard]] WideFramesChoice wide_frames_choice(const Group& group, const WideFrames& most);

/// Lowers to what another party takes; if that is less, names `who` and what it takes.
void lower(WideFramesChoice& choice, const WideFrames& takes, const std::string& who);

} // namespace tributary::group
