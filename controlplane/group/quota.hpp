// Errors for a job that has as many groups as it may have.
#pragma once

#include "controlplane/group/group.hpp"

#include <span>
#include <string>
#include <string_view>

namespace tributary::group {

/// 507 "01: ...": the quota, the groups that use it up, and when each of them ends. `holders` are
/// the job's groups by age; if there are many, only the first are named.
[[nodiscard]] Error quota_used_up(const Job& job, std::span<const Group* const> holders,
                                  TimeNs now);

/// Error for a job whose limit is 0, which may be intended or a mistake.
[[nodiscard]] std::string no_groups(std::string_view job);

} // namespace tributary::group
