// Informs ThreadSanitizer of synchronisation that DPDK's own code hides from it: a buffer that one
// thread gave to a driver, a ring or the pool, and that another one got from there, changed hands
// in order. Each buffer is its own synchronisation object, so that real races on other data stay
// visible. Compiles to nothing in other builds.
#pragma once

#include <span>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace tributary::port {

/// Call before a buffer is passed to a driver or put into a pool; it must not be accessed
/// afterwards.
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

/// As rte_pktmbuf_free(), which is inline and accesses a buffer after it was given away.
inline void give_back(rte_mbuf* frame) {
  gives_ownership(frame);
#if defined(__SANITIZE_THREAD__)
  rte_pktmbuf_free_bulk(&frame, 1); // does the same, invisible to the sanitizer
#else
  rte_pktmbuf_free(frame);
#endif
}

/// As rte_pktmbuf_alloc_bulk(): fresh buffers for all of `frames`, or false and none. Takes
/// ownership before the first access, which DPDK's inline function has already made when it
/// returns.
inline bool allocate(rte_mempool* pool, std::span<rte_mbuf*> frames) {
  if (rte_mempool_get_bulk(pool, reinterpret_cast<void**>(frames.data()),
                           static_cast<unsigned>(frames.size())) != 0) {
    return false;
  }
  for (rte_mbuf* frame : frames) {
    takes_ownership(frame);
    rte_pktmbuf_reset(frame);
  }
  return true;
}
/// One buffer; null if none is free.
inline rte_mbuf* allocate(rte_mempool* pool) {
  rte_mbuf* frame = nullptr;
  return allocate(pool, std::span(&frame, 1)) ? frame : nullptr;
}

} // namespace tributary::port
