// When a port must send a pause frame, and which: the sending side of priority flow control.
//
//   1. At each iteration, the owner of the port asks:
//        wanted = IngressAccounts::wanted(port) of all workers, or-ed together
//        if (auto pause = sender.due(wanted, now)) encode and send it ahead of everything that
//        waits
//   2. Once the device took it: sender.sent(*pause, now). Until then `due` returns it again.
//
// A class that is wanted is paused for `quanta`, and again when half of that is over, as long as it
// is wanted; then it is resumed, with quanta 0.
//
// Written by the port's worker; counters may be read by any thread.
#pragma once

#include "dataplane/core/counter.hpp"
#include "dataplane/egress/pause_receiver.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/pause_frame.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace tributary::egress {

class PauseSender {
public:
  struct ClassCounters {
    core::Counter pauses;  ///< frames sent that paused the class, or kept it paused
    core::Counter resumes; ///< frames sent that ended its pause
  };

  /// Requires quanta above 0.
  explicit PauseSender(std::uint16_t quanta = wire::longest_pause) : quanta_(quanta) {}

  /// 0: unknown.
  void set_link_speed(std::uint32_t mbps) { speed_mbps_ = mbps == 0 ? assumed_speed_mbps : mbps; }
  /// The frame to send now, if any.
  [[nodiscard]] std::optional<wire::PauseFrame> due(ClassSet wanted, TimeNs now) const {
    if ((wanted | asserted_).empty()) [[likely]] {
      return std::nullopt;
    }
    return due_while_pausing(wanted, now);
  }
  void sent(const wire::PauseFrame& pause, TimeNs now);
  /// The neighbour knows of no pause: the link went down.
  void forget() { asserted_ = {}; }

  /// When a pause must be refreshed.
  [[nodiscard]] TimeNs next_deadline() const { return asserted_.empty() ? never : refresh_at_; }

  /// Any thread.
  [[nodiscard]] const ClassCounters& counters(TrafficClass c) const { return counters_[c.value]; }

private:
  [[nodiscard]] std::optional<wire::PauseFrame> due_while_pausing(ClassSet wanted,
                                                                  TimeNs now) const;

  std::uint16_t quanta_;
  std::uint32_t speed_mbps_ = assumed_speed_mbps;
  ClassSet asserted_;
  TimeNs refresh_at_;
  std::array<ClassCounters, traffic_classes> counters_;
};

} // namespace tributary::egress
