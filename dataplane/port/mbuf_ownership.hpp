// Tells ThreadSanitizer what DPDK's own code hides from it: that a buffer one thread gave to a
// driver, a ring or the pool, and that another one got from there, changed hands in order. Each
// buffer is its own synchronisation object, so that real races on other data stay visible.
// Compiles to nothing in other builds.
#pragma once

#include <rte_mbuf.h>

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace tributary::dataplane {

/// Call before a buffer is freed or passed to a driver.
inline void gives_ownership([[maybe_unused]] rte_mbuf* frame) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(frame);
#endif
}

/// Call after a buffer was allocated or taken from a driver.
inline void takes_ownership([[maybe_unused]] rte_mbuf* frame) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(frame);
#endif
}

} // namespace tributary::dataplane
