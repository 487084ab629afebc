// Events of the virtual fabric.
#pragma once

#include <cstdint>

namespace tributary::fabric {

enum class EventKind : std::uint8_t {
  frame_arrival, ///< subject: link * 2 + direction, detail: frame
  link_free,     ///< subject: link * 2 + direction
  worker_poll,   ///< subject: switch, detail: worker
  host_wake,     ///< subject: host
  script,        ///< subject: index of a scheduled action
  held_behind,   ///< subject: link * 2 + direction; one may have waited for too long
};

struct Event {
  EventKind kind = EventKind::script;
  std::uint32_t subject = 0;
  std::uint32_t detail = 0;
};

} // namespace tributary::fabric
