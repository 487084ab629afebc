// Something that makes frames and knows what must come back. Pure: frames and times in, frames out;
// it reads no clock, opens nothing, starts no thread, and allocates nothing between `start` and
// `stop`.
//
// How it is driven, by one thread (run/driver.hpp):
//
//   1. traffic.start(now);
//   2. in a loop: traffic.receive(l, frame, now) for each frame that came in at queue pair l
//                 traffic.generate(ports, now)   composes what is due, as long as ports take it
//      nothing is due before next_due(), unless a frame comes
//   3. traffic.begin_measuring(now);  after the warm-up: forgets what was counted, goes on
//   4. traffic.stop(now);             begins nothing new; what is in flight goes on
//      until drained(now) or the caller's time-out expires: go on with 2
//   5. traffic.tally(now)             any time, cold
//   6. until traffic.give_up(ports, now): nothing more comes of it, and switches forget what they
//      hold for it; whatever ended it. Nothing else is called then but `tally`.
//
// Several workers have a traffic each, of the same settings, and some of the queue pairs
// (placement.hpp). A frame that also concerns hosts on queue pairs of others is handed to those:
// overhear().
//
// Times of frames. Latency runs from the time an event was intended for, not from when the
// generator got round to it: whoever falls behind sees it in the latency (no coordinated omission).
//
// What belongs to the measurement is what was intended at or after `begin_measuring` and before
// `stop`; answers to what went out before are recognised, and not counted as losses or strangers.
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

/// What became of a frame that came in.
struct Reception {
  enum class Concerns : std::uint8_t {
    who_has_it,     ///< nobody else
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
  /// The next measurement begins no more than so many operations at all workers together, and each
  /// is told the same number, ahead of `begin_measuring`; 0: as many as it can. A traffic that
  /// cannot tell which those are takes no notice.
  virtual void limit(std::uint64_t operations) { static_cast<void>(operations); }
  virtual void begin_measuring(TimeNs now) = 0;
  virtual void stop(TimeNs now) = 0;

  /// A frame came in.
  virtual Reception receive(scenario::QueuePairIndex queue_pair, const FrameView& frame,
                            TimeNs now) = 0;
  /// Another worker received a frame at that queue pair of its own, then, and it concerns hosts
  /// here. It has been counted there.
  virtual void overhear(scenario::QueuePairIndex, const FrameView&, TimeNs) {}
  virtual void generate(Ports ports, TimeNs now) = 0;
  /// `never` when only a frame can bring it on.
  [[nodiscard]] virtual TimeNs next_due() const = 0;
  /// Several workers, each with a traffic of the same settings and some of the queue pairs, begin
  /// and end a measurement together: ahead of `begin_measuring` and `stop` each is told how far the
  /// one that went farthest has gone. None of them runs in between.
  [[nodiscard]] virtual Progress progress() const { return {}; }
  virtual void agree(const Progress& farthest) { static_cast<void>(farthest); }

  /// Whether any of its hosts that send are here.
  [[nodiscard]] virtual bool sends() const { return true; }
  /// Whether it has nothing more to begin, however long it went on.
  [[nodiscard]] virtual bool exhausted() const { return false; }
  /// After `stop`: whether nothing more is to be expected or sent.
  [[nodiscard]] virtual bool drained(TimeNs now) const = 0;

  /// Has switches forget what they hold for it, so that whoever measures next finds them empty.
  /// False as long as ports take no more: call it again. What is in flight is not waited for.
  [[nodiscard]] virtual bool give_up(Ports, TimeNs) { return true; }

  [[nodiscard]] virtual measure::Tally tally(TimeNs now) const = 0;
  /// Whom or what it waits for, a line for a person; empty when for nothing. Cold.
  [[nodiscard]] virtual std::string waiting_for(TimeNs now) const = 0;
};

} // namespace tributary::pktgen::traffic
