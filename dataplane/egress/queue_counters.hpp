// Counters and occupancy of one class's queue. One thread writes, any may read.
#pragma once

#include "dataplane/core/counter.hpp"
#include "dataplane/egress/drop_reason.hpp"
#include "dataplane/egress/gauge.hpp"
#include "dataplane/egress/queue_snapshot.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::egress {

struct QueueCounters {
  core::Counter frames; ///< sent
  core::Counter bytes;  ///< sent
  Gauge frames_waiting;
  Gauge bytes_waiting;
  Gauge most_frames; ///< the highest number that waited at any time
  Gauge most_bytes;
  std::array<core::Counter, queue_drop_reasons.size()> drops;
  core::Counter trimmed;       ///< frames
  core::Counter trimmed_bytes; ///< bytes removed
  Gauge trimmed_waiting;       ///< frames

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
    s.frames = frames.read();
    s.bytes = bytes.read();
    s.waiting = depth(frames_waiting, bytes_waiting);
    s.highest = depth(most_frames, most_bytes);
    for (std::size_t reason = 0; reason < drops.size(); ++reason) {
      s.drops[reason] = drops[reason].read();
    }
    s.trimmed = trimmed.read();
    s.trimmed_bytes = trimmed_bytes.read();
    s.trimmed_waiting = static_cast<std::uint32_t>(trimmed_waiting.read());
    return s;
  }

private:
  static Depth depth(const Gauge& frames, const Gauge& bytes) {
    return {static_cast<std::uint32_t>(frames.read()), static_cast<std::uint32_t>(bytes.read())};
  }
};

} // namespace tributary::egress
