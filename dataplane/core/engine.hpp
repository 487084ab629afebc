// The reduction engines of one switch core: one engine per port, for the trees whose parent the
// port is.
#pragma once

#include "dataplane/core/counters.hpp"
#include "dataplane/core/deadline_queues.hpp"
#include "dataplane/core/decision.hpp"
#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/tables.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstdint>

namespace tributary::core {

/// One occupied descriptor, for people and tests.
struct DescriptorView {
  PortNumber port; ///< whose engine holds it: the tree's parent
  ReductionKey key;
  Vni vni;
  Cookie cookie;
  SequenceNumber seqno;
  ContributionCount wait_count = 0;
  ContributionCount count = 0;
  bool have_data = false; ///< whether a contribution came; op, rc and signature mean nothing before
  reduce::Opcode op = reduce::Opcode::barrier;
  reduce::ResultCode rc = reduce::ResultCode::success;
  std::uint64_t signature = 0;
  TimeNs armed_at;
  TimeNs deadline;
};

/// How a contribution stands to the descriptor of its key.
enum class Standing : std::uint8_t { match, not_armed, late, foreign, older, newer };

class ReductionEngines {
public:
  ReductionEngines(std::uint32_t descriptors_per_engine, const EngineTimers& timers,
                   Counters& counters);

  /// Arms the reduction, whatever its descriptor holds.
  Event arm(ReductionKey key, const MulticastEntry& entry, MatchWord carried, TimeNs now);
  /// Releases the reduction's descriptor if it is armed for this VNI and cookie.
  Event disarm(ReductionKey key, const MulticastEntry& entry, MatchWord carried);

  [[nodiscard]] Standing standing(ReductionKey key, MatchWord carried) const;

  /// The reduction is over, emitted or timed out: frees the descriptor and remembers the sequence.
  void end(ReductionKey key, PortNumber port);
  /// Frees the descriptor; its reduction never ended.
  void release(ReductionKey key, PortNumber port);
  /// Forgets which sequences of this tree ended: the tree is another one now.
  void forget(TreeNumber tree);

  /// Writes the reduction so far as a frame: 94 bytes. Requires that it holds a contribution.
  void write_result(ReductionKey key, ContributionCount wait_count, std::byte* frame) const;

  [[nodiscard]] Descriptor& descriptor(ReductionKey key) { return descriptors_[key.index()]; }
  [[nodiscard]] const Descriptor& descriptor(ReductionKey key) const {
    return descriptors_[key.index()];
  }
  [[nodiscard]] DescriptorRecord& record(ReductionKey key) { return records_[key.index()]; }
  [[nodiscard]] const DescriptorRecord& record(ReductionKey key) const {
    return records_[key.index()];
  }
  [[nodiscard]] DeadlineQueues& deadlines() { return deadlines_; }
  [[nodiscard]] const DeadlineQueues& deadlines() const { return deadlines_; }
  [[nodiscard]] std::uint32_t in_use(PortNumber port) const { return in_use_[port.value]; }
  [[nodiscard]] std::uint32_t descriptors_per_engine() const { return descriptors_per_engine_; }

  /// Requires that the key is armed.
  [[nodiscard]] DescriptorView view(ReductionKey key, const MulticastEntry& entry) const;

private:
  std::uint32_t descriptors_per_engine_;
  std::array<std::uint64_t, EngineTimers::count> timer_ns_;
  Counters* counters_;
  ZeroedTable<Descriptor> descriptors_;
  ZeroedTable<DescriptorRecord> records_;
  DeadlineQueues deadlines_;
  std::array<std::uint32_t, max_ports> in_use_{};
};

} // namespace tributary::core
