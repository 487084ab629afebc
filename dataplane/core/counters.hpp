// Counters of one switch core. One instance per core, on cache lines of its own; written by its
// worker, read by any thread.
//
// A switch with several workers has several cores; its figures are the sums over them.
#pragma once

#include "dataplane/core/counter.hpp"
#include "dataplane/core/drop_reason.hpp"
#include "tributary/types.hpp"

#include <array>
#include <vector>

namespace tributary::core {

/// Received and refused frames by ingress port (drops at output are counted for the output port).
struct PortCounters {
  Counter rx_frames;
  Counter rx_bytes;
  Counter tx_frames;
  Counter tx_bytes;
  std::array<Counter, drop_reason_count> drops;
  Counter foreign_frames; ///< received and forwarded, not being of the fabric
};

/// Outcomes of one tree's reductions in this switch.
struct TreeCounters {
  Counter full;    ///< completed and emitted
  Counter partial; ///< emitted by a timer, or by the removal of the tree, incomplete
  Counter
      passed_through; ///< contributions forwarded unreduced: not armed, foreign, newer, reserved
  Counter late;       ///< contributions forwarded because their reduction had ended before
  Counter stale;      ///< contributions dropped as older than the armed sequence
};

/// Counters of one engine. The engine of a port serves all trees whose parent port it is.
struct EngineCounters {
  Counter arms;         ///< a free descriptor armed
  Counter rearms;       ///< a descriptor moved to a new sequence
  Counter arm_failures; ///< all descriptors in use
  Counter disarms;
  Counter contributions; ///< frames absorbed or completing
  Counter full;          ///< reductions completed
  Counter partial;       ///< reductions emitted incomplete
  Counter expired_empty; ///< armed and timed out without a contribution
  Counter op_mismatches; ///< contributions of another opcode than the first
  Counter overflows;     ///< reductions that counted more than the wait count
  Counter discarded;     ///< held contributions dropped by a re-arm or disarm, or by a timer of a
                         ///< tree with in-switch results
  Counter emission_delayed; ///< a timer's emission postponed because no buffer was free
  Counter turned;           ///< of `full`: in-switch results, sent to all members from here
  Counter replayed;         ///< of `turned`: sent again, because the root had missed them
};

struct alignas(64) Counters {
  std::array<PortCounters, max_ports> ports;
  std::array<EngineCounters, max_ports> engines; ///< by parent port
  std::vector<TreeCounters> trees = std::vector<TreeCounters>(max_trees);

  void drop(PortNumber port, DropReason reason) {
    ports[port.value].drops[static_cast<std::size_t>(reason)].add();
  }
};

} // namespace tributary::core
