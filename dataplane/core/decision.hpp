// The switch core's decision about a frame.
#pragma once

#include "dataplane/core/drop_reason.hpp"
#include "tributary/types.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tributary::core {

enum class Action : std::uint8_t {
  drop,      ///< free the frame; `reason` says why, and has been counted
  absorb,    ///< free the frame; an engine holds its contents
  forward,   ///< send the frame unchanged out of `port`
  replicate, ///< send the frame unchanged out of every port of `ports`
  emit,      ///< the frame was rewritten as a result: send its first `length` bytes out of `port`
  replicate_result, ///< the same out of every port of `ports`, which include the ingress port
  deliver,          ///< hand a copy to the switch's agent and free the frame
  hand_over,        ///< give the frame, about which nothing was decided, to the worker `port`
};

/// Whether the frame is freed.
constexpr bool is_released(Action a) { return a == Action::drop || a == Action::absorb; }

/// Whether it leaves by the ports of `ports`, not by `port`.
constexpr bool is_copied(Action a) {
  return a == Action::replicate || a == Action::replicate_result;
}

/// Why a frame was handled as it was. For traces, `explain` and tests; the per-tree counters follow
/// it.
enum class Event : std::uint8_t {
  none,                ///< a drop: see the reason
  unicast,             ///< forwarded by its route
  detoured,            ///< forwarded by a spare port: the first ones are down or stuck
  multicast,           ///< replicated, no reduction on this tree
  armed,               ///< armed a free descriptor, replicated
  rearmed,             ///< found a descriptor and moved it on, replicated
  arm_failed,          ///< no descriptor was free; replicated all the same
  disarmed,            ///< released a descriptor, replicated
  disarm_no_match,     ///< nothing to release, replicated
  contributed,         ///< absorbed
  completed_full,      ///< completed the reduction: emitted
  passed_not_armed,    ///< no descriptor: forwarded toward the root
  passed_late,         ///< its reduction was emitted or timed out before: forwarded
  passed_foreign,      ///< VNI or cookie differ from the armed ones: forwarded
  passed_newer,        ///< a newer sequence than the armed one: forwarded
  passed_reserved,     ///< reserved opcode: forwarded
  passed_empty,        ///< forwarded: count 0 adds nothing
  emitted_partial,     ///< not caused by a frame: a timer expired
  hello,               ///< delivered: a neighbour's hello
  lldp,                ///< delivered: a neighbour's LLDP frame
  foreign,             ///< forwarded: not of the fabric, to the joined port
  completed_in_switch, ///< completed next to the root: the result is sent to all members
  replayed,      ///< the root missed that result: it is sent to all again, in place of the frame
  kept_released, ///< absorbed: the root refuses the kept result, or does not know it
  handed_over,   ///< another worker has its tree, or watches its port
  trimmed,       ///< not by the core: its queue was full, and only its headers leave
};

constexpr std::string_view name_of(Action a) {
  switch (a) {
  case Action::drop: return "drop";
  case Action::absorb: return "absorb";
  case Action::forward: return "forward";
  case Action::replicate: return "replicate";
  case Action::emit: return "emit";
  case Action::replicate_result: return "replicate_result";
  case Action::deliver: return "deliver";
  case Action::hand_over: return "hand_over";
  }
  return "unknown";
}

constexpr std::string_view name_of(Event e) {
  switch (e) {
  case Event::none: return "none";
  case Event::unicast: return "unicast";
  case Event::detoured: return "detoured";
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
  case Event::lldp: return "lldp";
  case Event::foreign: return "foreign";
  case Event::completed_in_switch: return "completed_in_switch";
  case Event::replayed: return "replayed";
  case Event::kept_released: return "kept_released";
  case Event::handed_over: return "handed_over";
  case Event::trimmed: return "trimmed";
  }
  return "unknown";
}

struct PackedDecision;

struct Decision {
  PortSet ports{}; ///< with `replicate` and `replicate_result`; unspecified with all others
  Action action = Action::drop;
  DropReason reason{}; ///< with `drop`
  Event event = Event::none;
  PortNumber port = no_port; ///< with `forward`, `emit`; `replicate_result`: the root's, or none;
                             ///< `hand_over`: the worker
  std::uint16_t length = 0;  ///< with `emit` and `replicate_result`: the bytes that leave
  std::uint8_t traffic_class = 0; ///< in which it leaves, if it does
  std::uint8_t padding = 0;       ///< decisions are compared with all their bytes

  void set(PackedDecision decided);
  /// Requires a decision that is not a replication.
  void set_rest(PackedDecision decided);
};
static_assert(sizeof(Decision) == 16);

/// A Decision in two registers, as the core passes it from function to function: field by field it
/// is taken apart and put together again each time, which costs as much as the rest of a frame's
/// path.
struct PackedDecision {
  std::uint64_t ports = 0;
  std::uint64_t rest = 0; ///< the bytes after `ports`, as in memory

  [[nodiscard]] constexpr Action action() const {
    return std::bit_cast<std::array<Action, sizeof rest>>(rest)[0];
  }
};
static_assert(offsetof(Decision, action) == 8 && offsetof(Decision, reason) == 9 &&
              offsetof(Decision, event) == 10 && offsetof(Decision, port) == 11 &&
              offsetof(Decision, length) == 12 && offsetof(Decision, traffic_class) == 14);

/// Joining two halves for one store costs more than all other decisions about a unicast frame.
inline void Decision::set_rest(PackedDecision decided) {
  std::memcpy(reinterpret_cast<std::byte*>(this) + sizeof ports, &decided.rest,
              sizeof decided.rest);
}
/// The ports alone, and only where they apply: combined with the rest they would pass through the
/// stack, and wait there until both are in memory.
inline void Decision::set(PackedDecision decided) {
  set_rest(decided);
  if (is_copied(decided.action())) {
    ports = PortSet(decided.ports);
  }
}

/// Consecutive in memory, which a little-endian word holds from its lowest bits on.
constexpr PackedDecision decided(Action action, Event event, PortNumber port, std::uint16_t length,
                                 std::uint8_t traffic_class, PortSet ports,
                                 DropReason reason = {}) {
  static_assert(std::endian::native == std::endian::little, "or the shifts run the other way");
  return {ports.bits(), static_cast<std::uint64_t>(action) |
                            static_cast<std::uint64_t>(reason) << 8 |
                            static_cast<std::uint64_t>(event) << 16 |
                            static_cast<std::uint64_t>(port.value) << 24 |
                            static_cast<std::uint64_t>(length) << 32 |
                            static_cast<std::uint64_t>(traffic_class) << 48};
}
constexpr PackedDecision dropped(DropReason reason) {
  return decided(Action::drop, Event::none, no_port, 0, 0, {}, reason);
}
constexpr PackedDecision absorbed() {
  return decided(Action::absorb, Event::contributed, no_port, 0, 0, {});
}
constexpr PackedDecision delivered(Event event) {
  return decided(Action::deliver, event, no_port, 0, 0, {});
}
constexpr PackedDecision handed_over(std::uint8_t worker) {
  return decided(Action::hand_over, Event::handed_over, PortNumber{worker}, 0, 0, {});
}
constexpr PackedDecision forwarded(PortNumber port, Event event, std::uint8_t traffic_class) {
  return decided(Action::forward, event, port, 0, traffic_class, {});
}
constexpr PackedDecision emitted(PortNumber port, Event event, std::uint16_t length,
                                 std::uint8_t traffic_class) {
  return decided(Action::emit, event, port, length, traffic_class, {});
}
constexpr PackedDecision replicated(PortSet ports, Event event, std::uint8_t traffic_class) {
  return decided(Action::replicate, event, no_port, 0, traffic_class, ports);
}

constexpr PackedDecision result_replicated(PortSet ports, PortNumber root, Event event,
                                           std::uint16_t length, std::uint8_t traffic_class) {
  return decided(Action::replicate_result, event, root, length, traffic_class, ports);
}
/// A frame from the root that was for this switch alone.
constexpr PackedDecision taken(Event event) {
  return decided(Action::absorb, event, no_port, 0, 0, {});
}

} // namespace tributary::core
