// The tables of the generator's queues and workers: by them a bad spread is seen.
#pragma once

#include "pktgen/result/result.hpp"

#include <string>

namespace tributary::pktgen {

/// Over all repeats; empty where one worker drives ports of one queue.
[[nodiscard]] std::string queue_tables(const Result& result, bool colours);

} // namespace tributary::pktgen
