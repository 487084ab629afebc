// A result as text, for a terminal or a file: what was run, the ceiling, rates, counts, latencies,
// drops of both sides, the search's steps, and errors. Losses are yellow and faults red where
// colours are wanted.
#pragma once

#include "lib/terminal/display.hpp"
#include "pktgen/result/result.hpp"

#include <string>
#include <string_view>

namespace tributary::pktgen::report {

/// The unit of `cycles_per_frame` of a result. The counter that generator and switch read is the
/// processor's time stamp counter on x86; elsewhere it is a timer of its own rate.
#if defined(__x86_64__)
inline constexpr std::string_view counted_here = "cycles";
#else
inline constexpr std::string_view counted_here = "timer ticks";
#endif

[[nodiscard]] std::string table_text(const result::Result& result, const terminal::Display& display,
                                     std::string_view counted = counted_here);

} // namespace tributary::pktgen::report
