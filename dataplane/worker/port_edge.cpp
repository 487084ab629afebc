#include "dataplane/worker/port_edge.hpp"

#include "dataplane/port/mbuf_ownership.hpp"

#include <span>
#include <tuple>

namespace tributary::worker {
namespace {

bool is_own(const rte_mbuf* frame) {
  return rte_mbuf_refcnt_read(frame) == 1 && frame->nb_segs == 1 && RTE_MBUF_DIRECT(frame);
}

/// A writable buffer in exchange for this one; null, without effect, if there is no buffer for it.
rte_mbuf* own_copy(rte_mbuf* frame, rte_mempool* pool) {
  rte_mbuf* copy = rte_pktmbuf_copy(frame, pool, 0, UINT32_MAX);
  if (copy == nullptr) {
    return nullptr;
  }
  port::takes_ownership(copy);
  port::give_back(frame);
  return copy;
}

} // namespace

bool PortEdge::is_control(const rte_mbuf* frame) {
  return frame->data_len >= wire::ethernet_header_bytes &&
         wire::is_mac_control(rte_pktmbuf_mtod(frame, const std::byte*));
}

std::optional<wire::PauseFrame> PortEdge::pause_in(rte_mbuf* frame) {
  wire::PauseFrame pause;
  const std::span bytes(rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len);
  if (wire::decode(bytes, pause) != wire::PauseError::none) {
    drop(frame, core::DropReason::bad_pause);
    return std::nullopt;
  }
  port::give_back(frame);
  return pause;
}

/// The frame without its tag; null if it was dropped.
rte_mbuf* PortEdge::without_tag(rte_mbuf* frame) {
  frame->vlan_tci = 0;
  if (!tags_ || frame->data_len < wire::ethernet_header_bytes ||
      !wire::has_vlan_tag(rte_pktmbuf_mtod(frame, const std::byte*))) {
    return frame;
  }
  if (!is_own(frame)) {
    rte_mbuf* copy = own_copy(frame, pool_);
    if (copy == nullptr) {
      drop(frame, core::DropReason::no_buffer);
      return nullptr;
    }
    frame = copy;
  }
  const egress::LinkEdge::Arrival arrival =
      edge_.arrive(rte_pktmbuf_mtod(frame, std::byte*), frame->data_len);
  if (arrival.refused) {
    drop(frame, *arrival.refused);
    return nullptr;
  }
  rte_pktmbuf_adj(frame, wire::vlan_tag_bytes);
  frame->vlan_tci = static_cast<std::uint16_t>(arrival.traffic_class.value << 13);
  return frame;
}

std::uint16_t PortEdge::depart(rte_mbuf** frames, std::uint16_t count, TrafficClass c) {
  for (std::uint16_t i = 0; i < count; ++i) {
    if (!is_own(frames[i]) || rte_pktmbuf_headroom(frames[i]) < wire::vlan_tag_bytes) {
      rte_mbuf* copy = own_copy(frames[i], pool_);
      if (copy == nullptr) {
        return i; // waits until there is one
      }
      frames[i] = copy;
    }
    std::byte* frame = rte_pktmbuf_mtod(frames[i], std::byte*);
    rte_pktmbuf_prepend(frames[i], wire::vlan_tag_bytes);
    std::ignore = edge_.depart(frame, c);
  }
  return count;
}

void PortEdge::take_back(rte_mbuf** frames, std::uint16_t count) {
  for (std::uint16_t i = 0; i < count; ++i) {
    wire::strip_vlan_tag(rte_pktmbuf_mtod(frames[i], std::byte*));
    rte_pktmbuf_adj(frames[i], wire::vlan_tag_bytes);
  }
}

void PortEdge::drop(rte_mbuf* frame, core::DropReason why) {
  counters_.drops[static_cast<std::size_t>(why)].add();
  port::give_back(frame);
}

} // namespace tributary::worker
