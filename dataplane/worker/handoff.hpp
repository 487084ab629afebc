// Frames that cross from one worker to another, in bursts, on one ring per ordered pair of workers:
// single producer, single consumer, no lock.
//
// A frame crosses for one of two reasons: it belongs to the other worker (`process`), or its egress
// port does (`transmit`). Where engines are at ports, contributions to one reduction cross
// together, combined (`subtotal`, core/subtotal.hpp). Frames that do not fit are dropped, and
// counted as `handoff_full` by the sending worker.
//
// Cache lines. No line is written by two workers, except for a ring's own two indices and the lines
// of its items, which is how they cross: everything here begins at a line of its own, and boost
// keeps the indices of a ring on separate lines. Link states and paused neighbours, which workers
// publish to each other, are an exception, once in seconds.
#pragma once

#include "dataplane/core/counters.hpp"
#include "dataplane/core/subtotal.hpp"
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
  process,  ///< `port` is the ingress port
  transmit, ///< `port` is the egress port
  subtotal, ///< contributions from several ports, with their frames
};

struct Handoff {
  union {
    rte_mbuf* frame = nullptr;
    core::Subtotal* subtotal; ///< in the sender's store for this ring
  };
  std::uint8_t switch_index = 0;
  PortNumber port; ///< with `subtotal`: ingress port of its last frame
  HandoffPurpose purpose{};
  struct Leaving {
    egress::Ingress ingress;
    TrafficClass traffic_class; ///< class in which it leaves
    friend bool operator==(const Leaving&, const Leaving&) = default;
  };
  union {
    Leaving leaving{};            ///< with `transmit`
    std::uint32_t tables_version; ///< with `subtotal`: of the tables its frames were checked with
  };

  /// Whether it is to be sent by the same port and class as one with the purpose `transmit`.
  [[nodiscard]] bool leaves_as(const Handoff& other) const {
    return purpose == HandoffPurpose::transmit && switch_index == other.switch_index &&
           port == other.port && leaving == other.leaving;
  }
  /// Number of frames in it.
  [[nodiscard]] std::uint32_t frames() const {
    return purpose == HandoffPurpose::subtotal ? static_cast<std::uint32_t>(subtotal->size()) : 1;
  }
};
static_assert(sizeof(Handoff) == 16);

inline constexpr std::size_t handoff_ring_frames = 4096;
inline constexpr std::size_t line_bytes = 64;
struct alignas(line_bytes) HandoffRing
    : boost::lockfree::spsc_queue<Handoff, boost::lockfree::capacity<handoff_ring_frames>> {};

/// Subtotals on their way from one worker to another, and back. There are few, so that they stay
/// cached: if none is free, frames cross individually.
///
/// Their frames remain the sender's meanwhile: the receiver of a subtotal mostly need not access
/// them, and the sender, which has their lines cached, frees them when it comes back.
class alignas(line_bytes) SubtotalStore {
public:
  static constexpr std::size_t size = 64;
  SubtotalStore() {
    for (std::size_t i = 0; i < size; ++i) {
      free_.push_back(static_cast<std::uint8_t>(i));
    }
  }
  SubtotalStore(const SubtotalStore&) = delete;
  SubtotalStore& operator=(const SubtotalStore&) = delete;

  // By the sender only.

  /// Null if none is free.
  core::Subtotal* take() {
    if (free_.empty()) {
      return nullptr;
    }
    core::Subtotal* const one = &subtotals_[free_.back()];
    free_.pop_back();
    return one;
  }
  /// Takes back one that did not leave.
  void keep(const core::Subtotal* one) { free_.push_back(index_of(one)); }
  /// Calls `f(void* const* frames, std::size_t count)` with the frames that each returned one
  /// brings.
  template <typename F> void take_back(F&& f) {
    if (free_.size() == size) {
      return;
    }
    returned_.consume_all([&](Returned one) {
      f(subtotals_[one.index].frames(), std::size_t{one.frames});
      free_.push_back(one.index);
    });
  }

  // By the receiver only.

  /// Returns it: its first `frames` frames belong to the sender again; the receiver keeps the
  /// others.
  void give_back(const core::Subtotal* one, std::size_t frames) {
    returned_.push({.index = index_of(one), .frames = static_cast<std::uint8_t>(frames)});
  }

private:
  struct Returned {
    std::uint8_t index;
    std::uint8_t frames;
  };
  static_assert(core::most_grouped <= UINT8_MAX && size <= UINT8_MAX);
  [[nodiscard]] std::uint8_t index_of(const core::Subtotal* one) const {
    return static_cast<std::uint8_t>(one - subtotals_.data());
  }

  std::vector<core::Subtotal> subtotals_ = std::vector<core::Subtotal>(size);
  std::vector<std::uint8_t> free_; ///< by index
  using Returning = boost::lockfree::spsc_queue<Returned, boost::lockfree::capacity<size>>;
  alignas(line_bytes) Returning returned_; ///< written by the receiver
};

/// Progress of a worker's shutdown.
struct alignas(line_bytes) Phase {
  std::atomic<unsigned> reached{0};
};

template <typename T>
inline constexpr bool has_own_lines = alignof(T) % line_bytes == 0 && sizeof(T) % line_bytes == 0;
static_assert(has_own_lines<HandoffRing> && has_own_lines<SubtotalStore> && has_own_lines<Phase> &&
              has_own_lines<ControlRings> && has_own_lines<core::Subtotal> &&
              has_own_lines<core::Counters> && has_own_lines<egress::IngressAccounts>);

/// Frees all its frames.
void give_back(const Handoff& item);

/// State shared by the workers of a group, besides the published tables.
struct WorkerShared {
  WorkerShared(std::size_t workers, std::size_t switches)
      : worker_count(workers), phases(workers),
        counters(switches, std::vector<const core::Counters*>(workers)), accounts(switches),
        ports_up(switches), links_failed(switches), stuck(switches) {
    for (auto& ports : ports_up) {
      ports.store(PortSet::first(max_ports).bits(), std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < workers * workers; ++i) {
      rings.push_back(std::make_unique<HandoffRing>());
      subtotals.push_back(std::make_unique<SubtotalStore>());
    }
    for (std::size_t i = 0; i < workers; ++i) {
      control.push_back(std::make_unique<ControlRings>());
    }
  }
  [[nodiscard]] HandoffRing& ring(std::size_t from, std::size_t to) {
    return *rings[from * worker_count + to];
  }
  [[nodiscard]] SubtotalStore& subtotal_store(std::size_t from, std::size_t to) {
    return *subtotals[from * worker_count + to];
  }

  std::size_t worker_count;
  std::vector<std::unique_ptr<HandoffRing>> rings;
  std::vector<std::unique_ptr<SubtotalStore>> subtotals;
  std::vector<std::unique_ptr<ControlRings>> control; ///< by worker
  /// Set by any thread, also from a signal handler; every worker then drains and ends.
  std::atomic<bool> stop{false};
  std::atomic<core::Tracing> trace{core::Tracing::notable};
  /// The neighbours were notified that the switches leave: no link hello may follow.
  std::atomic<bool> leaving{false};
  /// Wakes the control thread: something was delivered, or a link changed.
  port::WakeUp wake_up;
  /// Progress of each worker's shutdown; see Worker::drain.
  std::vector<Phase> phases;
  /// By switch and worker; null: that worker has no part of the switch. Written before workers run.
  std::vector<std::vector<const core::Counters*>> counters;
  /// By switch and worker: the occupancy of lossless classes in that worker's queues. A worker
  /// writes its own; a port's owner reads all of them to find what its senders must pause. Empty if
  /// no class of the switch is lossless.
  std::vector<std::vector<std::unique_ptr<egress::IngressAccounts>>> accounts;
  /// By switch: the ports whose links were up at the control thread's last check.
  std::vector<std::atomic<std::uint64_t>> ports_up;
  /// By switch: the ports that are down according to hellos. A worker writes those of its own
  /// ports.
  std::vector<std::atomic<std::uint64_t>> links_failed;
  /// The ports that have paused a class for too long. Written by the workers of these ports.
  struct Stuck {
    std::array<std::atomic<std::uint64_t>, traffic_classes> ports{}; ///< by class
    std::atomic<std::uint64_t> changes{0};                           ///< number of changes so far
  };
  std::vector<Stuck> stuck; ///< by switch
};

} // namespace tributary::worker
