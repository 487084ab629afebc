// The reported figures of a run, or of several at different loads.
#pragma once

#include "tools/simulator/experiment/run.hpp"

#include <string>
#include <vector>

namespace tributary::simulator::report {

using engine::drop_names;
using experiment::Experiment;
using experiment::LatencySummary;
using experiment::LinkLoad;
using experiment::Prepared;
using experiment::Result;
using experiment::Verdict;

/// Work per processor time.
struct Speed {
  double seconds = 0; ///< processor time of the runs
  [[nodiscard]] double per_second(std::uint64_t count) const {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  }
};

struct Point {
  Result result;
  Speed speed;
};

struct Report {
  const Prepared& prepared;
  std::string version;
  std::vector<Point> points; ///< by load
};

} // namespace tributary::simulator::report
