// Events of the fabric that jobs are notified of: their names in the manager's API, and their
// numbers in PMIx. The numbers are below PMIX_EXTERNAL_ERR_BASE (-3000), where PMIx leaves them to
// others. tributary/events.h has the same for C.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tributary {

struct EventCode {
  int number = 0;
  std::string_view name;
  /// Whether a job that it does not affect can receive it on request. Events of groups are
  /// delivered to their own job only.
  bool of_environment = false;
};

inline constexpr std::array event_codes{
    EventCode{-3101, "link_down", true},        EventCode{-3102, "link_up", true},
    EventCode{-3103, "route_changed", true},    EventCode{-3104, "tree_repaired", false},
    EventCode{-3105, "group_destroyed", false}, EventCode{-3106, "switch_suspect", true},
    EventCode{-3107, "switch_cleared", true},   EventCode{-3108, "congestion", true},
    EventCode{-3109, "congestion_over", true},  EventCode{-3110, "peer_quarantined", true},
    EventCode{-3111, "peer_released", true},    EventCode{-3112, "node_changed", true},
    EventCode{-3113, "events_lost", false},
};

/// Null if there is none of this name.
[[nodiscard]] constexpr const EventCode* find_event_code(std::string_view name) {
  const auto* const found = std::find_if(event_codes.begin(), event_codes.end(),
                                         [&](const EventCode& code) { return code.name == name; });
  return found == event_codes.end() ? nullptr : &*found;
}
[[nodiscard]] constexpr const EventCode* find_event_code(int number) {
  const auto* const found =
      std::find_if(event_codes.begin(), event_codes.end(),
                   [&](const EventCode& code) { return code.number == number; });
  return found == event_codes.end() ? nullptr : &*found;
}

} // namespace tributary
