// Runs an experiment at several loads, on several cores.
#pragma once

#include "tools/simulator/report/point.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tributary::simulator {

using experiment::Prepared;

/// Called by the calling thread ten times a second with the share that is done, and at the end.
using ShowProgress = std::function<void(double share)>;

/// One run for each load, `jobs` in parallel; the results do not depend on `jobs`. Runs end early
/// when `interrupted` is set. Throws what a run throws.
[[nodiscard]] std::vector<report::Point> sweep(const Prepared& prepared,
                                               std::span<const double> loads, unsigned jobs,
                                               const std::atomic<bool>& interrupted,
                                               const ShowProgress& show);

} // namespace tributary::simulator
