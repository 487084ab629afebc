// Lets a thread that must never block wake the control thread: a descriptor that becomes readable.
// Repeated signals before the control thread runs cost one system call in all.
#pragma once

#include "dataplane/port/port_error.hpp"
#include "lib/net/file_descriptor.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <sys/eventfd.h>
#include <unistd.h>

namespace tributary::port {

class WakeUp {
public:
  /// Throws PortError if no descriptors are left.
  WakeUp() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_.get() < 0) {
      throw PortError(std::string("cannot make an event descriptor: ") + std::strerror(errno));
    }
  }

  /// Any thread.
  void signal() noexcept {
    if (!signalled_.exchange(true, std::memory_order_acq_rel)) {
      const std::uint64_t one = 1;
      // Cannot fail: the count is 0 or 1.
      static_cast<void>(::write(descriptor_.get(), &one, sizeof one) == sizeof one);
    }
  }

  // By the woken thread only.

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// Call before checking for work: signals from now on wake the thread again.
  void accept() noexcept {
    std::uint64_t count = 0;
    static_cast<void>(::read(descriptor_.get(), &count, sizeof count) == sizeof count);
    signalled_.store(false, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }

private:
  net::FileDescriptor descriptor_;
  std::atomic<bool> signalled_{false};
};

} // namespace tributary::port
