// A policy on one line, "window=1024 initial_timeout_ns=1000000 ...": passes it to a host before
// the host has requested it (docs/guide/launching.md). Fields as in policy_fields.hpp, in any
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

/// Missing fields keep their built-in value; unknown ones belong to other versions, and are
/// ignored. Throws std::invalid_argument for anything but a field with a number, for a value out of
/// bounds, and for an inconsistent policy.
[[nodiscard]] Policy policy_from(std::string_view text);

} // namespace tributary::rdma_policy
