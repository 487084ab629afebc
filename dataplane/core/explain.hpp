// What the switch would do with a frame now, and why, in words. Changes nothing and counts nothing.
//
//     const Explanation e = explain(core, PortNumber{2}, frame);
//     for (const auto& step : e.steps) { print(step); }
//
// The answer is the Decision that `SwitchCore::process` would give for the same frame: it runs the
// same code, with effects that only take notes (decide.hpp). Not for the hot path: it allocates.
// Only by the core's owner.
#pragma once

#include "dataplane/core/switch_core.hpp"

#include <string>
#include <vector>

namespace tributary::core {

struct Explanation {
  Decision decision;
  /// One sentence for each thing looked at, in the order of looking; the last one is the verdict.
  std::vector<std::string> steps;
};

/// Requires that `in` is a port of the core's tables.
[[nodiscard]] Explanation explain(const SwitchCore& core, PortNumber in, FrameView frame);

} // namespace tributary::core
