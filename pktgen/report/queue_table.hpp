// The tables of the generator's queues and workers: they show an uneven distribution.
#pragma once

#include "lib/terminal/display.hpp"
#include "pktgen/result/result.hpp"

#include <string>

namespace tributary::pktgen::report {

/// Over all repeats; empty where one worker drives ports of one queue.
[[nodiscard]] std::string queue_tables(const result::Result& result,
                                       const terminal::Display& display);

} // namespace tributary::pktgen::report
