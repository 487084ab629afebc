#include "controlplane/group/turn_wish.hpp"

#include "controlplane/group/words.hpp"

#include <fmt/format.h>

namespace tributary::group {

TurnWish turn_wish(const Group& group) {
  if (!group.turn.wanted || group.multicast || group.trees != 1) {
    return {};
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
