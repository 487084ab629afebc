// A switch of the virtual fabric: one or several workers, each with a SwitchCore of its own, as the
// dataplane's shell has them, on virtual time.
//
//   link -> receive queue of the port -> poll of the port's worker
//             -> a pause frame? the queues of this port obey
//             -> is it another worker's?  ring to that worker -> its poll
//             -> process_burst() -> do what each Decision says
//             -> the output port is another worker's?  ring to that worker -> its poll
//             -> queues of the output port (virtual_port.hpp) -> link, when it is free
//           each poll ends with expire(), what the queues may send, and the pauses that are due;
//           the next one is due at next_deadline(), when a link is free, or a pause is over
//
// With `placed` trees are placed on workers, and may move: a port has a receive queue for each
// worker, and a NIC that brings a tree's frames to its worker's, as soon as it has learned of a
// move.
//
// It also checks the core: forwarded frames must be unchanged, a damaged header must not be
// accepted, every frame is accounted for, and each decision, descriptor and counter follows the
// rules (switch_account.hpp, queue_account.hpp).
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "dataplane/egress/link_edge.hpp"
#include "dataplane/egress/pause_sender.hpp"
#include "dataplane/placement/placement.hpp"
#include "tests/fabric/accounting.hpp"
#include "tests/fabric/faults.hpp"
#include "tests/fabric/queue_account.hpp"
#include "tests/fabric/switch_account.hpp"
#include "tests/fabric/virtual_port.hpp"
#include "tests/fabric/wire_frame.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::fabric {

/// Far shorter than a switch's defaults, so that timers expire within the tests.
inline core::SwitchSettings impatient_settings() {
  core::SwitchSettings settings;
  using core::EngineTimers;
  settings.timers.units = {EngineTimers::units_from_us(20'000), EngineTimers::units_from_us(50'000),
                           EngineTimers::units_from_us(200'000),
                           EngineTimers::units_from_us(20'000'000)};
  return settings;
}

struct SwitchOptions {
  core::SwitchSettings settings = impatient_settings();
  /// Ports are dealt out to the workers in turn: port p belongs to worker p mod workers.
  std::uint32_t workers = 1;
  /// Trees are placed on workers. Requires that all descriptors may be in use.
  bool placed = false;
  /// From a frame's arrival to the poll that takes it, so that bursts can form.
  std::uint64_t poll_delay_ns = 300;
  /// Probability that no buffer is free when a timer wants to emit.
  double no_buffer = 0;
  /// Settings of each port.
  egress::PortSettings queues{};
  /// Limits of each ingress port, at each worker.
  PauseLimitsByClass pause_limits{};
  /// Capacity of a hand-off ring between two workers.
  std::size_t handoff_frames = 4096;
  /// Capacity of a port's receive queue.
  std::size_t receive_frames = 4096;

  /// Makes a class lossless, with these limits for received frames.
  void make_lossless(TrafficClass c, const egress::PauseLimits& limits) {
    queues.classes[c.value].when_full = egress::WhenFull::pause;
    pause_limits[c.value] = limits;
  }
};

/// The settings of the link at a port.
struct PortLink {
  std::uint32_t speed_mbps = 0;
  /// Set where both ends tag.
  std::optional<egress::LinkEdge> edge;
};

/// The services that a switch uses of the fabric.
class SwitchSurroundings {
public:
  virtual ~SwitchSurroundings() = default;
  virtual FramePool& frames() = 0;
  /// Takes the frame over if the link is free for one more.
  virtual bool transmit(SwitchIndex from, PortNumber port, FrameIndex frame, TimeNs now) = 0;
  [[nodiscard]] virtual PortLink link_at(SwitchIndex at, PortNumber port) const = 0;
  virtual void schedule_poll(SwitchIndex at, std::uint32_t worker, TimeNs when) = 0;
  /// Whether a buffer is free, with the probability `no_buffer` that none is.
  virtual bool buffer_is_free(double no_buffer) = 0;
  /// `frame` is the frame of the decision.
  virtual void note(SwitchIndex at, PortNumber in, const core::Decision& decision,
                    std::span<const std::byte> frame, TimeNs now) = 0;
  /// The core wants the switch's agent to have it.
  virtual void deliver(SwitchIndex at, PortNumber in, std::span<const std::byte> frame,
                       TimeNs now) = 0;
  /// A frame ended here, for this reason: the name of a drop reason, or "crash".
  virtual void lost(SwitchIndex at, FrameIndex frame, std::string_view why) = 0;
  virtual void violation(std::string what) = 0;
};

class VirtualSwitch final : core::Emission, VirtualPort::Wire {
public:
  VirtualSwitch(SwitchIndex index, std::size_t port_count, const SwitchOptions& options,
                SwitchSurroundings& surroundings);

  /// Each worker adopts it at its next poll, `skew_ns` after the one before.
  void publish(std::shared_ptr<const core::Tables> tables, TimeNs now, std::uint64_t skew_ns);
  /// False when the port's receive queue is full; then the frame is the caller's.
  bool receive(PortNumber in, FrameIndex frame, TimeNs now);
  /// The link at this port can take a frame.
  void link_free(PortNumber port, TimeNs now) {
    request_poll(owner_of(port), now + options_.poll_delay_ns);
  }
  /// Each worker is notified at its next poll.
  void link_changed(PortNumber port, bool up, TimeNs now);
  void poll(std::uint32_t worker, TimeNs now);
  /// Sends a frame of the switch's agent out of a port. Nothing leaves a silent switch.
  void send_from_agent(PortNumber port, std::span<const std::byte> bytes, TimeNs now);

  /// Loses all state, and answers nothing until `restart`.
  void crash();
  /// Restarts with the tables published last and no other state.
  void restart(TimeNs now);
  /// Loses arriving frames until `end_silence`, but keeps its state.
  void begin_silence() { silent_ = true; }
  void end_silence(TimeNs now);
  [[nodiscard]] bool answers() const { return !crashed_ && !silent_; }

  void set_no_buffer(double probability) { options_.no_buffer = probability; }
  /// Rings that hold more now keep their frames.
  void set_handoff_frames(std::size_t frames) { options_.handoff_frames = frames; }
  /// Moves the tree to the next worker, with all of its bucket, in steps that are `step_ns` apart.
  /// False: another move, or new tables, are under way.
  bool move(TreeNumber tree, std::uint64_t step_ns, TimeNs now);
  /// Number of moves that were completed.
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  /// From now on the worker begins a poll this long after the last one at the earliest.
  void set_poll_interval(std::size_t worker, std::uint64_t ns) {
    workers_[worker].poll_interval_ns = ns;
    workers_[worker].slowest_ns = std::max(workers_[worker].slowest_ns, ns);
  }

  /// Checks that descriptors hold what their engines absorbed, and that none is occupied past its
  /// timer, or past the end of a silence in which its timer expired, by more than `slack_ns`, or by
  /// more than the lack of buffers explains.
  void check_descriptors(TimeNs now, std::uint64_t slack_ns);
  /// The accounting against itself and against the core's counters.
  void audit();
  [[nodiscard]] std::size_t descriptors_in_use() const;
  [[nodiscard]] const SwitchAccounting& accounting() const { return accounting_; }
  [[nodiscard]] SwitchIndex index() const { return index_; }
  [[nodiscard]] std::size_t worker_count() const { return workers_.size(); }
  /// The core of the worker that owns this port.
  [[nodiscard]] const core::SwitchCore& core_of(PortNumber port) const {
    return *workers_[owner_of(port)].core;
  }
  [[nodiscard]] const core::SwitchCore& core(std::size_t worker) const {
    return *workers_[worker].core;
  }
  /// Counters and contents of a queue.
  [[nodiscard]] egress::QueueSnapshot queue(PortNumber port, TrafficClass c) const {
    return ports_[port.value].out->snapshot(c);
  }
  /// Pause frames sent out of this port that paused the class.
  [[nodiscard]] std::uint64_t pauses_sent(PortNumber port, TrafficClass c) const {
    return ports_[port.value].pauses.counters(c).pauses.read();
  }
  /// Frames that are in output queues.
  [[nodiscard]] std::size_t queued() const;

  /// Sums over the workers.
  [[nodiscard]] std::uint64_t drops(core::DropReason reason) const;
  [[nodiscard]] std::uint64_t engines(core::Counter core::EngineCounters::*counter) const;
  [[nodiscard]] std::uint64_t trees(core::Counter core::TreeCounters::*counter) const;

private:
  struct Arrived {
    PortNumber in;
    FrameIndex frame = 0;
  };
  /// A frame or partial result that crosses from one worker to another.
  struct Handoff {
    FrameIndex frame = 0;
    PortNumber in;            ///< ingress port; none if the switch created it
    PortNumber out = no_port; ///< none: to be processed
  };
  /// A partial result.
  struct Emitted {
    PortNumber port;
    FrameIndex frame = 0;
  };
  struct Worker {
    PortSet ports;
    std::unique_ptr<core::SwitchCore> core;
    std::shared_ptr<const core::Tables> next_tables; ///< to adopt
    TimeNs adopt_at = never;
    std::vector<std::deque<Handoff>> rings; ///< by the worker that hands over
    std::vector<bool> unread;               ///< likewise: left alone for now
    TimeNs poll_at = never;
    TimeNs polled_at;
    std::uint64_t poll_interval_ns = 0;
    std::uint64_t slowest_ns = 0; ///< the longest interval it ever had
    std::unique_ptr<SwitchAccount> account;
    std::unique_ptr<egress::IngressAccounts> ingress;
    std::unique_ptr<IngressAccount> ingress_account;
    PortSet up = PortSet::first(max_ports); ///< the link states that the core knows
    std::array<ClassSet, max_ports> wanted; ///< pauses, when the owners of the ports were notified
  };
  struct Port {
    std::vector<std::deque<FrameIndex>> received; ///< by queue: one, or one for each worker
    std::unique_ptr<VirtualPort> out;
    egress::PauseSender pauses;
    std::optional<egress::LinkEdge> edge;
    bool pushed = false; ///< has to be flushed
    TimeNs flush_at = never;
    ClassSet given_up; ///< as the cores know them
  };
  class Performing;
  /// A bucket of trees on its way, as WorkerGroup::move does it.
  struct Moving {
    placement::Move move;
    std::uint64_t step_ns = 0;
    TimeNs due;
    /// 0: the new worker leaves the ring unread; 1: the old one gives out; 2: the new one takes in;
    /// then the other workers learn of it, each in a step; at last the NIC does.
    std::size_t step = 0;
    std::vector<std::size_t> others{};
    core::EngineState state{};
    std::unique_ptr<SwitchAccount::Given> account{};
  };

  [[nodiscard]] std::size_t mover() const;
  void continue_move(std::size_t worker, TimeNs now);
  [[nodiscard]] std::size_t queue_for(PortNumber in, FrameIndex frame) const;
  [[nodiscard]] std::size_t owner_of(PortNumber p) const { return p.value % workers_.size(); }
  void start_cores();
  void request_poll(std::size_t worker, TimeNs at);
  void notice_links(std::size_t worker, TimeNs now);
  void drain_rings(std::size_t worker, TimeNs now);
  void drain_port(std::size_t worker, PortNumber port, TimeNs now);
  void drain_queue(std::size_t worker, PortNumber port, std::size_t queue, TimeNs now);
  /// Takes off the tag. False: the frame was for the port itself, or refused.
  bool enter_port(std::size_t worker, PortNumber port, FrameIndex frame, TimeNs now);
  /// Whether this worker must process the frame; hands it over to the right one otherwise.
  bool keep_or_hand_over(std::size_t worker, const Arrived& arrived, TimeNs now);
  void hand_over_to_process(std::size_t from, std::size_t to, const Arrived& arrived, TimeNs now);
  void check_hand_over(std::size_t worker, PortNumber in, std::span<const std::byte> bytes,
                       const core::Decision& decision);
  /// False when the ring is full: then the frame was dropped, and counted at `counted_at`.
  bool hand_over(std::size_t from, std::size_t to, const Handoff& item, PortNumber counted_at,
                 TimeNs now);
  void process(std::size_t worker, PortNumber in, std::span<const FrameIndex> burst, TimeNs now);
  void send(std::size_t worker, PortNumber in, PortNumber out, FrameIndex frame, TimeNs now);
  void push(std::size_t worker, PortNumber in, PortNumber out, FrameIndex frame, TimeNs now);
  void send_emissions(std::size_t worker, TimeNs now);
  void flush(std::size_t worker, TimeNs now);
  void send_pauses(std::size_t worker, TimeNs now);
  /// Notifies all cores which classes of a port were given up.
  void report_stuck(PortNumber port);
  /// Wakes the owners of ports whose senders this worker wants to pause or resume.
  void report_wanted(std::size_t worker, TimeNs now);
  /// Counts a drop of the shell, and releases the frame.
  void drop(std::size_t worker, PortNumber at, core::DropReason reason, FrameIndex frame);
  void count_drop(std::size_t worker, PortNumber at, core::DropReason reason);
  std::byte* buffer(PortNumber port, std::uint32_t length, TrafficClass c) override;
  bool take(std::uint32_t port, FrameIndex frame) override;
  void dropped(std::uint32_t port, FrameIndex frame, core::DropReason why) override;
  void lose_in_crash(FrameIndex frame);
  void violation(std::uint32_t port, const std::string& what) override;
  void expect(bool holds, const std::string& what);

  SwitchIndex index_;
  SwitchOptions options_;
  SwitchSurroundings& surroundings_;
  std::vector<Worker> workers_;
  std::vector<Port> ports_;
  PortSet links_up_ = PortSet::first(max_ports);
  std::shared_ptr<const core::Tables> tables_; ///< published last
  std::size_t expiring_ = 0;                   ///< the worker whose timers are being checked
  std::vector<Emitted> emissions_;             ///< filled by the core, not sent yet
  TimeNs now_;                                 ///< set during table adoption
  bool adopting_ = false;
  bool crashed_ = false;
  bool silent_ = false;
  TimeNs answers_since_;        ///< the end of the last silence
  placement::Placement at_nic_; ///< as the NIC brings frames
  std::optional<Moving> moving_;
  std::uint64_t moves_ = 0;
  SwitchAccounting accounting_;
};

} // namespace tributary::fabric
