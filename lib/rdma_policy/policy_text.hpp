// A policy on one line, "window=1024 initial_timeout_ns=1000000 ...": how it reaches a host before
// the host has asked for it (docs/guide/launching.md). Fields as in policy_fields.hpp, in any
// order.
#pragma once

#include "lib/rdma_policy/policy.hpp"
#include "lib/rdma_policy/policy_fields.hpp"

#include <string>
#include <string_view>

namespace tributary::rdma_policy {

/// All fields.
[[nodiscard]] inline std::string text_of(const Policy& policy) {
  std::string text;
  for (const PolicyField& field : policy_fields) {
    text += text.empty() ? "" : " ";
    text += std::string(field.name) + "=" + std::to_string(field.get(policy));
  }
  return text;
}

/// What is not named stays as it is built in; a field that this program does not know is another
/// version's, and is left out. Throws std::invalid_argument of what is no field with a number, of a
/// value out of its bounds, and of a policy that makes no sense.
[[nodiscard]] Policy policy_from(std::string_view text);

} // namespace tributary::rdma_policy
