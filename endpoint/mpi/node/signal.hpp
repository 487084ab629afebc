// Waiting for a change in memory that processes share: a count that is bumped, and a futex under
// it. A waiter gives its processor away a few times before it sleeps, for the others of its node
// may need it to get there.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tributary::mpi::node {

/// How long a wait lasts before the MPI library is let go on, and how long from then to then. Most
/// waits are over before. To look at the MPI library's sockets costs more than a reduction does,
/// and where processors are few it takes them from the ranks that are waited for.
constexpr std::chrono::milliseconds before_idle{5};
constexpr std::chrono::milliseconds between_idle{2};

class Signal {
public:
  /// Wakes all who wait. What was written before is seen by whoever wakes up.
  void raise();

  /// Waits until `done()`. Whoever makes it true raises afterwards. `idle` is called when it takes
  /// longer, and again and again from then on.
  template <typename Done, typename Idle> void wait_until(Done&& done, Idle&& idle) {
    for (int i = 0; i < yields; ++i) {
      if (done()) {
        return;
      }
      yield();
    }
    for (std::chrono::milliseconds limit = before_idle;;) {
      const std::uint32_t seen = count_.load(std::memory_order_acquire);
      if (done()) {
        return;
      }
      if (!sleep(seen, limit)) {
        idle();
        limit = between_idle;
      }
    }
  }

private:
  static constexpr int yields = 30;
  static void yield();
  /// Until the count is not `seen` any more. False: for as long as that.
  bool sleep(std::uint32_t seen, std::chrono::milliseconds limit);

  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

} // namespace tributary::mpi::node
