// What is to be in force: a tree as the switches of one group must hold it, and who may use it.
//
// Plain data.
#pragma once

#include "controlplane/multicast/tree.hpp"
#include "controlplane/topology/graph.hpp"
#include "tributary/types.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::install {

using topology::SwitchId;

/// Epoch of the manager in the upper 32 bits, a counter from 1 in the lower.
using TransactionNumber = Strong<struct TransactionNumberTag, std::uint64_t>;
/// One channel of one switch, from its hello to its end. Never given twice.
using SessionNumber = Strong<struct SessionNumberTag, std::uint64_t>;

/// The port of a member's host: frames with the tree's VNI must be let in there, and none that come
/// from another NID than the host's.
struct Edge {
  topology::Attachment at;
  std::optional<Nid> nid{}; ///< none: of a host that may say what it likes
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// A tree under the number its frames carry.
struct TreeTarget {
  TreeNumber number;
  /// As `multicast::orient` gives them: at least one, each switch once, the root host's at depth 0.
  std::vector<multicast::TreePart> parts;
  Vni vni;
  /// Where the members' hosts hang.
  std::vector<Edge> edges;
  friend bool operator==(const TreeTarget&, const TreeTarget&) = default;
};

/// One tree in the table of one switch.
struct Entry {
  PortNumber parent;
  PortSet children;
  ContributionCount wait_count = 0;
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// A VNI may enter at a port of one switch.
struct Permission {
  PortNumber port;
  Vni vni;
  friend auto operator<=>(const Permission&, const Permission&) = default;
};
[[nodiscard]] inline Permission permission_at(topology::Attachment at, Vni vni) {
  return {PortNumber{static_cast<std::uint8_t>(at.port)}, vni};
}

/// A permission as it is given: the source guard that comes with it, if one does.
struct GuardedPermission {
  Permission permission;
  std::optional<Nid> nid{};
  friend auto operator<=>(const GuardedPermission&, const GuardedPermission&) = default;
};

} // namespace tributary::install
