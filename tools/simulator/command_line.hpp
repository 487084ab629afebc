// tributary-sim's command line.
#pragma once

#include "tools/simulator/allreduce_options.hpp"
#include "tools/simulator/experiment/experiment.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::simulator {

using experiment::Experiment;
using experiment::ExperimentError;

struct Invocation {
  std::optional<AllreduceInvocation> allreduce; ///< instead of all else
  Experiment experiment;
  std::vector<double> loads;
  bool latency_probe = false;
  unsigned jobs = 0; ///< runs in parallel; 0: as many as there are cores
  bool quiet = false;
  bool links = false;
  Outputs outputs;
};

/// nullopt when the command line has been answered already; `exit_code` says how.
[[nodiscard]] std::optional<Invocation> read_command_line(int argc, const char* const* argv,
                                                          int& exit_code);

/// "0.1:1:0.1" or "0.2,0.5,0.9". Throws ExperimentError.
[[nodiscard]] std::vector<double> parse_loads(const std::string& text);

} // namespace tributary::simulator
