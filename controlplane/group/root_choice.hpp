// The choice of a group's root. A host can be the root of one group only: its network interface has
// one root engine (docs/protocol/wire-format.md).
//
// Pure functions of their arguments.
#pragma once

#include "controlplane/group/group.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace tributary::group {

/// The hosts that are roots, with their groups.
using Roots = std::map<Nid, GroupId>;

/// The requested rank if its host is free; without a request the lowest rank with a free host.
/// `members` are NIDs by rank.
[[nodiscard]] std::optional<std::uint32_t>
choose_root(std::span<const Nid> members, std::optional<std::uint32_t> wanted, const Roots& roots);

} // namespace tributary::group
