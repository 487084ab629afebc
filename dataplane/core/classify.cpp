#include "dataplane/core/classify.hpp"

#include "tributary/wire/hello.hpp"
#include "tributary/wire/link_hello.hpp"

#include <span>

namespace tributary::core {

Classified IngressCheck::classify_by_field(const FrameView& frame) const {
  if (frame.length < shortest_frame_bytes) {
    return Classified::refused(DropReason::runt);
  }
  if (frame.length - shortest_frame_bytes > most_bytes_behind_) {
    return Classified::refused(DropReason::too_long);
  }
  if (const std::uint16_t ethertype = wire::ethertype_of(frame.data); ethertype != ethertype_) {
    return lldp_ && ethertype == wire::lldp_ethertype ? Classified::lldp()
                                                      : classify_foreign(frame);
  }
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  if (p[wire::portals_offset::version_ihl] != std::byte{wire::portals_version_ihl}) {
    return classify_other_version(frame);
  }
  if (verify_checksum_ && !checksum_ok(p)) {
    return Classified::refused(DropReason::bad_checksum);
  }
  if (!source_permitted(p)) {
    return Classified::refused(DropReason::source_guard);
  }
  if (!vni_permitted(p)) {
    return Classified::refused(DropReason::vni_not_permitted);
  }
  const wire::FabricAddress dfa = wire::dfa_of(p);
  if (!dfa.is_multicast()) {
    return has_its_length(frame) ? Classified::unicast(dfa.nid())
                                 : Classified::refused(DropReason::bad_length);
  }
  if (dfa.action() == wire::shared_action) {
    return has_its_length(frame) ? Classified::shared(ReductionKey(dfa.tree(), ReductionId{0}))
                                 : Classified::refused(DropReason::bad_length);
  }
  if (dfa.action() != multicast_action) {
    return Classified::refused(DropReason::bad_action);
  }
  // All else of this multicast is valid, and `classify` did not accept it: the id is above 7.
  return classify_upper_id(frame);
}

/// A multicast that passed all checks and is not a reduction frame of 84 bytes.
Classified IngressCheck::classify_other_length(const FrameView& frame, ReductionKey key) {
  return problem_with_wide(frame) ? Classified::multicast(key, false) : Classified::wide(key);
}

/// A multicast that passed all checks, with an id above 7.
Classified IngressCheck::classify_upper_id(const FrameView& frame) {
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const wire::FabricAddress dfa = wire::dfa_of(p);
  const bool is_short = wire::total_length_of(p) == wire::reduction_packet_bytes;
  const bool suits = is_short ? frame.length >= wire::reduction_frame_bytes &&
                                    wire::request_length_of(p) == wire::reduction_request_length
                              : !problem_with_wide(frame);
  return suits ? Classified::wide(ReductionKey(dfa.tree(), dfa.slot()))
               : Classified::multicast(ReductionKey(dfa.tree(), dfa.reduction()), false);
}

/// A frame without the fabric's EtherType.
Classified IngressCheck::classify_foreign(const FrameView& frame) const {
  if (foreign_to_ == no_port) {
    return Classified::refused(DropReason::foreign_ethertype);
  }
  return wire::is_link_local(frame.data) ? Classified::refused(DropReason::link_local)
                                         : Classified::foreign(foreign_to_);
}

/// A frame that does not begin with a fabric header. A hello is not checked against the port's
/// guard: it identifies the sender, and does nothing on behalf of a NID. A link hello takes links
/// up and down, so it is refused where a guard says that a host is attached.
Classified IngressCheck::classify_other_version(const FrameView& frame) const {
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  if (!wire::begins_hello(p)) {
    return Classified::refused(DropReason::bad_version);
  }
  const std::span<const std::byte> bytes(frame.data, frame.length);
  const bool of_link = wire::begins_link_hello(p);
  const wire::HelloError error =
      of_link ? wire::check_link_hello(bytes, ethertype_) : wire::check_hello(bytes, ethertype_);
  if (error != wire::HelloError::none) {
    return Classified::refused(DropReason::bad_hello);
  }
  return of_link && guarded() ? Classified::refused(DropReason::link_hello_from_host)
                              : Classified::hello();
}

std::optional<DropReason> refusal_on(const MulticastEntry& entry, FrameView frame,
                                     const SlotPlace& place) {
  if (entry.wait_count == 0) {
    return has_its_length(frame) ? std::nullopt : std::optional(DropReason::bad_length);
  }
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::size_t total_length = wire::total_length_of(p);
  if (total_length != wire::reduction_packet_bytes) {
    if (total_length > wire::wide_packet_header_bytes + place.payload_bytes) {
      return DropReason::bad_length; // no place for it, whatever it is
    }
    if (const auto problem = problem_with_wide(frame)) {
      return problem;
    }
  } else if (frame.length < wire::reduction_frame_bytes) {
    return DropReason::truncated;
  } else if (wire::request_length_of(p) != wire::reduction_request_length) {
    return DropReason::bad_request;
  }
  if (entry.has_upper_ids() && wire::dfa_of(p).slot().value >= entry.slots()) {
    return DropReason::bad_reduction_id;
  }
  return std::nullopt;
}

} // namespace tributary::core
