// The exact number of frames of a group without faults: derived from its tree, its size and the
// number of pieces (docs/protocol/collective.md), and compared with the frames each link carried.
//
//   down, on every link of the tree      for each reduction id in use one arm before its first
//                                        piece and one release at the end; one result per piece
//   up, on a host's link                 one contribution per piece, and the leave frame
//   up, between switches and to the root one frame for all of these; disarmed, as many as there are
//                                        leaves below
//
// The leave is one piece more. A group on two trees needs all of that on each. Hosts of the `cxi`
// dialect arm twice and leave without a message.
#pragma once

#include "tests/fabric/group.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tributary::fabric {

/// Frames by link and direction, as `Fabric::carried` counts them.
class Budget {
public:
  explicit Budget(const Topology& topology)
      : topology_(topology), links_(topology.links().size()) {}

  /// One tree of the group. `merged`: engines combine contributions; otherwise each reaches the
  /// root on its own.
  void add(const Group& group, const std::vector<TreePart>& tree, bool merged);
  /// Compares what the links carried. Describes the first link that differs; "" without one.
  [[nodiscard]] std::string compare(const Fabric& fabric) const;

private:
  std::uint64_t& frames(LinkIndex link, const LinkEnd& from);

  const Topology& topology_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> links_; ///< from ends[0], from ends[1]
};

} // namespace tributary::fabric
