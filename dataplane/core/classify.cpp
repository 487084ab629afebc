#include "dataplane/core/classify.hpp"

namespace tributary::core {

DropReason IngressCheck::refusal_of_header(FrameView frame) const {
  std::uint32_t beginning;
  std::memcpy(&beginning, frame.data + ethertype_offset, sizeof beginning);
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::uint32_t differing = (beginning ^ expected_) & beginning_mask;
  if ((differing & ethertype_mask) != 0) {
    return DropReason::foreign_ethertype;
  }
  if (differing != 0) {
    return DropReason::bad_version;
  }
  if (verify_checksum_ && !checksum_ok(p)) {
    return DropReason::bad_checksum;
  }
  if (((wire::sfa_of(p).value ^ guarded_source_) & guard_mask_) != 0) {
    return DropReason::source_guard;
  }
  return DropReason::vni_not_permitted;
}

std::optional<DropReason> refusal_on(const MulticastEntry& entry, FrameView frame) {
  if (entry.wait_count == 0) {
    return IngressCheck::fits(frame) ? std::nullopt : std::optional(DropReason::bad_length);
  }
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  if (wire::total_length_of(p) != wire::reduction_packet_bytes) {
    return DropReason::bad_length;
  }
  if (frame.length < wire::reduction_frame_bytes) {
    return DropReason::truncated;
  }
  if (wire::request_length_of(p) != wire::reduction_request_length) {
    return DropReason::bad_request;
  }
  return std::nullopt;
}

} // namespace tributary::core
