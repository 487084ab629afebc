// The kind of a frame, for impairments that are restricted to some kinds.
//
// Determined by the frame's own bytes alone, without a table and without checking it: a frame that
// the switch would refuse is impaired as what it claims to be. On a link whose frames carry 802.1Q
// tags the kind is that of the tagged content. A kind is added by a line of the table and a line of
// `kind_of`; configuration, command line and reports follow.
#pragma once

#include "tributary/frame_view.hpp"
#include "tributary/wire/hello.hpp"
#include "tributary/wire/pause_frame.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/shared.hpp"
#include "tributary/wire/vlan_tag.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace tributary::impairment {

// clang-format off
#define TRIBUTARY_FRAME_KINDS(X)                                                                   \
  X(reduction, "contributions and partial results, on their way to the root")                      \
  X(result,    "reduction frames that the root sent: arms and results")                            \
  X(multicast, "shared frames, and all other multicast frames")                                    \
  X(rdma,      "RDMA frames")                                                                      \
  X(unicast,   "all other frames to one address of the fabric")                                    \
  X(control,   "hellos, link hellos, LLDP and pause frames")                                       \
  X(foreign,   "frames of other EtherTypes, and invalid frames of the fabric")
// clang-format on

enum class Kind : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_FRAME_KINDS(TRIBUTARY_X)
#undef TRIBUTARY_X
};

inline constexpr std::string_view kind_names[] = {
#define TRIBUTARY_X(name, text) #name,
    TRIBUTARY_FRAME_KINDS(TRIBUTARY_X)
#undef TRIBUTARY_X
};
inline constexpr std::size_t kind_count = std::size(kind_names);

/// In lists of names, it stands for all kinds.
inline constexpr std::string_view all_kinds = "all";

constexpr std::string_view name_of(Kind k) { return kind_names[static_cast<std::size_t>(k)]; }
constexpr std::optional<Kind> kind_named(std::string_view name) {
  for (std::size_t i = 0; i < kind_count; ++i) {
    if (kind_names[i] == name) {
      return static_cast<Kind>(i);
    }
  }
  return std::nullopt;
}

class KindSet {
public:
  constexpr KindSet() = default;
  static constexpr KindSet all() {
    return KindSet((std::uint32_t{1} << static_cast<unsigned>(kind_count)) - 1);
  }

  constexpr void insert(Kind k) { bits_ |= bit(k); }
  [[nodiscard]] constexpr bool contains(Kind k) const { return (bits_ & bit(k)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(KindSet, KindSet) = default;

  /// Calls `f(Kind)` for each member, in the order of the table.
  template <typename F> constexpr void for_each(F&& f) const {
    for (std::size_t i = 0; i < kind_count; ++i) {
      if (const Kind k = static_cast<Kind>(i); contains(k)) {
        f(k);
      }
    }
  }

private:
  constexpr explicit KindSet(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(Kind k) { return 1U << static_cast<unsigned>(k); }
  std::uint32_t bits_ = 0;
};

/// `ethertype` is the fabric's.
inline Kind kind_of(const FrameView& frame, std::uint16_t ethertype) {
  if (frame.length < wire::ethernet_header_bytes) {
    return Kind::foreign;
  }
  const std::byte* begin = frame.data;
  std::uint32_t length = frame.length;
  if (wire::has_vlan_tag(begin) && length >= wire::ethernet_header_bytes + wire::vlan_tag_bytes) {
    begin += wire::vlan_tag_bytes; // skips the addresses; of those only the last part matters here
    length -= std::uint32_t{wire::vlan_tag_bytes};
  }
  const std::uint16_t type = wire::ethertype_of(begin);
  if (type == wire::lldp_ethertype || wire::is_mac_control(begin)) {
    return Kind::control;
  }
  const std::byte* packet = begin + wire::ethernet_header_bytes;
  if (type != ethertype || length < wire::ethernet_header_bytes + wire::fabric_header_bytes) {
    return Kind::foreign;
  }
  if (wire::begins_hello(packet)) {
    return Kind::control;
  }
  if (packet[wire::portals_offset::version_ihl] != std::byte{wire::portals_version_ihl}) {
    return Kind::foreign;
  }
  if (!wire::dfa_of(packet).is_multicast()) {
    const bool has_command =
        length > wire::ethernet_header_bytes + std::uint32_t{wire::portals_offset::command};
    return has_command && packet[wire::portals_offset::command] == std::byte{wire::rdma_command}
               ? Kind::rdma
               : Kind::unicast;
  }
  if (length < wire::reduction_frame_bytes || wire::is_shared(wire::dfa_of(packet))) {
    return Kind::multicast;
  }
  // Either form. Wraps if the length is shorter than the headers, and is then too long.
  static_assert(wire::wide_request_length(sizeof(wire::Payload)) == wire::reduction_request_length);
  const std::size_t payload =
      std::size_t{wire::total_length_of(packet)} - wire::wide_packet_header_bytes;
  if ((payload != sizeof(wire::Payload) && !wire::is_wide_payload(payload)) ||
      wire::request_length_of(packet) != wire::wide_request_length(payload)) {
    return Kind::multicast;
  }
  const auto dscp = std::to_integer<std::uint8_t>(packet[wire::portals_offset::dscp_ecn]) >> 2;
  return dscp == wire::dscp_root ? Kind::result : Kind::reduction;
}

} // namespace tributary::impairment
