#include "controlplane/group/turn_choice.hpp"

#include <fmt/format.h>

namespace tributary::group {

TurnChoice turn_choice(const Group& group, bool by_default) {
  if (group.multicast) {
    return {};
  }
  if (!group.turn.wanted.value_or(by_default)) {
    return {
        .turned = false,
        .why =
            group.turn.wanted
                ? "the group or one of its members refused them (--no-turn)"
                : "groups.turn is false in the fabric manager's file, and no request asked for it "
                  "for it"};
  }
  if (group.trees != 1) {
    return {.turned = false,
            .why = fmt::format("it has {} trees, and the first result of them wins at the root",
                               group.trees)};
  }
  if (group.size > max_contributions) {
    return {.turned = false,
            .why = fmt::format("the switch next to the root would wait for all {} members, and no "
                               "wait count goes beyond {}",
                               group.size, max_contributions)};
  }
  return {.turned = true, .why = {}};
}

} // namespace tributary::group
