#include "controlplane/group/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::group {

std::string title(const Group& group) {
  return fmt::format("group '{}' of job {}", group.name, group.job);
}

std::string seconds(std::uint64_t ns) { return fmt::format("{:.1f} s", seconds_of(ns)); }

std::string expiry(const Group& group, TimeNs now) {
  if (group.state == GroupState::destroying) {
    return "is being removed";
  }
  if (group.deadline != never) {
    return fmt::format("ends in {} at the latest", seconds(elapsed_ns(group.deadline, now)));
  }
  if (group.multicast) {
    return "until it is deleted or its job ends";
  }
  TimeNs last{};
  for (const auto& [rank, member] : group.members) {
    if (member.state == MemberState::joined) {
      last = std::max(last, member.lease_end);
    }
  }
  return fmt::format("until its members leave; their leases run for {} unless renewed",
                     seconds(elapsed_ns(last, now)));
}

} // namespace tributary::group
