// A source of frames that knows what must come back. Pure: frames and times in, frames out; it
// reads no clock, opens nothing, starts no thread, and allocates nothing between `start` and
// `stop`.
//
// How it is driven, by one thread (run/driver.hpp):
//
//   1. traffic.start(now);
//   2. in a loop: traffic.receive(l, frame, now) for each frame that arrived at queue pair l
//                 traffic.generate(ports, now)   composes what is due, as long as ports take it
//      nothing is due before next_due(), unless a frame arrives
//   3. traffic.begin_measuring(now);  after the warm-up: resets the counts, continues
//   4. traffic.stop(now);             begins nothing new; what is in flight continues
//      until drained(now) or the caller's time-out expires: continue with 2
//   5. traffic.tally(now)             any time, cold
//   6. until traffic.give_up(ports, now): it ends, and switches forget what they
//      hold for it; whatever ended it. Nothing else is called then but `tally`.
//
// Several workers have a traffic each, of the same settings, and some of the queue pairs
// (placement.hpp). A frame that also concerns hosts on queue pairs of others is handed to those:
// overhear().
//
// Times of frames. Latency runs from the time an event was intended for, not from when the
// generator got round to it: falling behind shows in the latency (no coordinated omission).
//
// The measurement covers events that were intended at or after `begin_measuring` and before `stop`;
// answers to earlier frames are recognised, and not counted as losses or strangers.
#pragma once

#include "dataplane/core/frame_view.hpp"
#include "lib/link/port.hpp"
#include "pktgen/measure/tally.hpp"
#include "pktgen/scenario/port_index.hpp"
#include "pktgen/traffic/placement.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tributary::pktgen::traffic {

/// What one worker sends and receives through, by QueuePairIndex; null for queue pairs of other
/// workers.
using Ports = std::span<link::Port* const>;

/// The outcome of a received frame.
struct Reception {
  enum class Concerns : std::uint8_t {
    who_has_it,     ///< no other worker
    one_queue_pair, ///< only hosts on `queue_pair`, which another worker has
    whole_port,     ///< hosts on all queue pairs of the port
  };
  bool ours = false; ///< the traffic's
  Concerns concerns = Concerns::who_has_it;
  scenario::QueuePairIndex queue_pair = 0;

  Reception(bool is_ours) : ours(is_ours) {}
  explicit operator bool() const { return ours; }
};

/// How far a traffic has gone, in whatever it numbers; elements of the same place compare.
using Progress = std::vector<std::uint64_t>;

class Traffic {
public:
  Traffic() = default;
  virtual ~Traffic() = default;
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  virtual void start(TimeNs now) = 0;
  /// Limits the operations of the next measurement, over all workers; each receives the same
  /// number, ahead of `begin_measuring`; 0: no limit. A traffic that cannot count them ignores it.
  virtual void limit(std::uint64_t operations) { static_cast<void>(operations); }
  virtual void begin_measuring(TimeNs now) = 0;
  virtual void stop(TimeNs now) = 0;

  /// Takes a received frame.
  virtual Reception receive(scenario::QueuePairIndex queue_pair, const FrameView& frame,
                            TimeNs now) = 0;
  /// Another worker received a frame at that queue pair of its own, then, and it concerns hosts
  /// here. It has been counted there.
  virtual void overhear(scenario::QueuePairIndex, const FrameView&, TimeNs) {}
  virtual void generate(Ports ports, TimeNs now) = 0;
  /// `never` when only a frame can cause work.
  [[nodiscard]] virtual TimeNs next_due() const = 0;
  /// Several workers, each with a traffic of the same settings and some of the queue pairs, begin
  /// and end a measurement together: ahead of `begin_measuring` and `stop` each receives the
  /// largest progress of any. No worker runs in between.
  [[nodiscard]] virtual Progress progress() const { return {}; }
  virtual void agree(const Progress& farthest) { static_cast<void>(farthest); }

  /// Whether any of its hosts that send are here.
  [[nodiscard]] virtual bool sends() const { return true; }
  /// Whether it has nothing more to begin, however long it runs.
  [[nodiscard]] virtual bool exhausted() const { return false; }
  /// After `stop`: whether nothing more is to be expected or sent.
  [[nodiscard]] virtual bool drained(TimeNs now) const = 0;

  /// Has switches release what they hold for it, so that the next run finds them empty. False as
  /// long as ports take no more: call it again. Frames in flight are not waited for.
  [[nodiscard]] virtual bool give_up(Ports, TimeNs) { return true; }

  [[nodiscard]] virtual measure::Tally tally(TimeNs now) const = 0;
  /// A line that describes what it waits for; empty when it does not wait. Cold.
  [[nodiscard]] virtual std::string waiting_for(TimeNs now) const = 0;
};

} // namespace tributary::pktgen::traffic
