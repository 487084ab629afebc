// What is asked for about groups, from the HTTP API down to the registry.
//
// Plain data.
#pragma once

#include "controlplane/records/wide_frames.hpp"
#include "tributary/types.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tributary::group {

using records::WideFrames;

/// No limit of its own.
inline constexpr WideFrames any_frames{
    .slots = WideFrames::most_slots, .payload = WideFrames::most_payload, .half_floats = true};

/// What a group must agree in, whoever asks for it first.
struct GroupRequest {
  std::string job; ///< "" in a request with a job's token: that job
  std::string name;
  std::uint32_t size = 0;
  std::uint32_t trees = 1; ///< 1 or 2
  std::optional<std::uint32_t> root_rank = std::nullopt;
  /// The most of wide frames that it is to have, where it is made before its members join; members
  /// need not agree with it, for the least holds. Nothing of `half_floats`.
  WideFrames frames = any_frames;
  /// Whether results are to be turned round by the switch next to the root; nothing: as the fabric
  /// manager's file says. One who asks is enough, and one who refuses has the last word.
  std::optional<bool> turn = std::nullopt;
};

struct JoinRequest {
  GroupRequest group; ///< creates the group when it is not there; must agree with it when it is
  std::uint32_t rank = 0;
  Nid nid;
  std::string host; ///< its name, for people; "" when not said
  /// What its host can; one that says nothing is older, and knows no wide frames.
  WideFrames takes{};
  bool knows_turn = false; ///< its host knows trees that are turned round; an older one does not
  /// How long the asker waits for the group to be ready before being told what is missing. The
  /// registry answers at once.
  std::chrono::milliseconds wait{0};
};

} // namespace tributary::group
