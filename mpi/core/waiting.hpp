// How ranks wait, by how many of their communicator share the processors of a machine. Whoever
// waits without sleeping takes a processor. Where there is none to spare, it is that of the rank
// that is waited for, or of the kernel that has its frame.
//
//   ranks here          a leader, for frames      the others, for a result
//   < processors        looks for 30 us           yield, then sleep
//   = processors        sleeps at once            yield, then sleep
//   > processors        sleeps at once            sleep at once
//
// Ranks that yield take turns with each other: with eight of them on each of two nodes, and two
// processors, a reduction took two to four times as long.
#pragma once

#include <cstdint>

namespace tributary::mpi {

struct Waiting {
  std::uint32_t spin_usec = 0; ///< of leaders
  bool yields = true;          ///< ranks that wait for a result, before they sleep
};

/// Of a machine with so many processors, and so many ranks of the communicator on them.
[[nodiscard]] constexpr Waiting waiting(long ranks_here, long processors) {
  constexpr std::uint32_t spin_usec = 30;
  return {.spin_usec = ranks_here < processors ? spin_usec : 0, .yields = ranks_here <= processors};
}

} // namespace tributary::mpi
