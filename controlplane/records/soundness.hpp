// What a store says is looked through before a manager starts with it: records that contradict each
// other, as after a damage that left every page of the file readable, are taken out rather than
// keep the manager from starting. Pure.
//
//   a job     has a token; its allocation has a cookie and nodes, or it goes on without one
//   a group   has a job that is there, a name of its own in it, an id of an earlier start, 1 or 2
//             trees, and ranks for its roots; once its routes are computed all its members, its
//             root among them, and a tree or two
//   a member  has a group that is there, a rank of it, a host that is no other member
//   a tree    has a group that is there, and a number that there is
//
// With a group goes all that belongs to it, with a job its groups: their members join again, and
// the switches are told to forget their trees.
#pragma once

#include "controlplane/records/records.hpp"

#include <string>
#include <vector>

namespace tributary::records {

/// Takes out what is not sound, and answers what it was and why, a phrase each.
[[nodiscard]] std::vector<std::string> take_out_unsound(Snapshot& all);

} // namespace tributary::records
