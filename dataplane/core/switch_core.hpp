// The switch: one worker's part of one switch. Pure: it takes frames and a time, changes its own
// state, and says what must happen.
//
// How to drive it:
//
//   1. SwitchCore core(settings, owned_ports);   one per worker and switch; one worker owns all
//   2. core.adopt(tables, now, emission);        before the first frame, and for each new snapshot
//   3. core.port_changed(port, up);              whenever a port's link goes down or comes up
//   4. For each burst from a port, or handed over by another worker:
//        core.engine_port(in, frame)             whose worker must process it: this port's owner
//        core.process_burst(in, frames, now, decisions)
//      then do what each Decision says (dispatch.hpp).
//   5. Once per poll: core.expire(now, emission);
//
// Ownership. The engine of a tree belongs to one of the tree's ports (engine_home.hpp), and so to
// the worker that owns that port. A frame must be processed by the core whose `owned_ports` contain
// `engine_port(in, frame)`. `counters()` may be read by any thread; all else belongs to the owning
// worker alone.
//
// A frame is changed only when its Decision says `emit` or `turn`; its first `length` bytes then
// are the result: 94, or as many as a wide frame has. Everything else is bit-identical to what came
// in. So the caller must own the bytes of a frame that goes up a tree, or comes from the root of
// one that is turned round; a frame shared with others must be copied first.
//
// Hot path: no allocation, no exception, no lock.
#pragma once

#include "dataplane/core/classify.hpp"
#include "dataplane/core/counters.hpp"
#include "dataplane/core/decision.hpp"
#include "dataplane/core/engine.hpp"
#include "dataplane/core/frame_view.hpp"
#include "dataplane/core/plain_word.hpp"
#include "dataplane/core/tables.hpp"
#include "dataplane/core/tracing.hpp"
#include "dataplane/core/turn_record.hpp"
#include "dataplane/core/wide_engine.hpp"
#include "tributary/traffic_class.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tributary::core {

/// What cannot change while a switch runs.
struct SwitchSettings {
  /// By default there is one for every reduction of every tree, so that no group takes another
  /// one's.
  std::uint32_t descriptors_per_engine = reduction_keys;
  EngineTimers timers{};
  reduce::NanMode nan_mode = reduce::NanMode::associative;
  /// Contributions whose VNI or cookie differ from the armed ones: drop them instead of forwarding.
  bool drop_foreign = false;
  /// Bytes of slot memory, for the vectors of trees with wide frames (slot_place.hpp); 0: there can
  /// be no such trees.
  std::uint64_t wide_memory = default_wide_memory;
};

/// Where a core gets the buffer for a frame that no incoming frame can carry: a partial result, and
/// a vector that the root of a tree that is turned round has missed.
class Emission {
public:
  virtual ~Emission() = default;
  /// A buffer of `length` bytes that will be sent out of `port`, in this class, once the core has
  /// filled it, before the core is called again; or null when none is free, and the core tries
  /// again at the next `expire`.
  virtual std::byte* buffer(PortNumber port, std::uint32_t length, TrafficClass c) = 0;
};

class Subtotal;
struct OpenSubtotal;
struct Steering;
class SubtotalTable;

/// A contribution that may be added up before its engine has seen it (subtotal.hpp).
struct Summand {
  FrameView view;
  void* frame = nullptr;    ///< the shell's
  std::uint64_t packed = 0; ///< the reduction word
  MatchWord match;
  ReductionKey key;
  PortNumber in;
  bool counts_once = false; ///< one endpoint is behind its port
};

class SwitchCore {
public:
  /// Allocates all the core will ever need; but what trees with wide frames need comes with the
  /// first snapshot that has them.
  SwitchCore(const SwitchSettings& settings, PortSet owned_ports);

  /// Uses this snapshot from now on. Reductions of trees that went away or changed are emitted
  /// as partial results to their old parent, so that nothing held is lost; all others are
  /// untouched. Where no buffer is free such a reduction's data is dropped and counted
  /// (`no_buffer`). Nobody's place in slot memory is another tree's before that. Throws
  /// std::invalid_argument when there is less slot memory than the trees were given.
  void adopt(std::shared_ptr<const Tables> tables, TimeNs now, Emission& emission);
  [[nodiscard]] const Tables& tables() const { return *tables_; }
  /// How frames that come in by this port are checked.
  [[nodiscard]] const IngressCheck& check(PortNumber in) const { return checks_[in.value]; }

  /// Whether frames can leave by a port. All are up until somebody says otherwise. What would leave
  /// by one that is down is dropped and counted for that port, as `port_down`.
  void port_changed(PortNumber port, bool up);
  [[nodiscard]] PortSet ports_up() const { return up_; }
  /// Which ports have paused this class for so long that their watchdogs have given it up. Unicast
  /// frames with a choice keep off them.
  void stuck_changed(TrafficClass c, PortSet ports);
  [[nodiscard]] PortSet ports_stuck(TrafficClass c) const { return stuck_[c.value]; }
  /// Ports whose frames carry their class.
  [[nodiscard]] PortSet ports_carrying_classes() const { return carrying_; }
  /// What the next frame that is sprayed is spread by.
  [[nodiscard]] std::uint64_t next_spray() const { return spray_; }

  /// The port whose owner must process this frame: the one that has the engine for a frame of a
  /// reduction from the tree's parent or a child, the port it came in on for all others. Counts
  /// nothing.
  [[nodiscard]] PortNumber engine_port(PortNumber in, FrameView frame) const;

  /// Whether no decision about this frame can change it: it does not go up a tree, nor come from
  /// the root of one that is turned round. Requires that its owner is asked.
  [[nodiscard]] bool only_reads(PortNumber in, FrameView frame) const;

  /// One frame.
  [[nodiscard]] Decision process(PortNumber in, FrameView frame, TimeNs now) {
    Decision decision;
    process_burst(in, {&frame, 1}, now, {&decision, 1});
    return decision;
  }

  /// A burst from one port. `decisions` must be as long as `frames`. Like `process` on each in
  /// turn, but looks ahead so that the cache misses of many trees overlap. Says what there is about
  /// them (tracing.hpp).
  BurstOutcome process_burst(PortNumber in, std::span<const FrameView> frames, TimeNs now,
                             std::span<Decision> decisions);

  // Contributions that were added up elsewhere: subtotal.hpp.

  /// Whether a frame may be part of a subtotal, and then all about it but `frame`. Changes nothing.
  [[nodiscard]] bool summand(PortNumber in, const FrameView& view, Summand& summand) const;
  /// Whatever it was before, it now has this frame.
  void begin_subtotal(OpenSubtotal& subtotal, const Summand& first) const;
  /// False: it cannot be part of this one.
  bool add_to_subtotal(OpenSubtotal& subtotal, const Summand& summand) const;
  /// The short way through a burst, from frame `first` on: keeps those whose engines are here, and
  /// adds up those like the contribution that opened a subtotal the long way last. Says where it
  /// found the first frame that is neither, or the end.
  [[nodiscard]] std::size_t steer(PortNumber in, Steering& steering, SubtotalTable& table,
                                  std::size_t first) const;
  /// Only by the owner. True: all frames of it were taken, as one after the other would have been;
  /// the last one is as `decision` says, and all before it were absorbed. False: nothing has
  /// happened.
  ///
  /// `tables_version`: the low bits of that of the tables by which its frames were checked.
  /// `result`: 94 bytes, which stand for the last frame where that ends the reduction, in the class
  /// in which it came. Its own bytes then mean nothing.
  bool take_subtotal(const Subtotal& subtotal, std::uint32_t tables_version,
                     const FrameView& result, Decision& decision);

  /// Ends the reductions whose time is over: those that hold something are emitted as partial
  /// results. Cheap when nothing is due.
  void expire(TimeNs now, Emission& emission) {
    if (now >= next_deadline()) {
      expire_due(now, emission);
    }
  }
  /// No timer ends before this time; `never` when nothing is armed. May be too early, never too
  /// late.
  [[nodiscard]] TimeNs next_deadline() const { return engines_.deadlines().earliest(); }

  [[nodiscard]] const Counters& counters() const { return *counters_; }
  /// For the shell, which counts what happens at its ports.
  [[nodiscard]] Counters& counters() { return *counters_; }

  /// Calls `f(const DescriptorView&)` for every occupied descriptor. Only by the owner.
  template <typename F> void for_each_descriptor(F&& f) const {
    engines_.deadlines().for_each([&](ReductionKey key) { f(view(key)); });
  }

  [[nodiscard]] const SwitchSettings& settings() const { return settings_; }
  [[nodiscard]] PortSet owned_ports() const { return owned_ports_; }
  [[nodiscard]] const ReductionEngines& engines() const { return engines_; }
  [[nodiscard]] const WideEngine& wide_engine() const { return wide_; }
  /// Of trees that are turned round here.
  [[nodiscard]] const TurnRecords& turns() const { return turns_; }

private:
  [[nodiscard]] const MulticastEntry* reduction_of(PortNumber in, FrameView frame) const;

  class BurstCounts;
  struct FrameCounts;
  class Applied;
  /// What was taken up of frames in one go: the first ones.
  struct Run {
    std::size_t count = 0;
    Places others; ///< all but contributions that were absorbed
  };
  struct PlainRun {
    std::size_t count = 0;
    Places notable;
  };
  template <bool usual>
  void classify_run(const IngressCheck& check, const Tables& tables, std::span<const FrameView> run,
                    Classified* what);
  Places decide_run(PortNumber in, std::span<const FrameView> run, const Classified* what,
                    TimeNs now, Decision* decisions);
  PlainRun decide_plain_run(PortNumber in, std::span<const FrameView> run, const Classified* what,
                            Decision* decisions);
  PackedDecision decide_one(PortNumber in, const FrameView& frame, TimeNs now);
  template <bool usual>
  Run reduce_run(PortNumber in, std::span<const FrameView> run, TimeNs now, Decision* decisions);
  template <bool usual, bool far, wire::Opcode op>
  static Run contribute_run(SwitchCore& core, PortNumber in, std::span<const FrameView> run,
                            Decision* decisions);
  template <bool usual, bool far>
  std::size_t arm_run(PortNumber in, std::span<const FrameView> run, TimeNs now,
                      Decision* decisions);
  template <bool usual>
  Run wide_run(PortNumber in, std::span<const FrameView> run, TimeNs now, Decision* decisions);
  PackedDecision decide_reduction(PortNumber in, const FrameView& frame, Classified what,
                                  TimeNs now);

  template <bool usual, wire::Opcode op>
  static std::size_t steer_run(const SwitchCore& core, PortNumber in, Steering& steering,
                               SubtotalTable& table, std::size_t first);
  void begin_subtotal(OpenSubtotal& subtotal, ReductionKey key, MatchWord match,
                      const reduce::Contribution& contribution, ContributionCount count,
                      const FrameView& view) const;

  void expire_due(TimeNs now, Emission& emission);
  bool emit_partial(ReductionKey key, const MulticastEntry& entry, Emission& emission);

  // turn.cpp
  void turn_round(ReductionKey key, const MulticastEntry& entry, std::byte* frame,
                  std::size_t bytes);
  bool replay(ReductionKey key, const MulticastEntry& entry, const FrameView& frame,
              SequenceNumber opens, TimeNs now);
  void write_kept(ReductionKey key, SequenceNumber opens, std::byte* frame) const;
  void send_replays(Emission& emission);
  bool expire_turned(ReductionKey key, const MulticastEntry& entry, TimeNs now);
  /// Requires that the key is armed.
  [[nodiscard]] DescriptorView view(ReductionKey key) const;

  SwitchSettings settings_;
  PortSet owned_ports_;
  PortSet up_ = PortSet::first(max_ports);
  PortSet carrying_; ///< of the ports of `tables_`
  bool any_stuck_ = false;
  std::array<PortSet, traffic_classes> stuck_{};
  std::uint64_t spray_ = 0;
  std::shared_ptr<const Tables> tables_;
  std::vector<IngressCheck> checks_; ///< of the ports of `tables_`, made ready
  std::vector<PortNumber> homes_;    ///< of engines, by tree
  std::unique_ptr<Counters> counters_;
  ReductionEngines engines_;
  WideEngine wide_;
  PlainWord plain_; ///< of the contribution that went the long way last
  TurnRecords turns_;
  TimeNs now_{};                          ///< of the latest burst
  std::vector<ReductionKey> replays_due_; ///< results that wait for buffers
};

} // namespace tributary::core
