// The classes of a port that its neighbour has paused, and until when.
//
// A pause frame sets the end of the pause of each class it names: now plus its quanta, at the
// link's speed. A later frame sets it again, earlier or later; quanta 0 end the pause immediately.
// Classes that do not obey are counted and left alone.
//
// Written by the port's worker; counters and `paused_now` may be read by any thread.
#pragma once

#include "dataplane/core/counter.hpp"
#include "dataplane/egress/gauge.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/pause_frame.hpp"

#include <array>
#include <cstdint>

namespace tributary::egress {

/// For links of unknown speed: the neighbour refreshes a pause that is shorter than meant, and ends
/// a longer one.
inline constexpr std::uint32_t assumed_speed_mbps = 10'000;

class PauseReceiver {
public:
  struct ClassCounters {
    core::Counter received; ///< frames that named the class and were obeyed
    core::Counter ignored;  ///< frames that named it while it does not obey
    core::Counter paused_ns;
  };

  explicit PauseReceiver(ClassSet obeying) : obeying_(obeying) {}

  /// 0: unknown.
  void set_link_speed(std::uint32_t mbps) { speed_mbps_ = mbps == 0 ? assumed_speed_mbps : mbps; }
  void receive(const wire::PauseFrame& pause, TimeNs now);
  /// Ends expired pauses, and returns the classes still paused.
  ClassSet update(TimeNs now);
  /// Ends all pauses: the link was replaced, or went down.
  void forget(TimeNs now);

  [[nodiscard]] ClassSet paused() const { return paused_; }
  /// When the pause began; refreshes do not interrupt it.
  [[nodiscard]] TimeNs since(TrafficClass c) const { return pauses_[c.value].since; }
  /// When the pause ends; for a class that is not paused, when the last one ended.
  [[nodiscard]] TimeNs until(TrafficClass c) const { return pauses_[c.value].until; }

  // Any thread.

  [[nodiscard]] const ClassCounters& counters(TrafficClass c) const { return counters_[c.value]; }
  [[nodiscard]] ClassSet paused_now() const {
    return ClassSet(static_cast<std::uint8_t>(published_.read()));
  }

private:
  struct Pause {
    TimeNs since;
    TimeNs until;
    TimeNs counted; ///< end of the time included in `paused_ns`
  };
  void count_time(TrafficClass c, TimeNs now);

  ClassSet obeying_;
  std::uint32_t speed_mbps_ = assumed_speed_mbps;
  ClassSet paused_;
  std::array<Pause, traffic_classes> pauses_{};
  std::array<ClassCounters, traffic_classes> counters_;
  Gauge published_; ///< `paused_`
};

} // namespace tributary::egress
