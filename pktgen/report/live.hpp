// What a run shows while it goes on: one line that is rewritten in place, a full screen, or
// nothing; lines where nobody sits at a terminal. Everything goes to standard error, so that
// results on standard output stay clean.
#pragma once

#include "pktgen/measure/histogram.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include <unistd.h>

namespace tributary::pktgen {

/// How things stand at one moment. Rates are those of the time since the last call.
struct LiveFigures {
  std::string phase; ///< "warming up", "measuring 2 of 5"
  double elapsed_seconds = 0;
  double total_seconds = 0; ///< 0: nobody knows how long it takes
  double sent_frames_per_second = 0;
  double received_frames_per_second = 0;
  double operations_per_second = 0; ///< 0: this traffic has none
  /// Since the measurement began; null or empty: nothing yet. Not owned, read only during the call.
  const Histogram* latency = nullptr;
  std::uint64_t drops = 0; ///< of both sides, since the measurement began
  std::string waiting_for; ///< empty: for nothing
};

class LiveView {
public:
  virtual ~LiveView() = default;
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// May be called as often as one likes: it shows only what a person can follow.
  virtual void show(const LiveFigures& figures, TimeNs now) = 0;
  /// Leaves the terminal as it was found. Does nothing the second time.
  virtual void finish() = 0;

protected:
  LiveView() = default;
};

struct LiveOptions {
  bool watch = false; ///< the full screen, where there is a terminal
  bool quiet = false; ///< nothing at all
};
[[nodiscard]] std::unique_ptr<LiveView> live_view(const LiveOptions& options,
                                                  int descriptor = STDERR_FILENO);

} // namespace tributary::pktgen
