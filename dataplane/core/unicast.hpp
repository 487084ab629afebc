// Forwarding of unicast frames, for decide.hpp.
//
//   its NID's place (tables.hpp)   then
//   a port, by the file            out of it, in its ingress class
//   a port, its host is attached   the same
//   a switch                       by its routing table (forwarding_table/decide.hpp)
//   none                           dropped: no_route
//
// On ports that lead to switches a frame's traffic class is its virtual channel; frames from other
// ports begin in 0. A port whose frames carry no class has virtual channel 0 only.
//
// Of the candidate ports, a flow stays on one: by a hash of SFA, DFA, VNI and DSCP, and of the
// switch's number, so that consecutive switches do not choose alike. Frames of a DSCP that allows
// reordering are spread one by one.
//
// A port that has paused the frame's class for so long that its watchdog has given it up counts as
// down, as long as there is another path.
#pragma once

#include "dataplane/core/decision.hpp"
#include "dataplane/core/drop_reason.hpp"
#include "dataplane/core/frame_view.hpp"
#include "dataplane/core/tables.hpp"
#include "dataplane/forwarding_table/decide.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/portals.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::core {

/// 64 bits that are the same for all frames of a flow, at one switch. No seed: a path can be
/// predicted, and found again.
inline std::uint64_t flow_hash(const std::byte* portals, std::uint32_t at_switch) {
  std::uint64_t addresses;
  std::memcpy(&addresses, portals + wire::portals_offset::sfa, sizeof addresses);
  const std::uint64_t others =
      std::uint64_t{at_switch} << 32 | std::uint64_t{wire::vni_of(portals).value} << 8 |
      std::to_integer<std::uint64_t>(portals[wire::portals_offset::dscp_ecn] & std::byte{0xFC});
  // Two rounds: a bit of a NID must reach the top bits and the bottom ones.
  std::uint64_t h = (addresses ^ others * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
  h = (h ^ h >> 32) * 0x94D049BB133111EBULL;
  return h ^ h >> 29;
}

constexpr DropReason reason_of(forwarding_table::Outcome outcome) {
  switch (outcome) {
  case forwarding_table::Outcome::dest_dead: return DropReason::dest_dead;
  case forwarding_table::Outcome::no_vc: return DropReason::no_vc;
  case forwarding_table::Outcome::no_route:
  case forwarding_table::Outcome::deliver: // to a host whose port is unknown
  case forwarding_table::Outcome::forward: break;
  }
  return DropReason::no_route;
}

/// Without the ports that have paused its class for too long, if that leaves a path; otherwise with
/// them, and the queue decides what becomes of it.
template <typename Effects>
[[gnu::cold, gnu::noinline]] forwarding_table::Decision
decide_past_stuck(Effects effects, const forwarding_table::SwitchTable& table,
                  forwarding_table::Port in, std::uint8_t vc, std::uint32_t destination,
                  std::uint32_t entropy) {
  const std::array<std::uint64_t, 1> up{effects.up().bits()};
  if (destination != table.self) {
    const unsigned next = unsigned{vc} + table.action(in, vc, destination).step;
    const std::array<std::uint64_t, 1> free{up[0] & ~effects.stuck(next).bits()};
    const forwarding_table::Decision around = decide(table, in, vc, destination, free, entropy);
    if (around.outcome == forwarding_table::Outcome::forward) {
      return around;
    }
  }
  return decide(table, in, vc, destination, up, entropy);
}

template <typename Effects>
[[gnu::noinline]] PackedDecision routed(Effects effects, PortNumber in, const FrameView& frame,
                                        std::uint32_t destination) {
  const auto dropped_as = [&](DropReason reason) {
    effects.count_drop(in, reason);
    return dropped(reason);
  };
  const forwarding_table::Routes& routes = *effects.tables().routes();
  const forwarding_table::SwitchTable& table = routes.table;
  const std::uint8_t vc = routes.leads_to_switch(in.value) ? frame.traffic_class : std::uint8_t{0};
  if (vc >= table.vcs) [[unlikely]] {
    effects.on_foreign_vc(vc, table.vcs);
    return dropped_as(DropReason::no_vc);
  }
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const auto dscp = std::to_integer<unsigned>(p[wire::portals_offset::dscp_ecn]) >> 2;
  const bool sprayed = (routes.sprayed_dscps >> dscp & 1U) != 0;
  const std::uint64_t entropy = sprayed ? effects.spray() : flow_hash(p, table.self);
  const auto for_ports = static_cast<std::uint32_t>(entropy >> 32);

  const std::array<std::uint64_t, 1> up{effects.up().bits()};
  const forwarding_table::Decision d =
      effects.any_stuck() ? decide_past_stuck(effects, table, in.value, vc, destination, for_ports)
                          : decide(table, in.value, vc, destination, up, for_ports);
  if (d.outcome != forwarding_table::Outcome::forward) [[unlikely]] {
    effects.on_routed(vc, d, sprayed, 0);
    return dropped_as(reason_of(d.outcome));
  }
  const PortNumber out{static_cast<std::uint8_t>(d.port)};
  const std::uint8_t highest = effects.carrying().contains(out) ? d.highest_vc : std::uint8_t{0};
  if (d.lowest_vc > highest) [[unlikely]] {
    effects.on_uncarried(out, d.lowest_vc);
    return dropped_as(DropReason::no_vc);
  }
  // Any of these is valid: flows are spread over them, too.
  const unsigned choices = unsigned{highest} - d.lowest_vc + 1U;
  const auto out_vc =
      static_cast<std::uint8_t>(d.lowest_vc + ((entropy & 0xFFFFU) * choices >> 16));
  effects.on_routed(vc, d, sprayed, out_vc);
  return forwarded(out, d.spare ? Event::detoured : Event::unicast, out_vc);
}

} // namespace tributary::core
