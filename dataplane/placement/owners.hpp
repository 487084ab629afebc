// Which of a switch's frames are one worker's own, and whose the others are.
//
//   a multicast     the worker of its tree's bucket, whatever the tree is: a NIC knows no tables
//                   either
//   a hello         the worker of the port, which watches the link
//   any other       the worker that received it
//
// The core asks where it decides about a frame, and so reads each frame once (core/decide.hpp).
// Hot path; pure.
#pragma once

#include "dataplane/placement/placement.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::placement {

/// Where one worker hands frames over to. By default it has them all.
struct Owners {
  Placement trees;
  std::array<std::uint8_t, max_ports> ports{}; ///< by port: its worker
  std::uint8_t self = 0;                       ///< this worker

  [[nodiscard]] std::uint8_t of(TreeNumber tree) const {
    return static_cast<std::uint8_t>(trees.worker_of(tree));
  }
  [[nodiscard]] bool has(TreeNumber tree) const { return of(tree) == self; }
  [[nodiscard]] bool has(PortNumber port) const { return ports[port.value] == self; }
};

} // namespace tributary::placement
