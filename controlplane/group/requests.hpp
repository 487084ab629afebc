// What is asked for about groups, from the HTTP API down to the registry.
//
// Plain data.
#pragma once

#include "tributary/types.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tributary::group {

/// What a group must agree in, whoever asks for it first.
struct GroupRequest {
  std::string job; ///< "" in a request with a job's token: that job
  std::string name;
  std::uint32_t size = 0;
  std::uint32_t trees = 1; ///< 1 or 2
  std::optional<std::uint32_t> root_rank = std::nullopt;
};

struct JoinRequest {
  GroupRequest group; ///< creates the group when it is not there; must agree with it when it is
  std::uint32_t rank = 0;
  Nid nid;
  std::string host; ///< its name, for people; "" when not said
  /// How long the asker waits for the group to be ready before being told what is missing. The
  /// registry answers at once.
  std::chrono::milliseconds wait{0};
};

} // namespace tributary::group
