// The impairments of one direction of one port, on buffers: dataplane/impairment decides, counts,
// and holds delayed frames. Belongs to the port's worker.
//
// A duplicate is a deep copy, so that the two may take different paths; bits are changed in a
// buffer without other references, which is a copy if there are any.
#pragma once

#include "dataplane/impairment/stage.hpp"
#include "dataplane/port/mbuf_ownership.hpp"
#include "tributary/types.hpp"

#include <cstdint>

#include <rte_mbuf.h>

namespace tributary::port {

/// The buffer operations of impairment::Stage.
class ImpairedMbufs {
public:
  using Handle = rte_mbuf*;

  explicit ImpairedMbufs(rte_mempool* pool) : pool_(pool) {}

  [[nodiscard]] FrameView view(rte_mbuf* frame) const {
    return {rte_pktmbuf_mtod(frame, std::byte*), frame->data_len};
  }
  [[nodiscard]] rte_mbuf* copy(rte_mbuf* frame) {
    rte_mbuf* copy = rte_pktmbuf_copy(frame, pool_, 0, UINT32_MAX);
    if (copy != nullptr) {
      takes_ownership(copy);
    }
    return copy;
  }
  [[nodiscard]] rte_mbuf* made_writable(rte_mbuf* frame) {
    if (rte_mbuf_refcnt_read(frame) == 1 && RTE_MBUF_DIRECT(frame)) {
      return frame;
    }
    rte_mbuf* own = copy(frame);
    if (own != nullptr) {
      port::give_back(frame);
    }
    return own;
  }
  void give_back(rte_mbuf* frame) { port::give_back(frame); }

private:
  rte_mempool* pool_;
};

using ImpairmentStage = impairment::Stage<ImpairedMbufs>;

} // namespace tributary::port
