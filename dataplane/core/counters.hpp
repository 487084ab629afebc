// What one switch core counts. One instance per core, on lines of its own; written by its worker,
// read by anyone.
//
// A switch with several workers has several cores; its figures are the sums over them.
#pragma once

#include "dataplane/core/counter.hpp"
#include "dataplane/core/drop_reason.hpp"
#include "tributary/types.hpp"

#include <array>
#include <vector>

namespace tributary::core {

/// What came in, and what was refused, by ingress port (drops at output count for the output port).
struct PortCounters {
  Counter rx_frames;
  Counter rx_bytes;
  Counter tx_frames;
  Counter tx_bytes;
  std::array<Counter, drop_reason_count> drops;
  Counter foreign_frames; ///< came in and were passed on, not being of the fabric
};

/// What became of the reductions of one tree in this switch.
struct TreeCounters {
  Counter full;    ///< completed and emitted
  Counter partial; ///< emitted by a timer, or by the removal of the tree, with less than all
  Counter
      passed_through; ///< contributions forwarded unreduced: not armed, foreign, newer, reserved
  Counter late;       ///< contributions forwarded because their reduction had ended before
  Counter stale;      ///< contributions dropped as older than the armed sequence
};

/// What one engine did. The engine of a port serves all trees whose parent the port is.
struct EngineCounters {
  Counter arms;         ///< a free descriptor armed
  Counter rearms;       ///< a descriptor moved on to a new sequence
  Counter arm_failures; ///< all descriptors in use
  Counter disarms;
  Counter contributions;    ///< frames absorbed or completing
  Counter full;             ///< reductions completed
  Counter partial;          ///< reductions emitted incomplete
  Counter expired_empty;    ///< armed, timed out, nothing had come
  Counter op_mismatches;    ///< contributions of another opcode than the first one
  Counter overflows;        ///< reductions that counted more than the wait count
  Counter discarded;        ///< contributions held when a re-arm or a disarm threw them away, or
                            ///< a timer where the tree is turned round
  Counter emission_delayed; ///< a timer's emission put off because no buffer was free
  Counter turned;           ///< of `full`: results that were turned round here
  Counter replayed;         ///< of these: sent again, because the root had missed them
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
