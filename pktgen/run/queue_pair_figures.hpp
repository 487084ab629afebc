// Figures of a measurement about ports, their queues, and the workers that drive them. Cold;
// requires that the worker pool is paused.
#pragma once

#include "pktgen/result/result.hpp"
#include "pktgen/run/worker_pool.hpp"
#include "pktgen/transport/transport.hpp"

#include <span>
#include <vector>

namespace tributary::pktgen::run {

/// By queue pair.
[[nodiscard]] std::vector<link::PortCounts> counts_of(const std::vector<link::Port*>& queue_pairs);

/// Frames of each port since the queue pairs' counts were `before`.
[[nodiscard]] std::vector<result::Measurement::PortFigures>
port_figures(const transport::Transport& transport, const std::vector<link::PortCounts>& before);

/// What each worker did since the measurement began; `cores` are those of the scenario.
[[nodiscard]] std::vector<result::Measurement::WorkerFigures>
worker_figures(WorkerPool& pool, const std::vector<unsigned>& cores,
               const transport::Transport& transport);

/// The share of their time in which these workers had work.
[[nodiscard]] double busy_share(std::span<const DriverCounts> workers);

} // namespace tributary::pktgen::run
