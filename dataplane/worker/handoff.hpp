// Frames that cross from one worker to another, in bursts, on one ring per ordered pair of workers:
// single producer, single consumer, no lock.
//
// A frame crosses for one of two reasons: its engine belongs to the other worker (`process`), or
// the port it must leave by does (`transmit`). What does not fit is dropped, and counted as
// `handoff_full` by the worker that sends it.
#pragma once

#include "dataplane/core/tracing.hpp"
#include "dataplane/egress/ingress_accounts.hpp"
#include "dataplane/port/wake_up.hpp"
#include "dataplane/worker/control_frames.hpp"
#include "tributary/traffic_class.hpp"
#include "tributary/types.hpp"

#include <boost/lockfree/spsc_queue.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

struct rte_mbuf;

namespace tributary::worker {

enum class HandoffPurpose : std::uint8_t {
  process,  ///< `port` is where the frame came in
  transmit, ///< `port` is where it must leave
};

struct Handoff {
  rte_mbuf* frame = nullptr;
  std::uint8_t switch_index = 0;
  PortNumber port;
  HandoffPurpose purpose{};
  // With `transmit`:
  egress::Ingress ingress{};
  TrafficClass traffic_class{}; ///< in which it leaves
};
static_assert(sizeof(Handoff) == 16);

inline constexpr std::size_t handoff_ring_frames = 4096;
using HandoffRing =
    boost::lockfree::spsc_queue<Handoff, boost::lockfree::capacity<handoff_ring_frames>>;

/// What the workers of a group share besides the published tables.
struct WorkerShared {
  WorkerShared(std::size_t workers, std::size_t switches)
      : worker_count(workers), phases(workers), accounts(switches), ports_up(switches),
        links_failed(switches), stuck(switches) {
    for (auto& ports : ports_up) {
      ports.store(PortSet::first(max_ports).bits(), std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < workers * workers; ++i) {
      rings.push_back(std::make_unique<HandoffRing>());
    }
    for (std::size_t i = 0; i < workers; ++i) {
      control.push_back(std::make_unique<ControlRings>());
    }
  }
  [[nodiscard]] HandoffRing& ring(std::size_t from, std::size_t to) {
    return *rings[from * worker_count + to];
  }

  std::size_t worker_count;
  std::vector<std::unique_ptr<HandoffRing>> rings;
  std::vector<std::unique_ptr<ControlRings>> control; ///< by worker
  /// Set by anyone, also from a signal handler; every worker then drains and ends.
  std::atomic<bool> stop{false};
  std::atomic<core::Tracing> trace{core::Tracing::notable};
  /// The neighbours were told that the switches leave: no link hello may follow.
  std::atomic<bool> leaving{false};
  /// For the control thread: something was delivered, or a link changed.
  port::WakeUp wake_up;
  /// How far each worker has got in ending; see Worker::drain.
  std::vector<std::atomic<unsigned>> phases;
  /// By switch and worker: what waits of lossless classes in that worker's queues. A worker writes
  /// its own; who owns a port asks all of them what its senders must pause. Empty where no class of
  /// the switch is lossless.
  std::vector<std::vector<std::unique_ptr<egress::IngressAccounts>>> accounts;
  /// By switch: the ports whose links are up, as the control thread last saw them.
  std::vector<std::atomic<std::uint64_t>> ports_up;
  /// By switch: the ports whose links hellos say are down. A worker writes those of its own ports.
  std::vector<std::atomic<std::uint64_t>> links_failed;
  /// Which ports have paused a class for too long. Written by the workers of these ports.
  struct Stuck {
    std::array<std::atomic<std::uint64_t>, traffic_classes> ports{}; ///< by class
    std::atomic<std::uint64_t> changes{0};                           ///< so many, until now
  };
  std::vector<Stuck> stuck; ///< by switch
};

} // namespace tributary::worker
