// What a measurement says about ports, their queues, and the workers that drive them. Cold; the
// worker pool stands still meanwhile.
#pragma once

#include "pktgen/result/result.hpp"
#include "pktgen/run/worker_pool.hpp"
#include "pktgen/transport/transport.hpp"

#include <span>
#include <vector>

namespace tributary::pktgen {

/// By lane.
[[nodiscard]] std::vector<PortCounts> counts_of(const std::vector<Port*>& lanes);

/// What went over each port since the lanes' counts were `before`.
[[nodiscard]] std::vector<Measurement::PortFigures>
port_figures(const Transport& transport, const std::vector<PortCounts>& before);

/// What each worker did since the measurement began; `cores` are those of the scenario.
[[nodiscard]] std::vector<Measurement::WorkerFigures>
worker_figures(WorkerPool& pool, const std::vector<unsigned>& cores, const Transport& transport);

/// The share of their time in which these workers had work.
[[nodiscard]] double busy_share(std::span<const DriverCounts> workers);

} // namespace tributary::pktgen
