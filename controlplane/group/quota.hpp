// What a job is told that has as many groups as it may have.
#pragma once

#include "controlplane/group/group.hpp"

#include <span>

namespace tributary::group {

/// 507 "01: ...": the quota, the groups that use it up, and when each of them ends. `holders` are
/// the job's groups by age; of very many only the first are named.
[[nodiscard]] Error quota_used_up(const Job& job, std::span<const Group* const> holders,
                                  TimeNs now);

} // namespace tributary::group
