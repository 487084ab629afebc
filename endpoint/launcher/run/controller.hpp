// tributary-run as it runs: channels to node daemons, signals, the terminal and the fabric manager
// around the pure Launch.
//
// Threads: this one, which never blocks; one that writes output, because its reader may be slow;
// one that talks to the fabric manager.
#pragma once

#include "endpoint/launcher/control/launch.hpp"
#include "endpoint/launcher/run/options.hpp"

namespace tributary::launch::run {

/// Runs from the first daemon's start to the last one's end. Returns the exit code.
[[nodiscard]] int run_job(const Options& options);

} // namespace tributary::launch::run
