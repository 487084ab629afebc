// The display of a running run: one line that is rewritten in place, a full screen, or nothing;
// separate lines where the output is not a terminal. Everything is written to standard error, so
// that results on standard output stay clean.
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
