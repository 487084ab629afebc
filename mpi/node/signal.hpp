// Waiting for a change in memory that processes share: a count that is bumped, and a futex under
// it. A waiter gives its processor away a few times before it sleeps, for the others of its node
// may need it to get there.
#pragma once

#include <atomic>
#include <cstdint>

namespace tributary::mpi::node {

class Signal {
public:
  /// Wakes all who wait. What was written before is seen by whoever wakes up.
  void raise();

  /// Waits until `done()`. Whoever makes it true raises afterwards. `idle` is called now and then.
  template <typename Done, typename Idle> void wait_until(Done&& done, Idle&& idle) {
    for (int i = 0; i < yields; ++i) {
      if (done()) {
        return;
      }
      yield();
    }
    for (;;) {
      const std::uint32_t seen = count_.load(std::memory_order_acquire);
      if (done()) {
        return;
      }
      idle();
      sleep(seen);
    }
  }

private:
  static constexpr int yields = 30;
  static void yield();
  /// Until the count is not `seen` any more, or for a millisecond.
  void sleep(std::uint32_t seen);

  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

} // namespace tributary::mpi::node
