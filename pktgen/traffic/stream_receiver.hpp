// The receiving half of a stream: recognises its frames and classifies each.
//
//   not ours      no stamp, or that of another run
//   damaged       the stamp's check, the fabric header or the length is wrong: the frame is not
//                 counted as received, so it is lost, too. Or its payload is wrong: received, and
//                 damaged
//   misdelivered  at a port where it should not be, or of a flow that there is not; not counted as
//                 received
//   received      in order, reordered, again (duplicated), or too old to tell (flow_checker.hpp)
//
// Where senders are here, too (role both), the measurement covers what was intended since it began;
// the loss is the number sent less the number received. Where they are elsewhere (role leaves) it
// covers what follows the largest sequence of each flow when it began, and the loss is the gaps;
// the run is that of the first frame that arrives, so that the other side's seed need not be known;
// and latency is not measured, because the other side's clock is another one.
//
// Pure; nothing is allocated after construction but by what is marked cold.
#pragma once

#include "lib/statistics/histogram.hpp"
#include "pktgen/traffic/flow_checker.hpp"
#include "pktgen/traffic/stream_plan.hpp"
#include "pktgen/traffic/traffic.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::pktgen::traffic {

/// Since the measurement began.
struct StreamReceived {
  measure::Volume frames;     ///< all received, duplicates included
  std::uint64_t distinct = 0; ///< first copies
  std::uint64_t reordered = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t too_old = 0;
  std::uint64_t damaged = 0;
  std::uint64_t misdelivered = 0;
};

class StreamReceiver {
public:
  /// The plan must outlive it.
  explicit StreamReceiver(const StreamPlan& plan);

  /// Whether the frame is one of this stream's.
  bool receive(scenario::PortIndex port, const FrameView& frame, TimeNs now);
  void begin_measuring(TimeNs begin);
  void stop();

  [[nodiscard]] const StreamReceived& counts() const { return counts_; }
  /// Gaps in the sequences. With role leaves, of the measurement.
  [[nodiscard]] std::uint64_t missing() const { return checker_.missing(); }
  [[nodiscard]] const statistics::Histogram& latency() const { return latency_; }
  /// First copies since construction.
  [[nodiscard]] std::uint64_t came() const { return came_; }
  /// When the last of them arrived.
  [[nodiscard]] TimeNs last_came() const { return last_came_; }
  /// Descriptions of the first few errors. Cold.
  [[nodiscard]] std::vector<std::string> remarks() const;

private:
  struct Incident {
    enum class Kind : std::uint8_t { bad_header, bad_payload, wrong_port, unknown_flow } kind;
    scenario::PortIndex port;
    Stamp stamp;
  };

  [[nodiscard]] bool is_ours(const Stamp& stamp, Stamped what, const std::byte* frame);
  [[nodiscard]] bool has_right_header(const FrameView& frame, std::uint32_t flow) const;
  void note(Incident::Kind kind, scenario::PortIndex port, const Stamp& stamp);
  [[nodiscard]] std::string words(const Incident& incident) const;

  const StreamPlan& plan_;
  bool senders_are_here_;
  FlowChecker checker_;
  std::optional<std::uint16_t> run_; ///< nothing: that of the first frame to arrive
  TimeNs begin_;
  StreamReceived counts_;
  statistics::Histogram latency_;
  std::uint64_t came_ = 0;
  TimeNs last_came_;
  std::array<Incident, measure::Tally::most_remarks / 2> incidents_{};
  std::size_t incident_count_ = 0;
};

} // namespace tributary::pktgen::traffic
