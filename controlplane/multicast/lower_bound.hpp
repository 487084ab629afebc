// A lower bound on the maximum EFI of any set of trees, whatever their shape.
//
// Each bound counts links that a set of links C must carry at least, over all groups, and divides
// by |C|: some link of C has at least the mean, rounded up. The largest bound is the result.
//
//   C                              every group needs of it at least
//   the links of one switch       1, when it has members there and elsewhere
//   the links out of one region   1, when it has members inside and outside
//   the links between two levels  one for each part of the fabric below them that it has members
//                                  in, when there are several
//   the links between regions     regions with members - 1
//   a torus's links along one     the ring less the largest gap between its members
//     dimension
//   all                            the largest of: switches with members - 1; spanning tree of the
//                                  members' distances / (2 (1 - 1/members)); the sums of the rows
//                                  above over all C that share no link
//
// Regions are pods, dragonfly groups, and for Clos fabrics every part below a level. Tight on
// fat trees; on the torus the last row is loose.
#pragma once

#include "controlplane/multicast/distances.hpp"
#include "controlplane/topology/builders.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tributary::multicast {

/// `groups` are the switches of each group, distinct, as for `Algorithm::route`; groups that usable
/// links do not connect are left out. The distances are of the model's current graph.
[[nodiscard]] std::uint32_t lower_bound(const topology::Model& model, Distances& distances,
                                        std::span<const std::vector<SwitchId>> groups);

} // namespace tributary::multicast
