// The edge of a port on a link between switches: received frames lose their 802.1Q tag and gain a
// traffic class, sent frames get a tag. Inside the switch no frame has one.
//
//   tag on arrival                 becomes
//   none                           class 0
//   VLAN id of the link, or 0      the class of its priority; the tag is removed
//   another VLAN id                dropped: foreign_vlan
//   cut short                      dropped: bad_tag
//
// A second tag after the first is an EtherType like any other. Pause frames have no tag, and have
// to be handled before (wire::is_mac_control). Pure functions on bytes; no state.
#pragma once

#include "dataplane/egress/drop_reason.hpp"
#include "tributary/wire/vlan_tag.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tributary::egress {

class LinkEdge {
public:
  struct Arrival {
    std::byte* frame = nullptr; ///< start of the frame: unchanged, or four bytes later
    std::uint32_t length = 0;
    TrafficClass traffic_class{};
    std::optional<DropReason> refused; ///< if set, the frame is unchanged
  };

  /// `vlan_id`: 0 to 4094, the same at both ends. 0: the tag carries the priority only.
  explicit LinkEdge(std::uint16_t vlan_id) : vlan_id_(vlan_id) {}

  /// A frame as received.
  [[nodiscard]] Arrival arrive(std::byte* frame, std::uint32_t length) const {
    if (length < wire::ethernet_header_bytes || !wire::has_vlan_tag(frame)) {
      return {.frame = frame, .length = length, .traffic_class = {}, .refused = {}};
    }
    if (length < wire::ethernet_header_bytes + wire::vlan_tag_bytes) {
      return {frame, length, {}, DropReason::bad_tag};
    }
    const wire::VlanTag tag = wire::vlan_tag_of(frame);
    if (tag.vlan_id != vlan_id_ && tag.vlan_id != 0) {
      return {frame, length, {}, DropReason::foreign_vlan};
    }
    return {wire::strip_vlan_tag(frame), length - static_cast<std::uint32_t>(wire::vlan_tag_bytes),
            tag.priority, std::nullopt};
  }

  /// Converts it to the form on the wire: it begins four bytes earlier and is four bytes longer.
  /// Requires four writable bytes in front of the frame, and no other reader of it.
  [[nodiscard]] std::byte* depart(std::byte* frame, TrafficClass c) const {
    return wire::insert_vlan_tag(frame, {c, vlan_id_});
  }

private:
  std::uint16_t vlan_id_;
};

} // namespace tributary::egress
