// How much a host's link has to hold: the groups of a host share what waits to be received.
#pragma once

#include "endpoint/collective/group_parameters.hpp"

#include <cstddef>

namespace tributary::library {

/// Bytes of received frames that may wait for one group: an answer and a retry of every piece in
/// flight, on each of its trees, with the kernel's overhead. 0 for a group of 84-byte frames, which
/// the smallest buffer holds.
[[nodiscard]] inline std::size_t receive_bytes(const collective::GroupParameters& group) {
  constexpr std::size_t around = 1024; // the kernel's overhead per frame
  return group.is_wide()
             ? std::size_t{2} * group.slots * group.tree_count() * (group.payload + around)
             : 0;
}

} // namespace tributary::library
