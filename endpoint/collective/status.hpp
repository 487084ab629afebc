// What each of a member's reductions waits for, and since when: nothing waits silently.
#pragma once

#include "endpoint/collective/missing_ranks.hpp"
#include "endpoint/collective/piece.hpp"
#include "tributary/types.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace tributary::collective {

enum class Waiting : std::uint8_t {
  idle,              ///< nothing was injected
  for_contributions, ///< root: some of the others have not contributed yet
  for_arm,           ///< leaf: the root has not opened a sequence it could contribute to
  for_result,        ///< leaf: contributed, the result has not arrived
  for_owner,         ///< finished; its owner has not taken the completion
};

constexpr std::string_view name_of(Waiting w) {
  switch (w) {
  case Waiting::idle: return "idle";
  case Waiting::for_contributions: return "waiting for contributions";
  case Waiting::for_arm: return "waiting for the root's arm";
  case Waiting::for_result: return "waiting for the result";
  case Waiting::for_owner: return "finished";
  }
  return "unknown";
}

struct ReductionStatus {
  ReductionId id;
  Waiting waiting = Waiting::idle;
  PieceNumber piece = 0; ///< when not idle
  TimeNs since;          ///< when not idle: when it was injected
  /// The sequence armed (root) or contributed to (leaf), if any.
  std::optional<SequenceNumber> sequence;
  std::uint32_t retries = 0; ///< root: asked again; leaf: contributed or requested again
  /// Root: full counts that were refused because they did not include every member exactly once.
  /// Many of them mean that members do not agree on the cookie or on check_contributions.
  std::uint32_t refused = 0;
  /// Root: contributions counted under the current sequence, its own included; with twin trees on
  /// the tree with the most, and on the other one.
  ContributionCount count = 0;
  TreeNumber tree; ///< root: the tree of `count`
  std::optional<ContributionCount> count_on_other_tree;
  ContributionCount size = 0;
  /// Root: the only member that is missing, found from the contributions' signatures.
  std::optional<std::uint32_t> missing_rank;
  /// Ranks that did not answer a roll call; at a leaf as of the root's last notice.
  MissingRanks missing;
  /// Leaf: when the last frame of the root arrived; nullopt if none ever did.
  std::optional<TimeNs> root_heard_at;
};

/// By reduction id, from the first of the member's range.
using Status = std::vector<ReductionStatus>;

} // namespace tributary::collective
