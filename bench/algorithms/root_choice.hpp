// The root choice of the published algorithms: the first step of all of them, and most of their
// time.
//
// A switch's eccentricity is its distance to the farthest member. Candidates are the switches with
// the smallest one; a tree of shortest paths from there has minimal height.
//
//   first          the first candidate in the order of switches: MINIHOP-MC and SSSP-MC as OpenSM
//                  has them
//   least_rooted   the candidate with the fewest trees rooted there, the first of those: the "-new"
//   least_through  variants and FULB-MC. The paper says "load of a switch" and not whether trees
//                  rooted there or passing there count, so both readings are here
//
// Two methods with the same result:
//
//   published      for every switch the largest distance to any member, looked up one after the
//                  other; then the switches are compared. OpenSM does the same with trees of maps
//                  in place of the array here; the paper does not improve on it
//   vectorised     the byte-wise maximum of the members' rows: as many comparisons, 64 at a time,
//                  with sequential memory access. 30 to 50 times as fast
#pragma once

#include "controlplane/multicast/distances.hpp"
#include "controlplane/multicast/loads.hpp"

#include <optional>
#include <span>
#include <vector>

namespace tributary::multicast::published {

enum class RootRule { first, least_rooted, least_through };
enum class RootScan { published, vectorised };

class RootChoice {
public:
  RootChoice(Distances& distances, RootRule rule, RootScan scan)
      : distances_(&distances), rule_(rule), scan_(scan), farthest_(distances.row_bytes()) {}

  /// Nothing when no switch reaches all members.
  [[nodiscard]] std::optional<SwitchId> choose(std::span<const SwitchId> members,
                                               const Loads& loads);

private:
  [[nodiscard]] std::uint32_t load(SwitchId s, const Loads& loads) const;
  [[nodiscard]] std::optional<SwitchId> scan_as_published(std::span<const SwitchId> members,
                                                          const Loads& loads);
  [[nodiscard]] std::optional<SwitchId> scan_vectorised(std::span<const SwitchId> members,
                                                        const Loads& loads);

  Distances* distances_;
  RootRule rule_;
  RootScan scan_;
  std::vector<std::uint8_t> farthest_;
};

} // namespace tributary::multicast::published
