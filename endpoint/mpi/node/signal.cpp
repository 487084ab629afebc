#include "endpoint/mpi/node/signal.hpp"

#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tributary::mpi::node {

namespace {

// The futex is in memory shared by processes, so it is not a private one.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit) {
  static_assert(sizeof word == sizeof(std::uint32_t));
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit,
                 nullptr, 0);
}

} // namespace

void Signal::raise() {
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    futex(count_, FUTEX_WAKE, INT_MAX, nullptr);
  }
}

void Signal::yield() { sched_yield(); }

bool Signal::sleep(std::uint32_t seen, std::chrono::milliseconds limit) {
  const timespec time{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(limit).count()};
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const bool timed_out = futex(count_, FUTEX_WAIT, seen, &time) != 0 && errno == ETIMEDOUT;
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  return !timed_out;
}

} // namespace tributary::mpi::node
