// How changes of records become transactions within etcd's limits.
//
// etcd takes at most 128 operations and 1.5 MB in a transaction, no key twice, and no put inside a
// range that the same transaction erases. Our largest write has 74,033 changes. So they are folded,
// the last change of each key counts, and cut into parts at borders where what is stored so far is
// harmless if the manager dies there:
//
//   1. erased ranges: groups with all that they have, and the whole topology
//   2. numbers that are given out, jobs
//   3. for each group its members, then its own record and its trees, which are never separated:
//      members of a group that is unknown are left out at a start, and a group has either no trees
//      or the whole state that belongs to them
//   4. switches before what refers to them; the rest
//   5. erased jobs, whose groups are gone by then
//
// What fits into one transaction is one. Pure.
#pragma once

#include "controlplane/record_text/record_text.hpp"
#include "controlplane/records/records.hpp"

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace tributary::etcd::protocol {

struct Limits {
  /// Two of etcd's 128 are the manager's own.
  std::size_t operations = 126;
  /// Bytes of keys and values, with some for each operation; etcd's limit is 1.5 MiB for the whole
  /// request.
  std::size_t bytes = 1'400'000;
};

using Part = std::vector<record_text::Operation>;

/// What cannot be written at all: a record, or a group's with its trees, that is larger than a
/// transaction may be.
class TooLarge : public std::length_error {
public:
  using std::length_error::length_error;
};

/// No part is empty. Throws TooLarge.
[[nodiscard]] std::vector<Part> parts_of(std::span<const records::Change> changes,
                                         const Limits& limits = {});

} // namespace tributary::etcd::protocol
