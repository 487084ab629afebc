// The edge of a port on a link between switches: adds and removes 802.1Q tags, and handles pause
// frames, on mbufs. Only ports that carry tags, or have a lossless class, have one. Belongs to the
// port's worker.
//
//   arriving    a pause frame goes to the queues of this port, and no further;
//               a tag is removed; its class is stored beside the frame (`traffic_class_of`)
//   leaving     a tag is added; a frame that the device does not take loses it again, so that
//               a waiting frame keeps its length
//
// With VLAN id 0 frames of class 0 leave without a tag, which means the same. A frame must have no
// other references to get a tag: a shared frame, a multicast's, is copied first.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/core/counters.hpp"
#include "dataplane/egress/link_edge.hpp"
#include "tributary/wire/pause_frame.hpp"

#include <cstdint>
#include <optional>

#include <rte_mbuf.h>

namespace tributary::worker {

/// Position of the class beside a frame that arrived at such a port: where a NIC that strips tags
/// would store it.
inline std::uint8_t traffic_class_of(const rte_mbuf* frame) {
  return static_cast<std::uint8_t>(frame->vlan_tci >> 13);
}

class PortEdge {
public:
  PortEdge(const config::Port& port, core::PortCounters& counters, rte_mempool* pool)
      : edge_(port.vlan), tags_(port.tags), vlan_(port.vlan), counters_(counters), pool_(pool) {}

  /// Filters received frames; returns how many are for the core, which are then the first ones, and
  /// calls `pause(const wire::PauseFrame&)` for each pause frame. All others are freed.
  template <typename Pause>
  std::uint16_t arrive(rte_mbuf** frames, std::uint16_t count, Pause&& pause) {
    std::uint16_t kept = 0;
    for (std::uint16_t i = 0; i < count; ++i) {
      rte_mbuf* frame = frames[i];
      if (is_control(frame)) {
        if (const auto what = pause_in(frame)) {
          pause(*what);
        }
      } else if ((frame = without_tag(frame)) != nullptr) {
        frames[kept++] = frame;
      }
    }
    return kept;
  }

  [[nodiscard]] bool tags(TrafficClass c) const { return tags_ && (c.value != 0 || vlan_ != 0); }
  /// Tags the first frames and returns how many; shared ones become copies.
  std::uint16_t depart(rte_mbuf** frames, std::uint16_t count, TrafficClass c);
  /// Removes the tags again.
  static void take_back(rte_mbuf** frames, std::uint16_t count);

private:
  static bool is_control(const rte_mbuf* frame);
  std::optional<wire::PauseFrame> pause_in(rte_mbuf* frame);
  rte_mbuf* without_tag(rte_mbuf* frame);
  void drop(rte_mbuf* frame, core::DropReason why);

  egress::LinkEdge edge_;
  bool tags_;
  std::uint16_t vlan_;
  core::PortCounters& counters_;
  rte_mempool* pool_;
};

} // namespace tributary::worker
