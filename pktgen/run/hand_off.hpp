// Passes on frames that one worker received and that concern hosts of another. The queue pairs of a
// port belong to several workers, and RSS may place a frame for all of them on any queue.
//
//   worker a  -- ring -->  worker b      for each ordered pair of workers that share a port
//
// Only frames of reductions are passed on, a few for each reduction, so they are copied into the
// entries of a ring. A ring has one producer and one consumer, and no lock. A frame for a ring that
// is full is lost to that worker, and counted; the protocol asks again.
//
// Constructed before any worker runs; only worker `from` calls `give`, only worker `to` calls
// `take`.
#pragma once

#include "dataplane/core/frame_view.hpp"
#include "pktgen/traffic/traffic.hpp"
#include "tributary/wire/reduction.hpp"

#include <boost/lockfree/spsc_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tributary::pktgen::run {

class HandOff {
public:
  static constexpr std::size_t frames_per_ring = 2048;

  /// The worker of each queue pair, and its port; and the longest frame.
  HandOff(std::vector<std::size_t> worker_of_queue_pair,
          const std::vector<scenario::PortIndex>& port_of_queue_pair,
          std::size_t longest_frame = wire::reduction_frame_bytes);

  /// Whether any two workers share a port.
  [[nodiscard]] bool is_needed() const { return needed_; }

  struct Given {
    std::uint32_t taken = 0; ///< number of workers that took it
    std::uint32_t lost = 0;  ///< number of workers whose ring was full
  };
  /// Passes a frame that arrived at `queue_pair` of worker `from` to all others that it concerns.
  Given give(std::size_t from, scenario::QueuePairIndex queue_pair,
             const traffic::Reception& reception, const FrameView& frame, TimeNs at);

  /// Calls `f(queue_pair, frame, at)` for each frame that waits for worker `to`; returns their
  /// number.
  template <typename F> std::size_t take(std::size_t to, F&& f) {
    std::size_t count = 0;
    for (Ring* ring : to_worker_[to]) {
      count += ring->entries.consume_all([&](const Handed& handed) {
        f(handed.queue_pair, FrameView{ring->place(handed.number), handed.length}, handed.at);
      });
    }
    return count;
  }

private:
  struct Handed {
    TimeNs at;
    std::uint32_t queue_pair = 0;
    std::uint32_t length = 0;
    std::uint64_t number = 0; ///< of those that this ring took
  };
  struct Ring {
    explicit Ring(std::size_t longest_frame)
        : longest(longest_frame),
          bytes(std::make_unique_for_overwrite<std::byte[]>(frames_per_ring * longest_frame)) {}

    /// Free again when the entry is; the producer may write the next entry's place before
    /// publishing it.
    [[nodiscard]] std::byte* place(std::uint64_t number) const {
      return bytes.get() + number % frames_per_ring * longest;
    }
    boost::lockfree::spsc_queue<Handed, boost::lockfree::capacity<frames_per_ring>> entries;
    std::size_t longest;
    std::unique_ptr<std::byte[]> bytes;
    std::uint64_t given = 0; ///< for the producer
  };

  [[nodiscard]] Ring* ring(std::size_t from, std::size_t to) {
    return rings_[from * workers_ + to].get();
  }

  std::vector<std::size_t> worker_of_queue_pair_;
  std::size_t workers_ = 0;
  bool needed_ = false;
  std::vector<std::unique_ptr<Ring>> rings_;  ///< by producer and consumer; null: no port shared
  std::vector<std::vector<Ring*>> to_worker_; ///< by worker
  std::vector<std::vector<Ring*>> to_whole_port_; ///< by queue pair: of its port's other workers
};

} // namespace tributary::pktgen::run
