// Times of allreduces as table, JSON, CSV and plot: each with the costs behind them.
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/simulator/allreduce/study.hpp"

#include <span>
#include <string>
#include <string_view>

namespace tributary::simulator::report {

/// A line for each point; the costs and their sources below.
[[nodiscard]] std::string allreduce_table(const allreduce::Study& study,
                                          std::span<const allreduce::StudyPoint> points,
                                          const terminal::Display& display);
[[nodiscard]] std::string allreduce_json(const allreduce::Study& study,
                                         std::span<const allreduce::StudyPoint> points,
                                         std::string_view version);
/// The costs are in lines that begin with "#".
[[nodiscard]] std::string allreduce_csv(const allreduce::Study& study,
                                        std::span<const allreduce::StudyPoint> points);
/// A gnuplot script: time against size, for the largest number of hosts.
[[nodiscard]] std::string allreduce_plot(const allreduce::Study& study,
                                         std::span<const allreduce::StudyPoint> points);

} // namespace tributary::simulator::report
