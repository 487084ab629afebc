// Requests about groups, from the HTTP API down to the registry.
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

/// What all requests for a group must agree in.
struct GroupRequest {
  std::string job; ///< "" in a request with a job's token: that job
  std::string name;
  std::uint32_t size = 0;
  std::uint32_t trees = 1; ///< 1 or 2
  std::optional<std::uint32_t> root_rank = std::nullopt;
  /// Limit for wide frames, where the group is made before its members join; members need not agree
  /// with it, for the minimum applies. `half_floats` is ignored.
  WideFrames frames = any_frames;
  /// Whether the group wants in-switch results; nothing: as in the fabric manager's file. One
  /// request is enough to enable it; one refusal disables it.
  std::optional<bool> in_switch_results = std::nullopt;
  /// Step of the job with which the group ends; "": it ends with the job. A request without one
  /// agrees with any.
  std::string step{};
};

struct JoinRequest {
  GroupRequest group; ///< creates the group if necessary; must agree with an existing one
  std::uint32_t rank = 0;
  Nid nid;
  std::string host;   ///< its name, for people; "" when unspecified
  WideFrames takes{}; ///< what its host supports; the default: no wide frames
  /// How long the requester waits for the group to be ready before the answer lists what is
  /// missing. The registry answers immediately.
  std::chrono::milliseconds wait{0};
};

} // namespace tributary::group
