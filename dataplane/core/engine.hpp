// The reduction engines of one switch core: one engine per port, for the trees whose parent port it
// is. It intercepts frames that would leave upward through that port.
//
// WHAT AN ENGINE DOES
//
// The root of a group sends a frame down the tree with the arm bit set: every switch on the path
// stores a sequence number in a descriptor. The hosts answer with one contribution each. A switch
// that is armed for their sequence combines them and sends one frame upward, once it has as many as
// there are hosts below it (the tree's wait count), or when its timer expires. A switch that is not
// armed forwards them unchanged. So a switch that fails to reduce costs traffic and never a result:
// the root combines any number of frames until the counts are complete.
//
// A DESCRIPTOR (descriptor.hpp) belongs to a key: a tree and one of eight reduction ids, or of up
// to 128 if the tree has wide frames.
//
//             arm, one free                 first contribution
//     free ----------------->  waiting  ------------------------>  holding
//      ^                        |  ^                              |  |   ^
//      |  disarm, time is over  |  |        arm: data dropped     |  |   |  contribution:
//      +------------------------+  +------------------------------+  |   +- combined, counted
//      |                                                             |
//      +---  count reached: emitted; time is over: emitted; disarm  -+
//
// FRAMES FROM THE PARENT (wire format page, 5.3). All of them are forwarded to all child ports, bit
// for bit unchanged, after the descriptor was updated: no contribution can be faster than its arm.
//
//   arm  descriptor        action                                              event
//   1    this key has one  VNI, cookie and sequence overwritten without        rearmed
//                          comparing the old ones, held data dropped and
//                          counted (`discarded`), timer restarted
//   1    none, one free    taken                                               armed
//   1    none free         counted; contributions will pass through            arm_failed
//   0    VNI and cookie    freed, held data dropped and counted                disarmed
//        match
//   0    otherwise         nothing                                             disarm_no_match
//
// An arm is never compared with the previous sequence: the pre-arm, sequence 1022, would look old.
// A pre-arm is an arm like any other, and so is the second one of hosts that arm twice. Opcode,
// count and data of an arming frame describe the previous result and are ignored.
//
// On a tree with wide frames a descriptor is always free: the tree has slot memory of its own, and
// no arm on it fails. The number of descriptors is a limit for the other trees.
//
// FRAMES FROM A CHILD (5.4), in the order of the checks:
//
//   1  arm bit set                  dropped                              arm_from_child
//   2  count 0, retry               forwarded: hosts ask the root for    passed_empty
//                                   a lost result this way, whatever
//                                   their sequence
//      count 0, no retry            dropped: a result, and results come  result_from_child
//                                   from the parent alone
//      one endpoint behind the port:
//      the count is more than 1     dropped                              counts_others
//      it has contributed to this   dropped                              counted_twice
//      the parent has opened a      dropped                              stale_sequence
//      newer sequence, or not this                                       not_opened
//      one
//   3  no descriptor                forwarded; `late` if the sequence    passed_late
//                                   is the last one that ended here      passed_not_armed
//   4  VNI or cookie differ         forwarded, or dropped where          passed_foreign
//                                   `drop_foreign` is set                foreign_cookie
//   5  sequence older than armed    dropped                              stale_sequence
//   6  sequence newer than armed    forwarded                            passed_newer
//   7  reserved opcode, or one that forwarded                            passed_reserved
//      does not go with its form;
//      a vector too large for its
//      slot, which counts as one
//   8  otherwise                    reduced                              contributed or
//                                                                        completed_full
//
// Older and newer are modulo 1024, half the circle each; the engine never expects a step of one, as
// eight ids may share one sequence. A sequence ends by being emitted or by timing out, with or
// without data; a re-arm or a disarm does not end it.
//
// REDUCING. The first contribution is copied: its operands and code into the accumulator, its first
// 50 bytes (Ethernet, fabric header, command, rank) into the record. Later ones are combined by the
// kernel (tributary/reduce/reducer.hpp), which also makes the report of an opcode mismatch. Counts
// add up, from 1 to all of them in one frame: lower engines send partial aggregates. So the first
// contribution may complete the reduction alone. Duplicates cannot be detected by counts; the
// signature detects them (tributary/wire/reduction.hpp).
//
// WIDE FRAMES carry vectors. They differ in the held data and its place: wide_holding.hpp,
// wide_engine.hpp. Both forms may alternate on one id; within one reduction opcode, form and length
// are those of the first contribution, and others make the report of a mismatch.
//
// COUNTING ONCE. Where a child port is known to have one endpoint behind it - it is guarded, or the
// tree waits for as many as it has child ports - it counts 1, once, and only in the reduction that
// a frame from the parent opened last, armed or not. The set of such ports that were counted is
// stored beside the descriptor, with its reduction. Contributions never move it to another one:
// advancing in small steps leads around the circle of sequences. Ports that lead to switches are
// not in it: those hand up several frames of one reduction when they are not armed or their timer
// expires, and they check their own edge ports.
//
// THE RESULT that goes up:
//
//   bytes   content
//   0-13    Ethernet header of the first contribution
//   14-49   fabric header, command, pad and rank of the first contribution; only the remote offset
//           (36-42) is replaced by the sum modulo 2^56 of the contributions' signatures, so that it
//           is unchanged if no host signs. The checksum does not cover it and stays valid.
//   50-53   cookie
//   54-61   word: sequence, arm 0, opcode of the first contribution, count, result of = the same
//           sequence, code, M, overflow id, pad 0
//   62-93   operands
//
// It leaves in the traffic class of the frame that completed it; a partial one in that of the first
// contribution.
//
// The count saturates at 20 bits. More than the wait count makes the code at least contr_overflow.
//
// TIMERS (5.5). A reduction's timer starts with its arm. When it expires, held data is emitted with
// its current count, and the descriptor is freed either way; nothing is sent if no contribution
// arrived. Without a free buffer the reduction stays, and the next timer check tries again.
//
// TABLE CHANGES. A tree that vanished or changed in any way loses its descriptors: held data goes
// up the old parent as partial results. Other trees are unaffected.
//
// Invariants: an armed key is in `deadlines_`, a free one is not; `in_use_` of a port is the number
// of armed keys of trees without slots whose parent it is, at most `descriptors_per_engine`; a
// key's `contributions` is 0 exactly when it has no data. One worker owns all of it.
#pragma once

#include "dataplane/core/counters.hpp"
#include "dataplane/core/deadline_queues.hpp"
#include "dataplane/core/decision.hpp"
#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/engine_state.hpp"
#include "dataplane/core/tables.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tributary::core {

/// One occupied descriptor, for operators and tests.
struct DescriptorView {
  PortNumber port; ///< whose engine holds it: the tree's parent
  ReductionKey key;
  Vni vni;
  Cookie cookie;
  SequenceNumber seqno;
  ContributionCount wait_count = 0;
  ContributionCount count = 0;
  bool have_data = false; ///< a contribution arrived; otherwise op, rc and signature are unset
  wire::Opcode op = wire::Opcode::barrier;
  wire::ResultCode rc = wire::ResultCode::success;
  std::uint64_t signature = 0;
  wire::Form form = wire::Form::words; ///< of the data held
  std::size_t payload_bytes = 0;       ///< of a result that would leave now; 0 without data
  TimeNs armed_at;
  TimeNs deadline; ///< when the timer expires
};

/// How a contribution relates to the descriptor of its key.
enum class MatchResult : std::uint8_t { match, not_armed, late, foreign, older, newer };

class ReductionEngines {
public:
  ReductionEngines(std::uint32_t descriptors_per_engine, const EngineTimers& timers,
                   Counters& counters);
  /// Makes room for the keys of `next`, and keeps the contents for `now`. Allocates if trees with
  /// more than eight ids have higher numbers than all before.
  void make_room(const Tables& now, const Tables& next);

  /// What an arm would do, or a frame from the parent that is not an arm.
  [[nodiscard]] Event outcome_of_arm(ReductionKey key, const MulticastEntry& entry) const {
    if (descriptor(key).match.armed()) {
      return Event::rearmed;
    }
    return room(entry) != 0 ? Event::armed : Event::arm_failed;
  }
  [[nodiscard]] Event outcome_of_disarm(ReductionKey key, MatchWord carried) const {
    const MatchWord match = descriptor(key).match;
    return match.armed() && match.same_group(carried) ? Event::disarmed : Event::disarm_no_match;
  }

  /// Arms the reduction, whatever its descriptor holds.
  Event arm(ReductionKey key, const MulticastEntry& entry, MatchWord carried, TimeNs now);
  /// Releases the reduction's descriptor if it is armed for this VNI and cookie.
  Event disarm(ReductionKey key, const MulticastEntry& entry, MatchWord carried);

  class Arms;

  [[nodiscard]] MatchResult match_result(ReductionKey key, MatchWord carried) const;
  /// The same for the sequence that a frame from the parent opened last; `match` if none is known,
  /// too. Requires a contribution that is not for the armed reduction.
  [[nodiscard]] MatchResult match_with_opened(ReductionKey key, MatchWord carried) const;

  /// The reduction is over, emitted or timed out: frees the descriptor and remembers the sequence.
  void end(ReductionKey key, const MulticastEntry& entry);
  /// Frees the descriptor; its sequence did not end.
  void release(ReductionKey key, const MulticastEntry& entry);
  /// The reduction is over, and its result armed the next one (in_switch_decide.hpp): like an arm,
  /// but the timer continues. `next` is what that arm carried.
  void end_with_arm(ReductionKey key, MatchWord next);
  /// Restarts the timer of an armed reduction.
  void restart_timer(ReductionKey key, const MulticastEntry& entry, TimeNs now);
  /// Forgets which sequences of this tree ended: the tree was replaced. `entry`: the old one.
  void forget(TreeNumber tree, const MulticastEntry& entry);
  /// Whether anything is known of a reduction: it is armed, or one of its sequences was.
  [[nodiscard]] bool knows(ReductionKey key) const;
  /// Forgets all about a reduction: another core has it from now on.
  void forget(ReductionKey key, const MulticastEntry& entry);
  /// Takes over all about a reduction, of which nothing is known here.
  void put(const EngineState::Reduction& one, const MulticastEntry& entry);

  /// Writes all of a result but its operands: 62 bytes. Requires that a contribution is held.
  void write_headers(ReductionKey key, ContributionCount wait_count, std::byte* frame) const;
  /// Writes the reduction so far as a frame: 94 bytes. Requires that a contribution is held, which
  /// is not a vector.
  void write_result(ReductionKey key, ContributionCount wait_count, std::byte* frame) const;
  /// Writes the result of a reduction that is then over: `write_result` and `end`.
  void end_with_result(ReductionKey key, const MulticastEntry& entry, std::byte* frame);

  /// All descriptors, by the index of their keys; valid until the next `make_room`.
  [[nodiscard]] Descriptor* descriptors() { return &descriptors_[0]; }
  [[nodiscard]] Descriptor& descriptor(ReductionKey key) { return descriptors_[key.index()]; }
  [[nodiscard]] const Descriptor& descriptor(ReductionKey key) const {
    return descriptors_[key.index()];
  }
  [[nodiscard]] CountedPorts& counted(ReductionKey key) { return counted_[key.index()]; }
  [[nodiscard]] const CountedPorts& counted(ReductionKey key) const {
    return counted_[key.index()];
  }
  /// Whether the queries below are used. Nothing is counted before; from then on contributions to
  /// armed reductions are. Until then frames from the parent do not touch that line of memory.
  void count_ports(bool counts);
  /// Whether the engine has counted this port for the reduction, or let its contribution pass.
  [[nodiscard]] bool has_counted(ReductionKey key, MatchWord carried, PortNumber port) const;
  /// A contribution of the one endpoint behind `port` passes through.
  void count_passing(ReductionKey key, MatchWord carried, PortNumber port);

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
  /// How many more reductions of such trees can be armed.
  [[nodiscard]] std::size_t room(const MulticastEntry& entry) const {
    return entry.has_place() ? keys_ : descriptors_per_engine_ - in_use(entry.parent);
  }
  /// Waits for the first contribution from now on. The timer is the caller's.
  void open(ReductionKey key, MatchWord waiting) {
    Descriptor& d = descriptor(key);
    d.match = waiting;
    d.accumulator.contributions = 0;
    d.signature = 0;
    if (counts_ports_) {
      counted(key).arm(waiting);
    }
  }
  static void write_headers(const Descriptor& d, const DescriptorRecord& record,
                            ContributionCount wait_count, std::byte* frame);
  void end(ReductionKey key, const MulticastEntry& entry, Descriptor& d, DescriptorRecord& record);
  void release(ReductionKey key, const MulticastEntry& entry, Descriptor& d);
  std::uint32_t descriptors_per_engine_;
  std::size_t keys_ = reduction_keys;
  bool counts_ports_ = false;
  std::array<std::uint64_t, EngineTimers::count> timer_ns_{};
  Counters* counters_;
  ZeroedTable<Descriptor> descriptors_;
  ZeroedTable<DescriptorRecord> records_;
  ZeroedTable<CountedPorts> counted_;
  DeadlineQueues deadlines_;
  std::array<std::uint32_t, max_ports> in_use_{};
};

/// Arms and disarms reductions of one tree consecutively, with no other operation before `finish`:
/// what consecutive arms of free ones have in common is written once.
class ReductionEngines::Arms {
public:
  explicit Arms(ReductionEngines& engines) : engines_(&engines) {}

  /// As those of the engines.
  Event arm(ReductionKey key, const MulticastEntry& entry, MatchWord carried, TimeNs now) {
    if (engines_->descriptor(key).match.armed() || (count_ == room_ && !begin(entry, now)))
        [[unlikely]] {
      finish();
      return engines_->arm(key, entry, carried, now);
    }
    engines_->open(key, carried.waiting());
    row_.start(engines_->deadlines_, key);
    ++count_;
    return Event::armed;
  }
  Event disarm(ReductionKey key, const MulticastEntry& entry, MatchWord carried) {
    finish();
    return engines_->disarm(key, entry, carried);
  }
  void finish() {
    if (count_ != 0) {
      row_.finish(engines_->deadlines_, count_);
      engines_->counters_->engines[entry_->parent.value].arms.add(count_);
      engines_->in_use_[entry_->parent.value] +=
          entry_->has_place() ? 0 : static_cast<std::uint32_t>(count_);
    }
    room_ = count_ = 0;
  }

private:
  /// Whether there is room.
  bool begin(const MulticastEntry& entry, TimeNs now) {
    finish();
    entry_ = &entry;
    row_ = DeadlineQueues::Row(engines_->deadlines_, entry.timer,
                               now + engines_->timer_ns_[entry.timer]);
    if (row_.fits(engines_->deadlines_)) {
      room_ = engines_->room(entry);
    }
    return room_ != 0;
  }

  ReductionEngines* engines_;
  const MulticastEntry* entry_ = nullptr;
  DeadlineQueues::Row row_;
  std::size_t room_ = 0;
  std::size_t count_ = 0;
};

} // namespace tributary::core
