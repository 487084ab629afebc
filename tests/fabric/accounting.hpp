// Frame accounting of a run: every frame that was put on a wire has one origin and one fate, and
// every frame that entered a switch left it or has a fate. `Fabric::audit` checks that the sums
// agree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::fabric {

// clang-format off
#define TRIBUTARY_FABRIC_FATES(X)                                                                  \
  X(to_switch)       /* delivered */                                                               \
  X(to_host)         /* delivered */                                                               \
  X(lost)            /* by chance */                                                               \
  X(aimed_lost)      /* by an aimed fault */                                                       \
  X(link_down)       /* sent into, or in flight on, a link that was down */                        \
  X(host_queue)      /* dropped by the queues of the host that was to send it */                   \
  X(missed)          /* the receive queue of the switch's port was full */                         \
  X(bad_fcs)         /* damaged on the wire, caught by the receiver's FCS check */                 \
  X(switch_silent)   /* arrived at a switch that had crashed or was silent */                      \
  X(host_dead)       /* arrived at a host that was dead, or runs nothing */
// clang-format on

/// The fate of a frame on a wire.
enum class Fate : std::uint8_t {
#define TRIBUTARY_X(name) name,
  TRIBUTARY_FABRIC_FATES(TRIBUTARY_X)
#undef TRIBUTARY_X
};
inline constexpr std::size_t fate_count = 0
#define TRIBUTARY_X(name) +1
    TRIBUTARY_FABRIC_FATES(TRIBUTARY_X)
#undef TRIBUTARY_X
    ;

constexpr std::string_view name_of(Fate f) {
  constexpr std::array<std::string_view, fate_count> names = {
#define TRIBUTARY_X(name) #name,
      TRIBUTARY_FABRIC_FATES(TRIBUTARY_X)
#undef TRIBUTARY_X
  };
  return names[static_cast<std::size_t>(f)];
}

/// All wires together.
struct WireAccounting {
  std::uint64_t sent_by_hosts = 0;    ///< into their queues
  std::uint64_t sent_by_switches = 0; ///< out of their queues
  std::uint64_t duplicates = 0;       ///< created by the wires themselves
  std::array<std::uint64_t, fate_count> fates{};
  std::uint64_t in_flight = 0;

  void end(Fate f) {
    ++fates[static_cast<std::size_t>(f)];
    --in_flight;
  }
  [[nodiscard]] std::uint64_t of(Fate f) const { return fates[static_cast<std::size_t>(f)]; }
};

/// One switch, from one start (or crash) to the next.
struct SwitchAccounting {
  std::uint64_t received = 0;
  std::uint64_t dropped = 0;
  std::uint64_t absorbed = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t completed = 0; ///< the frame became a reduction's result
  std::uint64_t replicated = 0;
  std::uint64_t delivered = 0;    ///< to the switch's agent
  std::uint64_t paused = 0;       ///< pause frames, obeyed
  std::uint64_t refused = 0;      ///< at the edge of the port: the reason is a core::DropReason
  std::uint64_t handoff_full = 0; ///< on the way to their engine
  std::uint64_t waiting = 0;      ///< in a receive queue or a hand-off ring
  std::uint64_t lost_in_crash = 0;

  std::uint64_t copies_sent = 0;   ///< of replicated frames
  std::uint64_t partials_sent = 0; ///< by a timer or a table change
  std::uint64_t agent_sent = 0;
  std::uint64_t sent = 0; ///< toward a queue

  std::uint64_t crossing = 0;      ///< in a hand-off ring, to the worker that has the queue
  std::uint64_t crossing_full = 0; ///< which was full
  std::uint64_t port_down = 0;     ///< arrived at a queue whose link had gone down meanwhile
  std::uint64_t queue_drops = 0;   ///< the reason is a core::DropReason
  std::uint64_t left = 0;          ///< onto a link
  std::uint64_t pauses_sent = 0;   ///< onto a link; from no queue
};

} // namespace tributary::fabric
