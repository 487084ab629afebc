// The interface that receives the progress of a run; report/ shows it on a terminal.
#pragma once

#include "lib/statistics/histogram.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tributary::pktgen::result {

/// The state at one moment. Rates cover the time since the last call.
struct LiveFigures {
  std::string phase; ///< "warming up", "measuring 2 of 5"
  double elapsed_seconds = 0;
  double total_seconds = 0; ///< 0: unknown duration
  double sent_frames_per_second = 0;
  double received_frames_per_second = 0;
  double operations_per_second = 0; ///< 0: this traffic has none
  /// Since the measurement began; null or empty: nothing yet. Not owned, read only during the call.
  const statistics::Histogram* latency = nullptr;
  // Frames dropped since the measurement began.
  std::uint64_t drops = 0;                   ///< by the generator's ports
  std::optional<std::uint64_t> switch_drops; ///< by the switch; nothing where it does not report
                                             ///< them
  std::string waiting_for;                   ///< empty: for nothing
};

class LiveView {
public:
  virtual ~LiveView() = default;
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// May be called at any rate: it limits its own updates to a readable one.
  virtual void show(const LiveFigures& figures, TimeNs now) = 0;
  /// Leaves the terminal as it was found. Does nothing the second time.
  virtual void finish() = 0;

protected:
  LiveView() = default;
};

} // namespace tributary::pktgen::result
