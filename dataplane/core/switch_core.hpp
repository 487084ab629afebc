// The switch: one worker's part of one switch. Pure: it takes frames and a time, changes its own
// state, and returns decisions.
//
// How to drive it:
//
//   1. SwitchCore core(settings, owned_ports);   one per worker and switch; one worker owns all
//   2. core.adopt(tables, now, emission);        before the first frame, and for each new snapshot
//   3. core.port_changed(port, up);              whenever a port's link goes down or up
//   4. For each burst from a port, or handed over by another worker:
//        core.engine_port(in, frame)             the port whose owner must process it
//        core.process_burst(in, frames, now, decisions)
//      then carry out each Decision (dispatch.hpp).
//   5. Once per poll: core.expire(now, emission);
//
// Ownership. The engine of a tree belongs to one of the tree's ports (engine_home.hpp), and so to
// the worker that owns that port. A frame must be processed by the core whose `owned_ports` contain
// `engine_port(in, frame)`. `counters()` may be read by any thread; all else belongs to the owning
// worker alone.
//
// A frame is changed only when its Decision says `emit` or `replicate_result`; its first `length`
// bytes then are the result: 94, or the length of a wide frame. All other frames are bit-identical
// to what was received. So the caller must own the bytes of a frame that goes up a tree, or comes
// from the root of one with in-switch results; a frame shared with others must be copied first.
//
// Hot path: no allocation, no exception, no lock.
#pragma once

#include "dataplane/core/classify.hpp"
#include "dataplane/core/counters.hpp"
#include "dataplane/core/decision.hpp"
#include "dataplane/core/engine.hpp"
#include "dataplane/core/engine_state.hpp"
#include "dataplane/core/frame_image.hpp"
#include "dataplane/core/frame_view.hpp"
#include "dataplane/core/in_switch_record.hpp"
#include "dataplane/core/tables.hpp"
#include "dataplane/core/tracing.hpp"
#include "dataplane/core/wide_engine.hpp"
#include "dataplane/placement/owners.hpp"
#include "tributary/traffic_class.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tributary::core {

/// Settings that cannot change while a switch runs.
struct SwitchSettings {
  /// The default is one for every reduction of every tree, so that groups do not compete for them.
  std::uint32_t descriptors_per_engine = reduction_keys;
  EngineTimers timers{};
  reduce::NanMode nan_mode = reduce::NanMode::associative;
  /// Contributions whose VNI or cookie differ from the armed ones: drop them instead of forwarding.
  bool drop_foreign = false;
  /// Bytes of slot memory, for the vectors of trees with wide frames (slot_place.hpp); 0: no such
  /// trees are possible.
  std::uint64_t wide_memory = default_wide_memory;
};

/// Source of buffers for frames that no incoming frame can carry: a partial result, and a vector
/// that the root of a tree with in-switch results has missed.
class Emission {
public:
  virtual ~Emission() = default;
  /// A buffer of `length` bytes that will be sent out of `port`, in this class, once the core has
  /// filled it, before the core is called again; or null if none is free, and the core tries again
  /// at the next `expire`.
  virtual std::byte* buffer(PortNumber port, std::uint32_t length, TrafficClass c) = 0;
};

class Subtotal;
struct OpenSubtotal;
struct Steering;
class SubtotalTable;

/// A contribution that may be combined before it reaches its engine (subtotal.hpp).
struct Summand {
  FrameView view;
  void* frame = nullptr;    ///< owned by the shell
  std::uint64_t packed = 0; ///< the reduction word
  MatchWord match;
  ReductionKey key;
  PortNumber in;
  bool counts_once = false; ///< one endpoint is behind its port
};

class SwitchCore {
public:
  /// Allocates all memory of the core, except for trees with wide frames: the first snapshot that
  /// has them allocates theirs.
  SwitchCore(const SwitchSettings& settings, PortSet owned_ports);

  /// Uses this snapshot from now on. Reductions of trees that were removed or changed are emitted
  /// as partial results to their old parent, so that no held data is lost; all others are
  /// untouched. If no buffer is free, such a reduction's data is dropped and counted (`no_buffer`).
  /// Places in slot memory change hands only after that. Throws std::invalid_argument if there is
  /// less slot memory than the trees were given.
  void adopt(std::shared_ptr<const Tables> tables, TimeNs now, Emission& emission);
  [[nodiscard]] const Tables& tables() const { return *tables_; }
  /// Which frames are this worker's; all others are handed over. May be changed between two bursts.
  [[nodiscard]] const placement::Owners& owners() const { return owners_; }
  [[nodiscard]] placement::Owners& owners() { return owners_; }

  /// Gives another core the engines of these trees. From now on this one knows nothing of their
  /// reductions; nothing is emitted.
  [[nodiscard]] EngineState give_out(std::span<const TreeNumber> trees);
  /// Takes over what another core of the switch gave out. Requires the same tables there and here,
  /// and that nothing is known of those reductions.
  void take_in(const EngineState& state);

  /// The checks of frames that arrive at this port.
  [[nodiscard]] const IngressCheck& check(PortNumber in) const { return checks_[in.value]; }

  /// Whether frames can leave by a port. All ports are up until reported otherwise. Frames that
  /// would leave by a port that is down are dropped and counted for that port, as `port_down`.
  void port_changed(PortNumber port, bool up);
  [[nodiscard]] PortSet ports_up() const { return up_; }
  /// The ports that have paused this class for so long that their watchdogs have given it up.
  /// Unicast frames with a choice avoid them.
  void stuck_changed(TrafficClass c, PortSet ports);
  [[nodiscard]] PortSet ports_stuck(TrafficClass c) const { return stuck_[c.value]; }
  /// Ports whose frames carry their class.
  [[nodiscard]] PortSet ports_carrying_classes() const { return carrying_; }
  /// Spreads the next sprayed frame.
  [[nodiscard]] std::uint64_t next_spray() const { return spray_; }

  /// The port whose owner must process this frame: the one that has the engine for a reduction
  /// frame from the tree's parent or a child, the ingress port for all others. Counts nothing.
  [[nodiscard]] PortNumber engine_port(PortNumber in, FrameView frame) const;

  /// Whether no decision about this frame can change it: it neither goes up a tree, nor comes from
  /// the root of one with in-switch results. Requires the core of the port's owner.
  [[nodiscard]] bool only_reads(PortNumber in, FrameView frame) const;

  /// One frame.
  [[nodiscard]] Decision process(PortNumber in, FrameView frame, TimeNs now) {
    Decision decision;
    process_burst(in, {&frame, 1}, now, {&decision, 1});
    return decision;
  }

  /// A burst from one port. `decisions` must be as long as `frames`. Same result as `process` on
  /// each in order, but prefetches so that the cache misses of many trees overlap. Returns which
  /// decisions may be notable (tracing.hpp).
  BurstOutcome process_burst(PortNumber in, std::span<const FrameView> frames, TimeNs now,
                             std::span<Decision> decisions);

  // Contributions that were combined elsewhere: subtotal.hpp.

  /// Whether a frame may be part of a subtotal; fills all members of the summand but `frame` then.
  /// Changes no state.
  [[nodiscard]] bool summand(PortNumber in, const FrameView& view, Summand& summand) const;
  /// Starts the subtotal with this contribution.
  void begin_subtotal(OpenSubtotal& subtotal, const Summand& first) const;
  /// False: the contribution cannot be part of this subtotal.
  bool add_to_subtotal(OpenSubtotal& subtotal, const Summand& summand) const;
  /// The fast path through a burst, from frame `first` on: keeps frames whose engines are here, and
  /// adds contributions like the one that opened a subtotal by the slow path last. Returns the
  /// index of the first frame that is neither, or the end.
  [[nodiscard]] std::size_t steer(PortNumber in, Steering& steering, SubtotalTable& table,
                                  std::size_t first) const;
  /// By the owner only. True: all its frames were taken, as if one after the other; `decision` is
  /// that of the last one, and all before it were absorbed. False: nothing has changed.
  ///
  /// `tables_version`: the low bits of the version of the tables that its frames were checked with.
  /// `result`: 94 bytes, which replace the last frame if that ends the reduction, in its traffic
  /// class. Its own bytes are then unused.
  bool take_subtotal(const Subtotal& subtotal, std::uint32_t tables_version,
                     const FrameView& result, Decision& decision);

  /// Ends the reductions whose timers expired: those that hold data are emitted as partial results.
  /// Cheap when nothing is due.
  void expire(TimeNs now, Emission& emission) {
    if (now >= next_deadline()) {
      expire_due(now, emission);
    }
  }
  /// Lower bound of all timers; `never` if nothing is armed. May be too early, never too late.
  [[nodiscard]] TimeNs next_deadline() const { return engines_.deadlines().earliest(); }

  [[nodiscard]] const Counters& counters() const { return *counters_; }
  /// For the shell, which counts the events of its ports.
  [[nodiscard]] Counters& counters() { return *counters_; }

  /// Calls `f(const DescriptorView&)` for every occupied descriptor. By the owner only.
  template <typename F> void for_each_descriptor(F&& f) const {
    engines_.deadlines().for_each([&](ReductionKey key) { f(view(key)); });
  }

  [[nodiscard]] const SwitchSettings& settings() const { return settings_; }
  [[nodiscard]] PortSet owned_ports() const { return owned_ports_; }
  [[nodiscard]] const ReductionEngines& engines() const { return engines_; }
  [[nodiscard]] const WideEngine& wide_engine() const { return wide_; }
  /// Records of trees with in-switch results.
  [[nodiscard]] const InSwitchRecords& in_switch() const { return in_switch_; }

private:
  [[nodiscard]] const MulticastEntry* reduction_of(PortNumber in, FrameView frame) const;

  class Applied;
  class AppliedInRow;
  /// The leading frames that were processed together.
  struct Run {
    std::size_t count = 0;
    Places others; ///< all except absorbed contributions
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
  template <bool usual, wire::Opcode op>
  static Run contribute_run(SwitchCore& core, PortNumber in, std::span<const FrameView> run,
                            Decision* decisions);
  template <bool usual>
  std::size_t arm_run(PortNumber in, std::span<const FrameView> run, TimeNs now,
                      Decision* decisions);
  template <bool usual>
  Run wide_run(PortNumber in, std::span<const FrameView> run, TimeNs now, Decision* decisions);
  template <bool usual>
  std::size_t copy_run(PortNumber in, const MulticastEntry& entry, std::span<const FrameView> run,
                       Decision* decisions);
  template <bool usual>
  PlainRun unicast_run(PortNumber in, std::span<const FrameView> run, Decision* decisions);
  template <bool usual>
  std::size_t leading_run(PortNumber in, std::span<const FrameView> run, TimeNs now,
                          Decision* decisions, std::size_t first, BurstOutcome& outcome);
  template <bool usual>
  BurstOutcome process_several(PortNumber in, std::span<const FrameView> frames, TimeNs now,
                               std::span<Decision> decisions);
  PackedDecision decide_reduction(PortNumber in, const FrameView& frame, Classified what,
                                  TimeNs now);

  template <wire::Opcode op>
  static std::size_t steer_run(const SwitchCore& core, PortNumber in, Steering& steering,
                               SubtotalTable& table, std::size_t first);
  void begin_subtotal(OpenSubtotal& subtotal, ReductionKey key, MatchWord match,
                      const reduce::Contribution& contribution, ContributionCount count,
                      const FrameView& view) const;

  void expire_due(TimeNs now, Emission& emission);
  bool emit_partial(ReductionKey key, const MulticastEntry& entry, Emission& emission);

  // in_switch.cpp
  void make_in_switch_result(ReductionKey key, const MulticastEntry& entry, std::byte* frame,
                             std::size_t bytes);
  bool replay(ReductionKey key, const MulticastEntry& entry, const FrameView& frame,
              SequenceNumber opens, TimeNs now);
  void write_kept(ReductionKey key, SequenceNumber opens, std::byte* frame) const;
  void send_replays(Emission& emission);
  bool expire_in_switch(ReductionKey key, const MulticastEntry& entry, TimeNs now);
  /// Requires that the key is armed.
  [[nodiscard]] DescriptorView view(ReductionKey key) const;

  SwitchSettings settings_;
  PortSet owned_ports_;
  PortSet up_ = PortSet::first(max_ports);
  PortSet carrying_; ///< of the ports of `tables_`
  bool any_stuck_ = false;
  std::array<PortSet, traffic_classes> stuck_{};
  std::uint64_t spray_ = 0;
  placement::Owners owners_;
  std::shared_ptr<const Tables> tables_;
  std::vector<IngressCheck> checks_; ///< prepared from the ports of `tables_`
  std::vector<PortNumber> homes_;    ///< of engines, by tree
  std::unique_ptr<Counters> counters_;
  ReductionEngines engines_;
  WideEngine wide_;
  PlainWord plain_; ///< of the contribution that took the slow path last
  InSwitchRecords in_switch_;
  TimeNs now_{};                          ///< of the latest burst
  std::vector<ReductionKey> replays_due_; ///< results that wait for buffers
};

} // namespace tributary::core
