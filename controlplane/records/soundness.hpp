// A store is checked before a manager starts with it: records that contradict each other, as after
// damage that left every page of the file readable, are removed, so that the manager can start.
// Pure.
//
//   a job     has a token; its allocation has a cookie and nodes, or the job loses it
//   a group   has an existing job, a name that is unique in it, an id of an earlier start, 1 or 2
//             trees, and ranks for its roots; once its routes are computed all its members, its
//             root among them, and a tree or two
//   a member  has an existing group, a rank of it, a host that is no other member's
//   a tree    has an existing group, and a valid number
//
// A group is removed with all that belongs to it, a job with its groups: their members join again,
// and the switches remove their trees.
#pragma once

#include "controlplane/records/records.hpp"

#include <string>
#include <vector>

namespace tributary::records {

/// Removes unsound records. Returns what each was and why, a phrase each.
[[nodiscard]] std::vector<std::string> take_out_unsound(Snapshot& all);

} // namespace tributary::records
