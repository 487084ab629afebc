// What a run shows while it goes on: one line that is rewritten in place, a full screen, or
// nothing; lines where nobody sits at a terminal. Everything goes to standard error, so that
// results on standard output stay clean.
#pragma once

#include "pktgen/result/live_view.hpp"

#include <memory>

#include <unistd.h>

namespace tributary::pktgen::report {

struct LiveOptions {
  bool watch = false; ///< the full screen, where there is a terminal
  bool quiet = false; ///< nothing at all
};
[[nodiscard]] std::unique_ptr<result::LiveView> live_view(const LiveOptions& options,
                                                          int descriptor = STDERR_FILENO);

} // namespace tributary::pktgen::report
