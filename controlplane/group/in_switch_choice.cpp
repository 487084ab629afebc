#include "controlplane/group/in_switch_choice.hpp"

#include <fmt/format.h>

namespace tributary::group {

InSwitchChoice in_switch_choice(const Group& group, bool by_default) {
  if (group.multicast) {
    return {};
  }
  if (!group.in_switch_results.wanted.value_or(by_default)) {
    return {.in_switch = false,
            .why = group.in_switch_results.wanted
                       ? "the group or one of its members refused them (--no-in-switch-results)"
                       : "groups.in_switch_results is false in the fabric manager's file, and no "
                         "request asked for them"};
  }
  if (group.trees != 1) {
    return {.in_switch = false,
            .why = fmt::format("it has {} trees, and the first result of them wins at the root",
                               group.trees)};
  }
  if (group.size > max_contributions) {
    return {.in_switch = false,
            .why = fmt::format("the switch next to the root would wait for all {} members, and no "
                               "wait count goes beyond {}",
                               group.size, max_contributions)};
  }
  return {.in_switch = true, .why = {}};
}

} // namespace tributary::group
