// All the workers of a process and the switches they run: the interface of the control thread.
//
// How to use it (all of it from one control thread unless stated otherwise):
//
//   1. std::vector<SwitchPlan> plans;                 one per switch: ports by PortNumber, tables
//   2. WorkerGroup workers(process, eal, plans);      distributes ports over workers
//   3. workers.start();                               threads run; frames flow
//   4. workers.publish(0, tables);                    new trees and routes, at any time
//      workers.counters(0), trace(), start_capture(), for_each_descriptor(...)
//      workers.take_delivered(f), send(0, port, frame)   hellos
//   5. workers.request_stop(); workers.join();        stops receiving, sends the engines' data as
//                                                     partial results, flushes, ends the threads
//
// Ports and workers. With at least as many switches as workers, each switch runs on one worker
// alone, and nothing is handed over. With fewer, the ports of all switches are assigned in turn, to
// workers at their NUMA node where there are any (dataplane/placement/nodes.hpp). If any port of a
// switch brings the frames of trees to their workers, its trees are placed on all workers
// (dataplane/placement); a port that does not has one worker, which hands over. If none does, or
// the number of descriptors is limited, engines are at ports.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/core/switch_core.hpp"
#include "dataplane/placement/nodes.hpp"
#include "dataplane/placement/placement.hpp"
#include "dataplane/port/eal.hpp"
#include "dataplane/port/port_device.hpp"
#include "dataplane/worker/capture.hpp"
#include "dataplane/worker/table_publisher.hpp"
#include "dataplane/worker/trace_ring.hpp"
#include "dataplane/worker/tsc_clock.hpp"
#include "dataplane/worker/worker.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tributary::worker {

/// One switch to run. The ports outlive the WorkerGroup.
struct SwitchPlan {
  std::string name;
  core::SwitchSettings settings;
  std::vector<port::PortDevice*> ports; ///< by PortNumber
  liveness::Settings links;             ///< how links to other switches are watched
  std::uint64_t guid = 0;               ///< of the switch, in link hellos
  std::uint16_t ethertype = wire::default_ethertype;
  std::shared_ptr<const core::Tables> tables;
  bool placed = false; ///< trees are placed on workers even if no port is steered
};

class WorkerGroup {
public:
  WorkerGroup(const config::Process& process, port::Eal& eal, std::vector<SwitchPlan> switches);
  /// Stops and joins, unless that has been done.
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  /// Throws PortError if a thread cannot be started or pinned.
  void start();
  /// Instead of `start`, for benchmarks: one iteration of a worker, on the calling thread. Each
  /// worker by one thread at a time.
  void step(std::size_t worker) { workers_[worker]->step(); }
  /// Any thread, and any signal handler.
  void request_stop() noexcept;
  void join();

  [[nodiscard]] std::size_t worker_count() const { return workers_.size(); }
  /// The NUMA node that a worker is pinned to, as far as known; the pool of its emissions.
  [[nodiscard]] placement::Node node_of(std::size_t worker) const {
    return eal_.node_of_worker(worker);
  }
  [[nodiscard]] rte_mempool* pool_of(std::size_t worker) const {
    return eal_.pool(node_of(worker));
  }
  [[nodiscard]] std::size_t switch_count() const { return switches_.size(); }
  [[nodiscard]] const SwitchPlan& plan(std::size_t switch_index) const {
    return switches_[switch_index];
  }
  /// The worker that has this port: it watches its link, and polls it, mostly alone.
  [[nodiscard]] std::size_t worker_of(std::size_t switch_index, PortNumber port) const;
  /// The worker that processes such a frame. Waits for a worker.
  [[nodiscard]] std::size_t worker_for(std::size_t switch_index, PortNumber in,
                                       const core::FrameView& frame);
  /// Where the trees of a switch are; null: engines are at ports.
  [[nodiscard]] const placement::Placement* placement(std::size_t switch_index) const {
    return balancers_[switch_index] ? &balancers_[switch_index]->placement() : nullptr;
  }
  /// Moves a bucket of trees of a switch that has a placement, while frames flow. Waits for the
  /// workers.
  void move(std::size_t switch_index, const placement::Move& move);
  /// Moves trees from busy workers to idle ones, by the rules of placement::Balancer. Call it
  /// often; it acts once a second.
  void balance();

  /// Every frame that a worker processes after this returns uses the new snapshots. Waits for the
  /// workers once for all publications.
  void publish(std::span<const TablePublisher::Publication> publications);
  void publish(std::size_t switch_index, std::shared_ptr<const core::Tables> tables);
  [[nodiscard]] const std::shared_ptr<const core::Tables>& tables(std::size_t switch_index) const {
    return switches_[switch_index].tables;
  }

  /// One entry for each worker that runs a part of this switch; a figure of the switch is their
  /// sum. Any thread.
  [[nodiscard]] std::vector<const core::Counters*> counters(std::size_t switch_index) const;
  /// One queue of a port; the sum over all workers if each has its own. Any thread.
  [[nodiscard]] egress::QueueSnapshot queue(std::size_t switch_index, PortNumber port,
                                            TrafficClass c) const;
  [[nodiscard]] const WorkerStatistics& statistics(std::size_t worker) const;
  /// Nanoseconds since this clock's origin are the TimeNs of traces and captures.
  [[nodiscard]] const TscClock& clock() const { return clock_; }

  /// Calls `f(const core::DescriptorView&)` for every occupied descriptor of a switch, each on the
  /// worker that owns it, between two bursts, while the caller waits. Keep it short.
  template <typename F> void for_each_descriptor(std::size_t switch_index, F&& f) {
    for (auto& worker : workers_) {
      worker->call([&] { worker->visit_descriptors(switch_index, f); });
    }
  }
  /// Calls `f(const core::SwitchCore&)` on a worker that has a part of the switch, between two
  /// bursts, while the caller waits.
  template <typename F> void with_core(std::size_t switch_index, std::size_t index, F&& f) {
    Worker& worker = *workers_[index];
    worker.call([&] { f(worker.switch_core(switch_index)); });
  }
  /// Frames that would leave by a port that is down are dropped, and counted as `port_down`.
  void port_changed(std::size_t switch_index, PortNumber port, bool up);
  /// Keeps workers off a port while the control thread closes and reopens it.
  void pause_port(std::size_t switch_index, PortNumber port);
  void resume_port(std::size_t switch_index, PortNumber port);

  /// Whether the link of this port is down according to hellos. Any thread.
  [[nodiscard]] bool link_failed(std::size_t switch_index, PortNumber port) const {
    return PortSet(shared_.links_failed[switch_index].load(std::memory_order_relaxed))
        .contains(port);
  }
  /// State of this port's link according to hellos; empty if links are unwatched. Waits for the
  /// worker.
  [[nodiscard]] std::optional<liveness::Status> link_status(std::size_t switch_index,
                                                            PortNumber port);
  /// The neighbours were notified that all switches leave: no link hello follows.
  void leave() { shared_.leaving.store(true, std::memory_order_relaxed); }
  /// Its descriptor becomes readable when there is something to take below; call accept() before.
  [[nodiscard]] port::WakeUp& wake_up() { return shared_.wake_up; }
  /// Calls `f(const LinkEvent&)` for each link state change that a worker found since the last
  /// call, in order for each link.
  template <typename F> void take_link_events(F&& f) {
    for (const auto& rings : shared_.control) {
      rings->link_events.consume_all(f);
    }
  }
  /// Calls `f(const ControlFrame&)` for each frame that cores delivered since the last call: hellos
  /// for the agents. Never stops a worker. Frames not taken in time are dropped as `delivery_full`.
  template <typename F> void take_delivered(F&& f) {
    for (const auto& rings : shared_.control) {
      rings->delivered.consume_all(f);
    }
  }
  /// The same for LLDP: calls `f(const LldpFrame&)`.
  template <typename F> void take_lldp(F&& f) {
    for (const auto& rings : shared_.control) {
      rings->lldp_delivered.consume_all(f);
    }
  }
  /// Queues a frame of at most `wire::longest_hello_frame_bytes` to be sent out of a port. Never
  /// waits for a worker. False if too many are in flight already; the frame is then not sent.
  [[nodiscard]] bool send(std::size_t switch_index, PortNumber port,
                          std::span<const std::byte> frame);
  /// The same for LLDP, whose frames are longer and never get a tag.
  [[nodiscard]] bool send_lldp(std::size_t switch_index, PortNumber port,
                               std::span<const std::byte> frame);

  // Impairments: worker_group_impairments.cpp.

  /// Replaces the impairment of one direction of a port, from the next burst on; a seed of 0 is
  /// replaced by a drawn one, which is logged. Settings without any fault clear it. Waits for the
  /// worker; throws PortError if there is no memory for `held_frames`.
  void impair(std::size_t switch_index, PortNumber port, impairment::Direction direction,
              const config::Impairment& impairment);
  /// Held frames leave immediately, as far as the device has room for them.
  void clear_impairment(std::size_t switch_index, PortNumber port, impairment::Direction direction);
  /// The impairment in force, with its seed; without any fault if there is none.
  [[nodiscard]] const config::Impairment& impairment(std::size_t switch_index, PortNumber port,
                                                     impairment::Direction direction) const {
    return impairments_[switch_index][port.value][static_cast<std::size_t>(direction)];
  }
  /// Counters of impairments since the start.
  [[nodiscard]] impairment::Counts impairment_counts(std::size_t switch_index, PortNumber port,
                                                     impairment::Direction direction) const;
  /// Number of frames held now. Waits for the worker.
  [[nodiscard]] std::size_t impaired_held(std::size_t switch_index, PortNumber port,
                                          impairment::Direction direction);

  /// Tracing is on from the start unless switched off. Any thread.
  void set_tracing(core::Tracing which);
  [[nodiscard]] core::Tracing tracing() const;
  /// The last events of all workers, oldest first. Never stops a worker.
  [[nodiscard]] std::vector<TraceEvent> trace() const;

  /// Begins to copy matching frames; destroy the Capture to end it. One at a time: throws PortError
  /// while another one runs. The Capture must be destroyed before the group.
  [[nodiscard]] std::unique_ptr<Capture> start_capture(const CaptureFilter& filter,
                                                       const CaptureLimits& limits = {});

private:
  void distribute();
  void send_directly(std::size_t switch_index, PortNumber port, bool directly);
  void poll_directly(std::size_t switch_index, PortNumber port, bool directly);
  [[nodiscard]] placement::Load load_of(std::size_t switch_index, const std::vector<double>& busy);
  void learn_speed(std::size_t switch_index, PortNumber port);
  void run(std::size_t index);

  config::Process process_;
  port::Eal& eal_;
  TscClock clock_;
  std::vector<SwitchPlan> switches_;
  TablePublisher publisher_;
  std::vector<std::vector<std::size_t>> owners_; ///< [switch][port] -> worker
  /// By switch; null: engines are at ports.
  std::vector<std::unique_ptr<placement::Balancer>> balancers_;
  /// Counts of a switch up to the last call of `balance`.
  struct Measured {
    explicit Measured(std::size_t workers) : others(workers) {}
    std::array<std::uint64_t, placement::bucket_count> buckets{}; ///< work
    std::vector<std::uint64_t> others;                            ///< by worker
  };
  std::vector<Measured> measured_;         ///< by switch
  std::vector<std::uint64_t> busy_cycles_; ///< by worker
  std::uint64_t balanced_cycles_ = 0;
  TimeNs balanced_{};
  WorkerShared shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  std::vector<std::array<std::array<config::Impairment, 2>, max_ports>> impairments_;
  bool capturing_ = false;
};

} // namespace tributary::worker
