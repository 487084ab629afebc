// Waiting for a change in shared memory: a count that is incremented, and a futex under it. A
// waiter yields its processor a few times before it sleeps, for the other ranks of its node may
// need it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tributary::mpi::node {

/// How long a wait lasts before the MPI library may make progress, and the interval after that.
/// Most waits are over before. To look at the MPI library's sockets costs more than a reduction
/// does, and where processors are few it takes them from the ranks that are waited for.
constexpr std::chrono::milliseconds before_idle{5};
constexpr std::chrono::milliseconds between_idle{2};

class Signal {
public:
  /// Wakes all waiting threads, which then see everything written before.
  void raise();

  /// Waits until `done()`. The side that makes it true calls raise() afterwards. `idle` is called
  /// when it takes longer, and repeatedly from then on.
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
  /// Sleeps until the count is not `seen` any more. False: the limit has passed.
  bool sleep(std::uint32_t seen, std::chrono::milliseconds limit);

  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

} // namespace tributary::mpi::node
