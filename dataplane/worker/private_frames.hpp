// Views of frames in buffers, and whether a worker may change a buffer, or return it to the pool
// without resetting it.
#pragma once

#include "dataplane/core/frame_view.hpp"
#include "dataplane/port/mbuf_ownership.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

namespace tributary::worker {

inline core::FrameView view_of(rte_mbuf* frame) {
  return {rte_pktmbuf_mtod(frame, std::byte*), frame->data_len};
}

/// Fetches the two lines of each that a contribution has.
inline void fetch(std::span<const core::FrameView> views) {
  const auto both = [](const core::FrameView& view) {
    rte_prefetch0(view.data);
    rte_prefetch0(view.data + RTE_CACHE_LINE_SIZE);
  };
  std::size_t i = 0;
  for (; i + 4 <= views.size(); i += 4) { // unrolled, otherwise half of it would be the loop
    both(views[i]);
    both(views[i + 1]);
    both(views[i + 2]);
    both(views[i + 3]);
  }
  for (; i != views.size(); ++i) {
    both(views[i]);
  }
}

/// The words of a buffer that DPDK's drivers set with one store, read with one load. Other threads
/// may change the reference count meanwhile.
class Rearm {
public:
  explicit Rearm(const rte_mbuf* frame)
      : bits_(__atomic_load_n(reinterpret_cast<const std::uint64_t*>(&frame->rearm_data),
                              __ATOMIC_RELAXED)) {}
  /// Whether the whole frame is in one buffer without other references.
  [[nodiscard]] bool is_private() const { return (bits_ & private_mask) == private_bits; }
  [[nodiscard]] std::uint16_t data_off() const { return static_cast<std::uint16_t>(bits_); }

private:
  friend class Ownership;
  static constexpr std::size_t first = offsetof(rte_mbuf, rearm_data);
  static_assert(std::endian::native == std::endian::little && first % 8 == 0 &&
                offsetof(rte_mbuf, data_off) == first && offsetof(rte_mbuf, refcnt) == first + 2 &&
                offsetof(rte_mbuf, nb_segs) == first + 4);
  static constexpr std::uint64_t private_mask = 0xFFFFFFFF0000;
  static constexpr std::uint64_t private_bits = 0x100010000; ///< one reference, one segment

  std::uint64_t bits_;
};

inline bool is_private(const rte_mbuf* frame) { return Rearm(frame).is_private(); }

/// Whether a private buffer can return to `pool` unchanged.
inline bool is_direct_of(const rte_mempool* pool, const rte_mbuf* frame) {
  return frame->pool == pool && RTE_MBUF_DIRECT(frame);
}
/// Whether a buffer can return to `pool` unchanged.
inline bool is_of(const rte_mempool* pool, const rte_mbuf* frame) {
  return is_private(frame) && is_direct_of(pool, frame);
}

/// Whether many buffers are private, and of one pool, without a branch for each: their words are
/// combined with AND and OR.
class Ownership {
public:
  explicit Ownership(const rte_mempool* pool)
      : pool_(reinterpret_cast<std::uintptr_t>(pool)), any_pool_(pool_), all_pools_(pool_) {}
  void add(const rte_mbuf* frame, Rearm rearm) {
    any_ |= rearm.bits_;
    all_ &= rearm.bits_;
    any_pool_ |= reinterpret_cast<std::uintptr_t>(frame->pool);
    all_pools_ &= reinterpret_cast<std::uintptr_t>(frame->pool);
    flags_ |= frame->ol_flags;
  }
  [[nodiscard]] bool is_private() const {
    return (((any_ ^ Rearm::private_bits) | (all_ ^ Rearm::private_bits)) & Rearm::private_mask) ==
           0;
  }
  /// Whether all of them can return to the pool unchanged.
  [[nodiscard]] bool is_of_pool() const {
    return is_private() && any_pool_ == pool_ && all_pools_ == pool_ &&
           (flags_ & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)) == 0;
  }

private:
  std::uintptr_t pool_;
  std::uintptr_t any_pool_;
  std::uintptr_t all_pools_;
  std::uint64_t any_ = Rearm::private_bits;
  std::uint64_t all_ = Rearm::private_bits;
  std::uint64_t flags_ = 0;
};

/// Returns buffers to their pool unchanged.
inline void put_back(rte_mempool* pool, rte_mbuf** frames, std::uint16_t count) {
  std::for_each_n(frames, count, port::gives_ownership);
  rte_mempool_put_bulk(pool, reinterpret_cast<void* const*>(frames), count);
}

/// Frees buffers of any kind; those without other references return to `pool` immediately.
inline void free_frames(rte_mempool* pool, rte_mbuf** frames, std::uint16_t count) {
  std::uint16_t own = 0; // at the front of `frames`; mostly they are there already
  while (own != count && is_of(pool, frames[own])) {
    port::gives_ownership(frames[own++]);
  }
  for (std::uint16_t i = own; i != count; ++i) {
    if (is_of(pool, frames[i])) {
      port::gives_ownership(frames[i]);
      frames[own++] = frames[i];
    } else {
      port::give_back(frames[i]);
    }
  }
  rte_mempool_put_bulk(pool, reinterpret_cast<void* const*>(frames), own);
}

} // namespace tributary::worker
