// What a result is worth: what makes a run a failure although no single figure is a fault, and why
// figures may not mean what they seem to.
//
//   problem   nothing came back, or of one of several traffics nothing
//   (exit     no reduction was completed
//   code 1)   more was lost than `max_loss` allows
//
//   warning   the switch had no descriptor for some reductions, and passed their contributions on
//             shares of several traffics were not kept
//             what bounded a search was that a rate was not kept, not what was lost
//
// Measurements that were cut short are not judged: the reason is reported elsewhere.
#pragma once

#include "pktgen/result/result.hpp"
#include "pktgen/scenario/scenario.hpp"

namespace tributary::pktgen::run {

/// Adds to Result::problems and Result::warnings.
void add_verdict(const scenario::Scenario& scenario, result::Result& result);

} // namespace tributary::pktgen::run
