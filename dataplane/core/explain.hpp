// What the switch would do with a frame now, and why, in words. Changes and counts nothing.
//
//     const Explanation e = explain(core, PortNumber{2}, frame);
//     for (const auto& step : e.steps) { print(step); }
//
// The answer is the Decision that `SwitchCore::process` would return for the same frame: it runs
// the same code, with effects that only take notes (decide.hpp). It allocates, so it is not for the
// hot path. By the core's owner only.
#pragma once

#include "dataplane/core/switch_core.hpp"

#include <string>
#include <vector>

namespace tributary::core {

struct Explanation {
  Decision decision;
  /// One sentence per check, in order; the last one is the decision.
  std::vector<std::string> steps;
};

/// Requires that `in` is a port of the core's tables.
[[nodiscard]] Explanation explain(const SwitchCore& core, PortNumber in, FrameView frame);

} // namespace tributary::core
