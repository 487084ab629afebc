// A result for a person, on a terminal or in a file: what was run, the ceiling, rates, counts,
// latencies, drops of both sides, the search's steps, and what went wrong. Losses are yellow and
// faults red where colours are wanted.
#pragma once

#include "lib/terminal/display.hpp"
#include "pktgen/result/result.hpp"

#include <string>
#include <string_view>

namespace tributary::pktgen::report {

/// In what `cycles_per_frame` of a result counts. The counter that generator and switch read is
/// the processor's time stamp counter on x86; elsewhere it is a timer of its own rate.
#if defined(__x86_64__)
inline constexpr std::string_view counted_here = "cycles";
#else
inline constexpr std::string_view counted_here = "timer ticks";
#endif

[[nodiscard]] std::string table_text(const result::Result& result, const terminal::Display& display,
                                     std::string_view counted = counted_here);

} // namespace tributary::pktgen::report
