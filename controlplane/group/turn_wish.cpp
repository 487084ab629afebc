#include "controlplane/group/turn_wish.hpp"

#include "controlplane/group/words.hpp"

#include <fmt/format.h>

namespace tributary::group {

TurnWish turn_wish(const Group& group, bool by_default) {
  if (group.multicast) {
    return {};
  }
  if (!group.turn.wanted.value_or(by_default)) {
    return {.turned = false,
            .why = group.turn.wanted
                       ? "the group or one of its members was told to be without (--no-turn)"
                       : "groups.turn is false in the fabric manager's file, and nobody has asked "
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
  std::size_t others = 0;
  const std::pair<const std::uint32_t, Member>* first = nullptr;
  for (const auto& member : group.members) {
    if (!member.second.knows_turn) {
      others += first != nullptr ? 1 : 0;
      first = first != nullptr ? first : &member;
    }
  }
  if (first == nullptr) {
    return {.turned = true, .why = {}};
  }
  return {.turned = false,
          .why = fmt::format("rank {} (NID {}{}{}){} not know trees that are turned round; a newer "
                             "libtributary there does",
                             first->first, first->second.nid.value,
                             first->second.host.empty() ? "" : ", host ", first->second.host,
                             others == 0 ? " does"
                                         : fmt::format(" and {} do", counted(others, "other")))};
}

} // namespace tributary::group
