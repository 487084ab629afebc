#include "controlplane/group/wide_frames_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::group {

void lower(WideFramesChoice& choice, const WideFrames& takes, const std::string& who) {
  WideFrames& frames = choice.frames;
  if (!frames.any()) {
    return;
  }
  std::string less;
  if (!takes.any()) {
    less = "takes no wide frames";
    frames = {};
  } else {
    if (takes.payload < frames.payload) {
      frames.payload = takes.payload;
      less = fmt::format("takes {} bytes", takes.payload);
    }
    if (takes.slots < frames.slots) {
      frames.slots = takes.slots;
      less +=
          fmt::format("{}{} reductions in flight", less.empty() ? "takes " : " and ", takes.slots);
    }
  }
  if (!less.empty()) {
    choice.why += fmt::format("{}{} {}", choice.why.empty() ? "" : "; ", who, less);
  }
}

WideFramesChoice wide_frames_choice(const Group& group, const WideFrames& most) {
  WideFramesChoice choice{
      .frames = group.multicast ? WideFrames{} : most, .why = {}, .short_of_room = false};
  lower(choice, group.wanted_frames, "the group");
  // Only the member that takes least is named: in large groups many take the same.
  const auto least = [&](auto what) {
    return std::ranges::min_element(group.members, {},
                                    [&](const auto& entry) { return entry.second.takes.*what; });
  };
  for (const auto& member : {least(&WideFrames::payload), least(&WideFrames::slots)}) {
    if (member != group.members.end()) {
      const auto& [rank, one] = *member;
      lower(choice, one.takes,
            one.host.empty()
                ? fmt::format("rank {} (NID {})", rank, one.nid.value)
                : fmt::format("rank {} (NID {}, host {})", rank, one.nid.value, one.host));
    }
  }
  return choice;
}

} // namespace tributary::group
