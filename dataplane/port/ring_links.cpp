#include "dataplane/port/ring_links.hpp"

#include "dataplane/port/port_error.hpp"

#include <algorithm>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <fmt/format.h>

namespace tributary::port {
namespace {

rte_ring* create_ring(const std::string& link, int side) {
  // DPDK's names are short; the link's own name may not be, so the rings are numbered.
  static int created = 0;
  rte_ring* ring =
      rte_ring_create(fmt::format("tributary_link_{}", created++).c_str(),
                      RingLinks::frames_per_ring, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  if (ring == nullptr) {
    throw PortError(fmt::format("cannot make ring {} of link \"{}\": {}; raise memory_mib", side,
                                link, rte_strerror(rte_errno)));
  }
  return ring;
}

void free_frames(const RingLinks::Lanes& lanes) {
  std::for_each_n(lanes.rings.begin(), lanes.count.load(), [](rte_ring* ring) {
    void* frame = nullptr;
    while (rte_ring_dequeue(ring, &frame) == 0) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    }
  });
}

} // namespace

// ThreadSanitizer would report a race on the rings' own words, which are volatile and ordered;
// mbuf_ownership.hpp informs it about the frames.
[[gnu::no_sanitize_thread]] std::uint16_t RingLinks::End::receive(rte_mbuf** frames,
                                                                  std::uint16_t capacity) {
  const std::uint16_t lanes = incoming->count.load(std::memory_order_acquire);
  for (std::uint16_t asked = 0; asked < lanes; ++asked) {
    const std::uint16_t lane = next < lanes ? next : std::uint16_t{0};
    next = static_cast<std::uint16_t>(lane + 1);
    if (const std::uint16_t count = receive_lane(lane, frames, capacity); count != 0) {
      return count;
    }
  }
  return 0;
}

[[gnu::no_sanitize_thread]] std::uint16_t
RingLinks::End::receive_lane(std::uint16_t lane, rte_mbuf** frames, std::uint16_t capacity) const {
  if (lane >= incoming->count.load(std::memory_order_acquire)) {
    return 0; // the other end has fewer senders so far
  }
  return static_cast<std::uint16_t>(rte_ring_sc_dequeue_burst(
      incoming->rings[lane], reinterpret_cast<void**>(frames), capacity, nullptr));
}

[[gnu::no_sanitize_thread]] std::uint16_t
RingLinks::End::transmit(std::uint16_t lane, rte_mbuf* const* frames, std::uint16_t count) const {
  return static_cast<std::uint16_t>(rte_ring_sp_enqueue_burst(
      outgoing->rings[lane], reinterpret_cast<void* const*>(frames), count, nullptr));
}

RingLinks::End RingLinks::open(const std::string& name, std::uint16_t lanes) {
  Link& link = links_[name];
  for (std::size_t side = 0; side < 2; ++side) {
    if (link.taken[side]) {
      continue;
    }
    Lanes& outgoing = *link.lanes[side];
    for (std::uint16_t lane = outgoing.count.load(); lane < std::min(lanes, most_lanes); ++lane) {
      outgoing.rings[lane] = create_ring(name, static_cast<int>(side));
      // From now on the other end may read it.
      outgoing.count.store(static_cast<std::uint16_t>(lane + 1), std::memory_order_release);
    }
    link.taken[side] = true;
    return {.incoming = link.lanes[1 - side].get(),
            .outgoing = &outgoing,
            .side = static_cast<int>(side)};
  }
  throw PortError(fmt::format("ring \"{}\" joins two ports already; a third cannot share it; give "
                              "this one another name",
                              name));
}

void RingLinks::close(const std::string& name, const End& end) {
  free_frames(*end.incoming);
  free_frames(*end.outgoing);
  links_.at(name).taken[static_cast<std::size_t>(end.side)] = false;
}

bool RingLinks::joined(const std::string& name) const {
  const auto link = links_.find(name);
  return link != links_.end() && link->second.taken[0] && link->second.taken[1];
}

} // namespace tributary::port
