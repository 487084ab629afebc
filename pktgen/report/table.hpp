// A result for a person, on a terminal or in a file: what was run, the ceiling, rates, counts,
// latencies, drops of both sides, the search's steps, and what went wrong. Losses are yellow and
// faults red where colours are wanted.
#pragma once

#include "pktgen/result/result.hpp"
#include "terminal/display.hpp"

#include <string>

namespace tributary::pktgen::report {

[[nodiscard]] std::string table_text(const result::Result& result,
                                     const terminal::Display& display);

} // namespace tributary::pktgen::report
