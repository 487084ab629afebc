// What a switch core says must happen to a frame.
#pragma once

#include "dataplane/core/drop_reason.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <string_view>

namespace tributary::core {

enum class Action : std::uint8_t {
  drop,      ///< free the frame; `reason` says why, and has been counted
  absorb,    ///< free the frame; an engine holds what it carried
  forward,   ///< send the frame as it is out of `port`
  replicate, ///< send the frame as it is out of every port of `ports`
  emit, ///< the frame was rewritten as a reduction's result: send its first 94 bytes out of `port`
  deliver, ///< hand a copy to the switch's agent and free the frame
};

/// Why a frame went the way it did. For traces, `explain` and tests; the per-tree counters follow
/// it.
enum class Event : std::uint8_t {
  none,             ///< a drop: see the reason
  unicast,          ///< forwarded by its route
  multicast,        ///< replicated, no reduction on this tree
  armed,            ///< armed a free descriptor, replicated
  rearmed,          ///< found a descriptor and moved it on, replicated
  arm_failed,       ///< no descriptor was free; replicated all the same
  disarmed,         ///< released a descriptor, replicated
  disarm_no_match,  ///< nothing to release, replicated
  contributed,      ///< absorbed
  completed_full,   ///< completed the reduction: emitted
  passed_not_armed, ///< no descriptor: forwarded toward the root
  passed_late,      ///< its reduction was emitted or timed out before: forwarded
  passed_foreign,   ///< VNI or cookie differ from the armed ones: forwarded
  passed_newer,     ///< a newer sequence than the armed one: forwarded
  passed_reserved,  ///< reserved opcode: forwarded
  passed_empty,     ///< count 0 adds nothing: forwarded
  emitted_partial,  ///< not a frame's doing: a timer ran out
  hello,            ///< delivered: a neighbour says who it is
};

constexpr std::string_view name_of(Action a) {
  switch (a) {
  case Action::drop: return "drop";
  case Action::absorb: return "absorb";
  case Action::forward: return "forward";
  case Action::replicate: return "replicate";
  case Action::emit: return "emit";
  case Action::deliver: return "deliver";
  }
  return "unknown";
}

constexpr std::string_view name_of(Event e) {
  switch (e) {
  case Event::none: return "none";
  case Event::unicast: return "unicast";
  case Event::multicast: return "multicast";
  case Event::armed: return "armed";
  case Event::rearmed: return "rearmed";
  case Event::arm_failed: return "arm_failed";
  case Event::disarmed: return "disarmed";
  case Event::disarm_no_match: return "disarm_no_match";
  case Event::contributed: return "contributed";
  case Event::completed_full: return "completed_full";
  case Event::passed_not_armed: return "passed_not_armed";
  case Event::passed_late: return "passed_late";
  case Event::passed_foreign: return "passed_foreign";
  case Event::passed_newer: return "passed_newer";
  case Event::passed_reserved: return "passed_reserved";
  case Event::passed_empty: return "passed_empty";
  case Event::emitted_partial: return "emitted_partial";
  case Event::hello: return "hello";
  }
  return "unknown";
}

struct Decision {
  PortSet ports{}; ///< with `replicate`
  Action action = Action::drop;
  DropReason reason{}; ///< with `drop`
  Event event = Event::none;
  PortNumber port = no_port; ///< with `forward` and `emit`
};
static_assert(sizeof(Decision) == 16);

} // namespace tributary::core
