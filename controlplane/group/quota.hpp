// What a job is told that has as many groups as it may have.
#pragma once

#include "controlplane/group/group.hpp"

#include <span>
#include <string>
#include <string_view>

namespace tributary::group {

/// 507 "01: ...": the quota, the groups that use it up, and when each of them ends. `holders` are
/// the job's groups by age; of very many only the first are named.
[[nodiscard]] Error quota_used_up(const Job& job, std::span<const Group* const> holders,
                                  TimeNs now);

/// What is said of a job whose limit is 0, which may be meant and may be a mistake.
[[nodiscard]] std::string no_groups(std::string_view job);

} // namespace tributary::group
