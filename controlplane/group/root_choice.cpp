#include "controlplane/group/root_choice.hpp"

namespace tributary::group {

std::optional<std::uint32_t> choose_root(std::span<const Nid> members,
                                         std::optional<std::uint32_t> wanted, const Roots& roots) {
  const std::uint32_t first = wanted.value_or(0);
  const std::size_t end = wanted ? first + std::size_t{1} : members.size();
  for (std::uint32_t rank = first; rank < end; ++rank) {
    if (!roots.contains(members[rank])) {
      return rank;
    }
  }
  return std::nullopt;
}

} // namespace tributary::group
