// Counters and occupancy of one class's queue. One thread writes, any may read.
#pragma once

#include "dataplane/core/counter.hpp"
#include "dataplane/core/counters.hpp"
#include "dataplane/egress/gauge.hpp"
#include "dataplane/egress/queue_snapshot.hpp"

#include <cstdint>

namespace tributary::egress {

struct QueueGauges {
  Gauge frames_waiting;
  Gauge bytes_waiting;
  Gauge most_frames; ///< the highest number that waited at any time
  Gauge most_bytes;
  Gauge trimmed_waiting; ///< frames
};

struct QueueCounters : QueueGauges, QueueFigures<core::Counter> {
  void show(Depth waiting) {
    frames_waiting.set(waiting.frames);
    bytes_waiting.set(waiting.bytes);
  }
  void raise_most(Depth waiting) {
    most_frames.raise_to(waiting.frames);
    most_bytes.raise_to(waiting.bytes);
  }

  /// Any thread. Without the class, its limits, and the neighbour's pauses.
  [[nodiscard]] QueueSnapshot snapshot() const {
    QueueSnapshot s;
    core::add<QueueFigures>(s, *this);
    s.waiting = depth(frames_waiting, bytes_waiting);
    s.highest = depth(most_frames, most_bytes);
    s.trimmed_waiting = static_cast<std::uint32_t>(trimmed_waiting.read());
    return s;
  }

private:
  static Depth depth(const Gauge& frames, const Gauge& bytes) {
    return {static_cast<std::uint32_t>(frames.read()), static_cast<std::uint32_t>(bytes.read())};
  }
};

} // namespace tributary::egress
