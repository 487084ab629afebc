// What is to be in force: a tree as the switches of one group must hold it, and who may use it.
//
// Plain data.
#pragma once

#include "controlplane/multicast/tree.hpp"
#include "controlplane/topology/graph.hpp"
#include "tributary/types.hpp"

#include <compare>
#include <cstdint>
#include <vector>

namespace tributary::install {

using topology::SwitchId;

/// Epoch of the manager in the upper 32 bits, a counter from 1 in the lower.
using TransactionNumber = Strong<struct TransactionNumberTag, std::uint64_t>;
/// One channel of one switch, from its hello to its end. Never given twice.
using SessionNumber = Strong<struct SessionNumberTag, std::uint64_t>;

/// A tree under the number its frames carry.
struct TreeTarget {
  TreeNumber number;
  /// As `multicast::orient` gives them: at least one, each switch once, the root host's at depth 0.
  std::vector<multicast::TreePart> parts;
  Vni vni;
  /// The ports of the members' hosts, where frames with `vni` must be let in.
  std::vector<topology::Attachment> edges;
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

} // namespace tributary::install
