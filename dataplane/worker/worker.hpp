// One worker: the poll loop of one thread.
//
// A worker owns ports, their receive queues and their transmit queues, and for each switch with
// ports here one SwitchCore, which holds the engines of those ports. No other thread accesses any
// of it, except for counters (any thread reads them), the hand-off rings, the rings to and from the
// control thread, and the mailbox.
//
//   port --> [edge] --> [impairment] --> this worker's? --> core --> output port --> port
//                                          | no             ^   | port of another worker
//                                          v                |   v
//                                     hand-off ring --------    hand-off ring
//
// One iteration: report a quiescent state to RCU, adopt new tables, answer the mailbox, take a
// burst of each port, take what other workers and the control thread handed over, expire timers,
// send what was collected and what waits, and sleep if there was no work (idle_backoff.hpp).
//
// A worker that runs a whole switch hands nothing over. Where ports bring the frames of a tree to
// its worker (port_device.hpp), each worker polls a receive queue of its own of each such port, and
// what came elsewhere nevertheless is handed over (dataplane/placement/frame_owner.hpp). Where no
// port does, engines are at ports (core/engine_home.hpp): then workers combine the contributions of
// an iteration for an engine elsewhere, and hand the result over (subtotal.hpp).
//
// Shared buffers. A buffer with several references (a multicast that came through a ring link of
// this process) is only read while it travels down; before it goes up a tree, where the core may
// write the result into it, it is copied.
//
// Links. Link hellos (liveness/links.hpp) end and begin here: a worker watches the links of its own
// ports between two bursts, and notifies the core, the other workers and the control thread when
// one goes down or comes back. They do not keep an otherwise idle worker awake.
//
// Files: worker.cpp (lifetime and loop), worker_frames.cpp (the path of a frame),
// worker_subtotals.cpp, worker_links.cpp, worker_control_frames.cpp.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/core/subtotal.hpp"
#include "dataplane/core/switch_core.hpp"
#include "dataplane/impairment/counters.hpp"
#include "dataplane/impairment/settings.hpp"
#include "dataplane/liveness/links.hpp"
#include "dataplane/placement/placement.hpp"
#include "dataplane/port/impairment_stage.hpp"
#include "dataplane/port/port_device.hpp"
#include "dataplane/worker/capture.hpp"
#include "dataplane/worker/handoff.hpp"
#include "dataplane/worker/idle_backoff.hpp"
#include "dataplane/worker/mailbox.hpp"
#include "dataplane/worker/output_port.hpp"
#include "dataplane/worker/table_publisher.hpp"
#include "dataplane/worker/trace_ring.hpp"
#include "dataplane/worker/tsc_clock.hpp"
#include "dataplane/worker/worker_statistics.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace tributary::worker {

class alignas(line_bytes) Worker {
public:
  /// Upper limit of frames taken from a port per poll.
  static constexpr std::uint16_t burst = 32;

  Worker(std::size_t index, const config::Process& process, const TscClock& clock,
         TablePublisher& publisher, WorkerShared& shared, rte_mempool* pool);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Before the thread runs.

  /// Adds this worker's part of a switch. `owners`: by port, its worker. `tagged`: ports whose
  /// frames bring a traffic class. `placement`: of its trees; null: engines are at ports.
  void add_switch(std::size_t switch_index, const core::SwitchSettings& settings,
                  const std::vector<std::size_t>& owners, PortSet tagged,
                  const placement::Placement* placement);
  /// Watches the links of a switch added before, if they have an interval. `guid` and `ethertype`
  /// are the switch's.
  void watch_links(std::size_t switch_index, const liveness::Settings& settings, std::uint64_t guid,
                   std::uint16_t ethertype);
  /// Adds a port of a switch added before, which `owners` assigned to this worker.
  void add_port(std::size_t switch_index, PortNumber number, port::PortDevice& device);
  /// Adds a port of another worker, with a transmit queue that is this worker's own. It is used
  /// once `send_directly` enables it.
  void add_output(std::size_t switch_index, PortNumber number, port::PortDevice& device);
  /// Adds a receive queue of another worker's port that is this worker's own. It is polled once
  /// `poll_directly` enables it.
  void add_input(std::size_t switch_index, PortNumber number, port::PortDevice& device);

  /// The thread's body: polls until `WorkerShared::stop`, then drains and returns.
  void run();
  /// Instead of `run`, for benchmarks: one iteration, with the pause that follows it.
  void step() { back_off(iterate(true)); }

  // By the control thread, at any time.

  /// Runs `task` between two bursts, and waits for it.
  void call(const std::function<void()>& task) { mailbox_.call(task); }

  // Inside a `call` only.

  template <typename F> void visit_descriptors(std::size_t switch_index, F&& f) {
    if (Part* part = part_of(switch_index)) {
      part->core.for_each_descriptor(f);
    }
  }
  /// Requires that a port of this switch is here.
  [[nodiscard]] const core::SwitchCore& switch_core(std::size_t switch_index) const {
    return part_of(switch_index)->core;
  }
  /// For a port that is here, or that `add_output` added; no effect for others.
  void pause_port(std::size_t switch_index, PortNumber number, bool paused);
  /// Whether frames leave by this worker's own queue of a port that `add_output` added, or by the
  /// port's worker. No effect for other ports.
  void send_directly(std::size_t switch_index, PortNumber number, bool directly);
  /// For a port with a receive queue for each worker: whether this worker polls its own, or the
  /// port's worker polls all of them. No effect for other ports.
  void poll_directly(std::size_t switch_index, PortNumber number, bool directly);
  // A bucket of trees moves in this order (worker_group_placement.cpp):

  /// By the new worker: whether it leaves what the old one handed over in the ring, for now.
  void leave_unread(std::size_t from, bool unread) { unread_[from] = unread; }
  /// By the old worker: gives out the engines. From now on it hands the bucket's frames over.
  [[nodiscard]] core::EngineState give_out(std::size_t switch_index, placement::Bucket bucket,
                                           std::size_t to);
  /// By the new worker. From now on the bucket's frames are processed here.
  void take_in(std::size_t switch_index, placement::Bucket bucket, const core::EngineState& state);
  /// By all others.
  void place(std::size_t switch_index, placement::Bucket bucket, std::size_t to) {
    part_of(switch_index)->core.owners().trees.set(bucket, to);
  }

  /// Requires that the port is here. 0: unknown.
  void set_link_speed(std::size_t switch_index, PortNumber number, std::uint32_t mbps) {
    part_of(switch_index)->outputs[number.value]->set_link_speed(mbps);
  }
  /// Null if the links of the switch are not watched. Requires that a port of it is here.
  [[nodiscard]] const liveness::Links* links(std::size_t switch_index) const {
    return part_of(switch_index)->links.get();
  }
  /// Replaces an impairment stage, and returns the old one; null: none. Frames held by the old one
  /// keep their due times; without a new one they leave immediately. Requires that the port is
  /// here.
  std::unique_ptr<port::ImpairmentStage>
  exchange_impairment(std::size_t switch_index, PortNumber number, impairment::Direction direction,
                      std::unique_ptr<port::ImpairmentStage> stage);
  /// Number of frames that an impairment holds. Requires that the port is here.
  [[nodiscard]] std::size_t impaired_held(std::size_t switch_index, PortNumber number,
                                          impairment::Direction direction) const;
  /// Null ends the capture.
  void set_tap(CaptureTap* tap) { tap_ = tap; }

  // Any thread.

  [[nodiscard]] const WorkerStatistics& statistics() const { return statistics_; }
  /// Work of a bucket's frames, and of all others, in lines of 64 bytes: a sample. Requires a
  /// switch whose trees are placed.
  [[nodiscard]] std::uint64_t work_of(std::size_t switch_index, placement::Bucket bucket) const {
    return part_by_switch_[switch_index]->work[bucket.value].read();
  }
  [[nodiscard]] std::uint64_t other_work(std::size_t switch_index) const {
    return part_by_switch_[switch_index]->other_work.read();
  }
  /// Null if no port of this switch is here.
  [[nodiscard]] const core::Counters* counters(std::size_t switch_index) const;
  /// This worker's own queues of a port; null if it has none.
  [[nodiscard]] const OutputPort* output(std::size_t switch_index, PortNumber port) const {
    const Part* const part = part_of(switch_index);
    return part != nullptr ? part->outputs[port.value].get() : nullptr;
  }
  /// Counters of a port's impairments since the start. Requires that the port is here.
  [[nodiscard]] impairment::Counters& impairment_counters(std::size_t switch_index, PortNumber port,
                                                          impairment::Direction direction) const {
    return part_of(switch_index)
        ->impairment_counters[port.value][static_cast<std::size_t>(direction)];
  }
  [[nodiscard]] const TraceRing& trace() const { return trace_; }

private:
  /// A buffer given to the core, to be sent when the core has filled it.
  struct Emitted {
    rte_mbuf* frame;
    PortNumber port;
    TrafficClass traffic_class;
  };
  /// Gives the core buffers of the pool, and records them.
  class PoolEmission final : public core::Emission {
  public:
    explicit PoolEmission(rte_mempool* pool) : pool_(pool) { emitted_.reserve(capacity); }
    std::byte* buffer(PortNumber port, std::uint32_t length, TrafficClass c) override;
    [[nodiscard]] std::vector<Emitted>& emitted() { return emitted_; }

  private:
    static constexpr std::size_t capacity = 256;
    rte_mempool* pool_;
    std::vector<Emitted> emitted_;
  };
  /// This worker's part of one switch.
  struct alignas(line_bytes) Part {
    /// `engine_ports`: those whose trees' engines may be here.
    Part(std::size_t index, const core::SwitchSettings& settings, PortSet engine_ports,
         rte_mempool* pool);
    std::size_t switch_index;
    core::SwitchCore core;
    PoolEmission emission;
    std::uint64_t adopted = 0; ///< number of the published record in use
    std::uint64_t ports_up = PortSet::first(max_ports).bits(); ///< last state given to the core
    std::uint64_t stuck_changes = 0;                           ///< last value given to the core
    PortSet carriers;                                          ///< last state given to `links`
    PortSet owned;                                             ///< ports that are here
    bool placed = false; ///< trees are on workers, as the core knows; otherwise engines at ports
    std::array<core::Counter, placement::bucket_count> work{}; ///< by bucket, sampled
    core::Counter other_work;                                  ///< of frames without a bucket
    std::uint32_t bursts = 0;                                  ///< so far, to sample one in many
    PortSet polled_elsewhere; ///< ports that are here, of which other workers have queues
    /// By port: frames that other workers had received at the last check of the links.
    std::array<std::uint64_t, max_ports> received_elsewhere{};
    std::unique_ptr<liveness::Links> links;            ///< null: unwatched
    std::uint16_t ethertype = wire::default_ethertype; ///< of the link hellos
    /// The core decides about every frame that comes: all ports are here, or trees are placed.
    bool decides_all = true;
    std::array<std::uint8_t, max_ports> owner{};
    /// For ports that are here, and for others with a transmit queue here; null: neither.
    std::array<std::unique_ptr<OutputPort>, max_ports> outputs;
    /// The output that frames leave by; null: another worker sends them.
    std::array<OutputPort*, max_ports> senders{};
    PortSet collecting;         ///< outputs with frames pushed since their last flush
    PortSet waiting;            ///< outputs that have to be flushed again
    PortNumber first = no_port; ///< of `collecting`, what is flushed before the others
    PortSet impaired;
    PortSet edges;                              ///< outputs on links between switches
    std::array<ClassSet, max_ports> given_up{}; ///< of `edges`, as published to the other workers
    PortSet tagged; ///< ports, including those of other workers, whose frames bring a class
    std::unique_ptr<core::SubtotalTable> subtotals; ///< null: all engines are here
    /// By port and direction.
    std::vector<std::array<impairment::Counters, 2>> impairment_counters =
        std::vector<std::array<impairment::Counters, 2>>(max_ports);
  };
  /// Which of a port's receive queues a worker polls.
  enum class Queues : std::uint8_t { all, own, none };
  struct Input {
    port::PortDevice* device;
    Part* part;
    PortNumber number;
    std::unique_ptr<port::ImpairmentStage> impairment; ///< may be null
    OutputPort* edge;                                  ///< the port's own output, if it has an edge
    bool paused = false;
    Queues queues = Queues::all;
    std::uint8_t empty_polls = 0; ///< consecutive ones, up to `quiet_after`
  };
  /// A port with this many empty polls is quiet: while others are busy it is polled less often ...
  static constexpr std::uint8_t quiet_after = 64;
  /// ... in one of this many iterations. Otherwise empty polls would be most of the work of a
  /// switch with many idle ports.
  static constexpr std::size_t quiet_interval = 4;
  class Performing;
  class Crossing;
  /// One element for each frame of a burst, on the stack. Uninitialised: most bursts are shorter,
  /// and each element is written before it is read.
  template <typename T> class PerFrame {
  public:
    PerFrame() {} // NOLINT(modernize-use-equals-default): it would initialise all of them
    [[nodiscard]] T& operator[](std::size_t i) { return items_[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const { return items_[i]; }
    [[nodiscard]] std::span<T> first(std::size_t count) { return std::span(items_).first(count); }
    [[nodiscard]] std::span<const T> first(std::size_t count) const {
      return std::span(items_).first(count);
    }

  private:
    static_assert(std::is_trivially_copyable_v<T>);
    union {
      std::array<T, burst> items_;
    };
  };
  /// Instead of the bytes, if they were not summed.
  static constexpr std::uint64_t not_added_up = 0;
  /// What is known of a burst. The code that processes frames makes it from them, and hands it on:
  /// nothing of a burst is kept in the worker.
  struct Seen {
    Seen() = default;
    /// Makes views of the leading frames that the core may use unchanged.
    [[nodiscard]] Seen(const rte_mempool* pool, rte_mbuf** frames, std::size_t count);
    Seen(const Seen&) = delete;
    Seen& operator=(const Seen&) = delete;
    [[nodiscard]] std::span<const core::FrameView> ready_views() const {
      return views.first(ready);
    }
    [[nodiscard]] std::span<const core::Decision> ready_decisions() const {
      return decisions.first(ready);
    }

    PerFrame<core::FrameView> views;
    PerFrame<core::Decision> decisions; ///< the core's
    std::uint16_t ready = 0;            ///< number of leading frames that have their views
    bool own = true;                    ///< each of them can return to the worker's pool unchanged
    std::uint64_t bytes = not_added_up; ///< total of those
  };
  /// Frames collected for one other worker.
  struct Staged {
    std::array<Handoff, burst> items;
    std::array<std::uint32_t, burst> frames; ///< in each item
    std::size_t count = 0;
  };
  class Results;

  OutputPort& make_output(Part& part, PortNumber number, port::PortDevice& device);
  void see_frames_elsewhere(Part& part);

  // Lifetime and loop.
  bool iterate(bool receiving);
  void adopt_published(Part& part);
  void adopt_links(Part& part);
  void drain();
  void drain_outputs();
  void pass_phase(unsigned phase);
  void release_held();
  void back_off(bool did_something);
  void give_way(std::uint64_t sleep_ns, std::uint64_t cycles);
  [[nodiscard]] TimeNs next_due() const;
  [[nodiscard]] Part* part_of(std::size_t switch_index) const {
    return switch_index < part_by_switch_.size() ? part_by_switch_[switch_index] : nullptr;
  }

  // Links.
  void report_carriers(Part& part, PortSet carriers);
  void report_guards(Part& part);
  bool heard_hello(Part& part, PortNumber in, const core::FrameView& frame);
  void look_after_links(Part& part);
  void report_links(Part& part);

  // The path of a frame.
  bool receive();
  bool receive_from(Input& input);
  void look_at_clock(const Part& part);
  bool deliver_due(Input& input, TimeNs until);
  bool take_handoffs();
  bool take_frames_to_send();
  bool send_frames_asked_for();
  void deliver(Part& part, PortNumber in, const core::FrameView& frame);
  void send_control_frame(Part& part, PortNumber port, std::span<const std::byte> frame);
  rte_mbuf* made_frame(Part& part, PortNumber port, std::span<const std::byte> bytes);
  void steer(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count, Seen&& seen);
  void process(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count);
  void process_seen(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count, Seen&& seen);
  void carry_out(Part& part, PortNumber in, rte_mbuf** frames, const Seen& seen);
  void make_private(Part& part, PortNumber in, rte_mbuf** frames, Seen& seen, std::uint16_t count);
  rte_mbuf* made_private(Part& part, PortNumber in, rte_mbuf* frame);
  void replicate(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count,
                 std::uint64_t bytes, PortSet ports, TrafficClass c);
  void send(Part& part, rte_mbuf** frames, std::uint16_t count, std::uint64_t bytes,
            PortNumber port, TrafficClass c, egress::Ingress ingress);
  void send(Part& part, rte_mbuf* frame, PortNumber port, TrafficClass c, egress::Ingress ingress);
  void hand_over_to_send(Part& part, rte_mbuf** frames, std::uint16_t count, PortNumber port,
                         TrafficClass c, egress::Ingress ingress);
  void send_emitted(Part& part, core::Event event);
  void hand_over(std::size_t to, const Handoff& item);
  void drop_handoff(std::size_t to, const Handoff& item);
  void sample_work(Part& part, std::span<const core::FrameView> views,
                   std::span<const core::Decision> decisions);
  std::uint16_t keep_own(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count,
                         Seen& seen);
  void cross(Part& part, PortNumber in, rte_mbuf* frame, const core::FrameView& view,
             std::uint32_t owner);
  std::size_t take_subtotals(std::size_t from, std::span<const Handoff> items);
  void take_back(std::size_t from);
  void take_one_by_one(Part& part, const core::Subtotal& subtotal);
  bool has_result_buffer(std::size_t i);
  void trace_subtotal(const Part& part, const core::Subtotal& subtotal,
                      const core::Decision& of_last, const core::FrameView& result);
  void close_subtotals();
  void flush_handoffs(std::size_t to);
  void flush_first(Part& part, PortNumber root);
  bool flush(Part& part);
  bool flush();
  void send_pauses(Part& part);
  void report_stuck(Part& part, PortNumber port);
  void tap(const Part& part, PortNumber port, Direction direction, rte_mbuf* const* frames,
           std::uint16_t count);
  void tap_drops(const Part& part, PortNumber in, rte_mbuf* const* frames,
                 std::span<const core::Decision> decisions);
  void trace_burst(const Part& part, PortNumber in, const Seen& seen, core::Places notable);

  std::size_t index_;
  const TscClock& clock_;
  TablePublisher& publisher_;
  WorkerShared& shared_;
  rte_mempool* pool_;
  IdleBackoff backoff_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Part*> part_by_switch_;
  std::vector<Input> inputs_;                   ///< the quiet ones last
  std::size_t lively_ = 0;                      ///< how many of them are not quiet
  std::size_t next_quiet_ = 0;                  ///< index of the next one to poll
  std::vector<Staged> staged_;                  ///< by worker
  std::vector<bool> unread_;                    ///< by worker: its ring is left alone for now
  std::array<Handoff, burst> taken_;            ///< items that `take_handoffs` processes
  std::array<rte_mbuf*, burst> result_buffers_; ///< for results of subtotals
  std::size_t result_buffer_count_ = 0;
  TimeNs now_;
  std::uint64_t iteration_began_ = 0; ///< cycles
  bool busy_ = false;                 ///< the previous iteration had work to do
  std::uint64_t delivered_ = 0;       ///< frames, in this iteration
  std::uint64_t asked_to_send_ = 0;   ///< control thread's requests completed so far
  core::Tracing tracing_ = core::Tracing::notable;
  CaptureTap* tap_ = nullptr;
  TraceRing trace_;
  WorkerStatistics statistics_;
  alignas(line_bytes) Mailbox mailbox_; ///< callers write it, too
};

} // namespace tributary::worker
