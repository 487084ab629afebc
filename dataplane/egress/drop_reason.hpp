// Why a frame was dropped at the edge of a port: by its queue, or by what reads tags and pause
// frames. Continues dataplane/core/drop_reason.hpp behind the decision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::egress {

// clang-format off
#define TRIBUTARY_EGRESS_DROP_REASONS(X)                                                           \
  X(queue_full,      "the queue of its class at the output port is full")                          \
  X(headroom_full,   "its class is paused at the port it came in by, and the headroom for what was on its way is used up") \
  X(paused_too_long, "the neighbour has paused its class for longer than the watchdog's limit")    \
  X(port_down,       "the output port went down while the frame waited")                           \
  X(bad_pause,       "a MAC control frame that is cut short, or is no pause frame")                \
  X(bad_tag,         "a frame that ends within its 802.1Q tag")                                    \
  X(foreign_vlan,    "the VLAN id of its 802.1Q tag is not the link's")
// clang-format on

enum class DropReason : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_EGRESS_DROP_REASONS(TRIBUTARY_X)
#undef TRIBUTARY_X
};

inline constexpr std::size_t drop_reason_count = 0
#define TRIBUTARY_X(name, text) +1
    TRIBUTARY_EGRESS_DROP_REASONS(TRIBUTARY_X)
#undef TRIBUTARY_X
    ;

/// The counter's name, e.g. "queue_full".
constexpr std::string_view name_of(DropReason r) {
  constexpr std::array<std::string_view, drop_reason_count> names = {
#define TRIBUTARY_X(name, text) #name,
      TRIBUTARY_EGRESS_DROP_REASONS(TRIBUTARY_X)
#undef TRIBUTARY_X
  };
  return names[static_cast<std::size_t>(r)];
}

/// One sentence for a person.
constexpr std::string_view description_of(DropReason r) {
  constexpr std::array<std::string_view, drop_reason_count> texts = {
#define TRIBUTARY_X(name, text) text,
      TRIBUTARY_EGRESS_DROP_REASONS(TRIBUTARY_X)
#undef TRIBUTARY_X
  };
  return texts[static_cast<std::size_t>(r)];
}

} // namespace tributary::egress
