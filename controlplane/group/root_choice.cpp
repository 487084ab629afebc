#include "controlplane/group/root_choice.hpp"

#include <cassert>

namespace tributary::group {

void Roots::add(Nid host, const Group& group) {
  Host& at = hosts_[host];
  ++at.groups;
  if (group.multicast && !at.multicast) {
    at.multicast = group.id;
  }
}

void Roots::remove(Nid host, const Group& group) {
  const auto at = hosts_.find(host);
  assert(at != hosts_.end());
  if (at->second.multicast == group.id) {
    at->second.multicast.reset();
  }
  if (--at->second.groups == 0) {
    hosts_.erase(at);
  }
}

std::size_t Roots::groups_at(Nid host) const {
  const auto at = hosts_.find(host);
  return at == hosts_.end() ? 0 : at->second.groups;
}

std::optional<GroupId> Roots::multicast_at(Nid host) const {
  const auto at = hosts_.find(host);
  return at == hosts_.end() ? std::nullopt : at->second.multicast;
}

std::uint32_t choose_root(std::span<const Nid> members, std::optional<std::uint32_t> wanted,
                          const Roots& roots) {
  if (wanted) {
    return *wanted;
  }
  std::uint32_t best = 0;
  std::size_t fewest = roots.groups_at(members.front());
  for (std::uint32_t rank = 1; fewest > 0 && rank < members.size(); ++rank) {
    if (const std::size_t groups = roots.groups_at(members[rank]); groups < fewest) {
      best = rank;
      fewest = groups;
    }
  }
  return best;
}

std::optional<std::uint32_t> choose_root_of_multicast(std::span<const Nid> members,
                                                      const Roots& roots) {
  for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
    if (!roots.multicast_at(members[rank])) {
      return rank;
    }
  }
  return std::nullopt;
}

} // namespace tributary::group
