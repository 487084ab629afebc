// The edge of a port on a link between switches: 802.1Q tags and pause frames of mbufs, on and off.
// Only ports that carry tags, or have a lossless class, have one. Belongs to the port's worker.
//
//   arriving    a pause frame goes to the queues of this port, and no further
//               a tag goes; the class it named is beside the frame (`traffic_class_of`)
//   leaving     a tag comes; what the device then does not take loses it again, so that a frame
//               that waits is as long as it was
//
// With VLAN id 0 frames of class 0 leave without a tag, which means the same. Who gets a tag must
// be nobody else's: a frame that is shared, a multicast's, is copied first.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/core/counters.hpp"
#include "dataplane/egress/link_edge.hpp"
#include "tributary/wire/pause_frame.hpp"

#include <cstdint>
#include <optional>

#include <rte_mbuf.h>

namespace tributary::worker {

/// Where the class travels beside a frame that came in by such a port: as a NIC that takes tags off
/// would leave it.
inline std::uint8_t traffic_class_of(const rte_mbuf* frame) {
  return static_cast<std::uint8_t>(frame->vlan_tci >> 13);
}

class PortEdge {
public:
  PortEdge(const config::Port& port, core::PortCounters& counters, rte_mempool* pool)
      : edge_(port.vlan), tags_(port.tags), vlan_(port.vlan), counters_(counters), pool_(pool) {}

  /// What came off the wire; says how many frames are for the core, the first ones then, and calls
  /// `pause(const wire::PauseFrame&)` for each pause frame. All others are gone.
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
  /// Puts a tag on each of the first frames and says how many; shared ones become copies.
  std::uint16_t depart(rte_mbuf** frames, std::uint16_t count, TrafficClass c);
  /// Takes them off again.
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
