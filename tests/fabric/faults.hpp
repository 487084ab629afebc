// Faults of links, and their counts.
//
// Chance faults are probabilities per frame and direction, decided by the product's impairment
// (LinkFaults). Aimed faults hit the nth frame that fits a description (AimedFault): "the second
// arm that reaches switch 3". Both are counted by name, so that a fault test can show that the
// fault happened.
#pragma once

#include "dataplane/impairment/impairer.hpp"
#include "tests/fabric/topology.hpp"
#include "tributary/wire/reduction.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tributary::fabric {

/// Random faults of frames: those that a switch's ports can inject, and damage. Each direction of a
/// link has an Impairer of its own.
using LinkFaults = impairment::Settings;

// clang-format off
#define TRIBUTARY_FABRIC_FAULTS(X)                                                                 \
  X(loss) X(burst_loss) X(duplicate) X(reorder) X(wire_corruption) X(header_corruption)             \
  X(corruption) X(jitter) X(rate_limit)                                                            \
  X(link_down) X(slow_link) X(switch_crash) X(switch_silence) X(slow_worker) X(table_change)        \
  X(no_buffer) X(full_ring) X(incast) X(pause_storm)                                               \
  X(aimed_loss) X(aimed_delay) X(aimed_duplicate)                                                  \
  X(late_member) X(dead_member) X(wrong_opcode) X(foreign_cookie) X(foreign_vni)                   \
  X(spoofed_source) X(garbage) X(stale_replay) X(few_descriptors)
// clang-format on

enum class Fault : std::uint8_t {
#define TRIBUTARY_X(name) name,
  TRIBUTARY_FABRIC_FAULTS(TRIBUTARY_X)
#undef TRIBUTARY_X
};
inline constexpr std::size_t fault_count = 0
#define TRIBUTARY_X(name) +1
    TRIBUTARY_FABRIC_FAULTS(TRIBUTARY_X)
#undef TRIBUTARY_X
    ;

constexpr std::string_view name_of(Fault f) {
  constexpr std::array<std::string_view, fault_count> names = {
#define TRIBUTARY_X(name) #name,
      TRIBUTARY_FABRIC_FAULTS(TRIBUTARY_X)
#undef TRIBUTARY_X
  };
  return names[static_cast<std::size_t>(f)];
}

/// Number of occurrences of each fault.
class FaultCounts {
public:
  void add(Fault f, std::uint64_t n = 1) { counts_[static_cast<std::size_t>(f)] += n; }
  [[nodiscard]] std::uint64_t of(Fault f) const { return counts_[static_cast<std::size_t>(f)]; }
  FaultCounts& operator+=(const FaultCounts& other) {
    for (std::size_t i = 0; i < fault_count; ++i) {
      counts_[i] += other.counts_[i];
    }
    return *this;
  }

private:
  std::array<std::uint64_t, fault_count> counts_{};
};

/// A frame that is about to enter a link, as an aimed fault sees it.
struct Passage {
  LinkEnd from;
  LinkEnd to;
  TimeNs now;
  std::span<const std::byte> bytes;
  /// The frame's contents, when it is a valid reduction frame.
  std::optional<wire::ReductionFrame> reduction;

  [[nodiscard]] bool into_switch(SwitchIndex s) const {
    return to.kind == LinkEnd::Kind::in_switch && to.node == s;
  }
  [[nodiscard]] bool out_of_switch(SwitchIndex s) const {
    return from.kind == LinkEnd::Kind::in_switch && from.node == s;
  }
  [[nodiscard]] bool into_host(HostIndex h) const {
    return to.kind == LinkEnd::Kind::host && to.node == h;
  }
  [[nodiscard]] bool out_of_host(HostIndex h) const {
    return from.kind == LinkEnd::Kind::host && from.node == h;
  }
};

/// Applies to matching frames, `take` times, after `skip` of them passed unharmed.
struct AimedFault {
  enum class Effect : std::uint8_t { lose, delay, duplicate };
  std::function<bool(const Passage&)> fits{};
  Effect effect = Effect::lose;
  std::uint64_t skip = 0;
  std::uint64_t take = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t delay_ns = 0; ///< with `delay` and `duplicate`
  std::uint64_t seen = 0;
  std::uint64_t done = 0; ///< number of occurrences
};

} // namespace tributary::fabric
