// tributary-sim: from the command line to a report, and to an exit code.

#include "controlplane/topology/builders.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "lib/service/options.hpp"
#include "lib/service/version.hpp"
#include "lib/terminal/display.hpp"
#include "lib/terminal/output.hpp"
#include "lib/terminal/output_file.hpp"
#include "lib/terminal/wrap.hpp"
#include "tools/simulator/command_line.hpp"
#include "tools/simulator/experiment/probe.hpp"
#include "tools/simulator/progress_bar.hpp"
#include "tools/simulator/report/allreduce.hpp"
#include "tools/simulator/report/json.hpp"
#include "tools/simulator/report/text.hpp"
#include "tools/simulator/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <exception>
#include <thread>

#include <unistd.h>

namespace {

using namespace tributary;
using namespace tributary::simulator;
using experiment::ProbedLatency;

constexpr int exit_stuck = 3;

std::atomic<bool> interrupted{false};

extern "C" void interrupt(int) { interrupted = true; }

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(signal, &action, nullptr);
  }
}

int probe(const Invocation& invocation) {
  const auto probed = experiment::probe_latencies(invocation.experiment);
  terminal::write_output("-", report::probe_text(probed, terminal::display_of(STDOUT_FILENO)));
  const bool good = std::ranges::all_of(
      probed, [](const ProbedLatency& one) { return std::abs(one.ns - one.published_ns) <= 1; });
  return good ? service::exit_success : service::exit_runtime_failure;
}

/// The report to its file, CSV and plot to theirs; the table to standard output, too, if JSON goes
/// to a file and nothing else goes there.
template <typename Json, typename Csv, typename Plot, typename Table>
void write_outputs(const Outputs& outputs, const Json& json, const Csv& csv, const Plot& plot,
                   const Table& table) {
  using terminal::write_output;
  const auto wrapped = [&](const terminal::Display& display) {
    return terminal::wrapped(table(display), display.columns);
  };
  const bool printed = outputs.csv == "-" || outputs.plot == "-";
  const bool to_file = outputs.report != "-";
  if (outputs.json || to_file) {
    write_output(outputs.report, outputs.json ? json() : wrapped({}));
  }
  if (outputs.csv) {
    write_output(*outputs.csv, csv());
  }
  if (outputs.plot) {
    write_output(*outputs.plot, plot());
  }
  if (!printed && outputs.json == to_file) {
    write_output("-", wrapped(terminal::display_of(STDOUT_FILENO)));
  }
}

int simulate(const Invocation& invocation) {
  const Prepared prepared(invocation.experiment);
  if (!invocation.quiet) {
    fmt::print(stderr, "seed {}\n", invocation.experiment.seed);
  }
  handle_signals();
  report::Report report{prepared, service::program_version, {}};
  {
    ProgressBar bar(STDERR_FILENO, !invocation.quiet);
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    report.points =
        sweep(prepared, invocation.loads, invocation.jobs == 0 ? cores : invocation.jobs,
              interrupted, [&](double share) { bar.show(share); });
  }
  if (interrupted) {
    fmt::print(stderr, "tributary-sim: interrupted, no result\n");
    return service::exit_runtime_failure;
  }
  write_outputs(
      invocation.outputs, [&] { return report::json_text(report, invocation.links); },
      [&] { return report::csv_text(report); }, [&] { return report::plot_text(report); },
      [&](const terminal::Display& display) { return report::table_text(report, display); });
  const bool complete = std::ranges::all_of(report.points, [](const report::Point& point) {
    return experiment::is_whole(point.result.verdict);
  });
  if (!complete) {
    fmt::print(stderr, "tributary-sim: the watchdog ended a run: see its verdict\n");
  }
  return complete ? service::exit_success : exit_stuck;
}

int simulate_allreduces(const AllreduceInvocation& invocation) {
  const allreduce::Study& study = invocation.study;
  if (!invocation.quiet) {
    fmt::print(stderr, "seed {}\n", study.seed);
  }
  handle_signals();
  std::vector<allreduce::StudyPoint> points;
  {
    ProgressBar bar(STDERR_FILENO, !invocation.quiet);
    points = allreduce::run_study(
        study, [&](double share) { bar.show(share); }, [] { return interrupted.load(); });
  }
  if (interrupted) {
    fmt::print(stderr, "tributary-sim: interrupted, no result\n");
    return service::exit_runtime_failure;
  }
  write_outputs(
      invocation.outputs,
      [&] { return report::allreduce_json(study, points, service::program_version); },
      [&] { return report::allreduce_csv(study, points); },
      [&] { return report::allreduce_plot(study, points); },
      [&](const terminal::Display& display) {
        return report::allreduce_table(study, points, display);
      });
  return service::exit_success;
}

int run(int argc, char** argv) {
  int exit_code = service::exit_success;
  const std::optional<Invocation> invocation = read_command_line(argc, argv, exit_code);
  if (!invocation) {
    return exit_code;
  }
  const auto cannot = [](const std::exception& problem) {
    fmt::print(stderr, "tributary-sim: {}\n", problem.what());
    return service::exit_usage_or_config_error;
  };
  try {
    if (invocation->allreduce) {
      return simulate_allreduces(*invocation->allreduce);
    }
    return invocation->latency_probe ? probe(*invocation) : simulate(*invocation);
  } catch (const ExperimentError& problem) {
    return cannot(problem);
  } catch (const allreduce::AllreduceError& problem) {
    return cannot(problem);
  } catch (const traffic::TrafficError& problem) {
    return cannot(problem);
  } catch (const unicast::RouteError& problem) {
    return cannot(problem);
  } catch (const topology::ModelError& problem) {
    return cannot(problem);
  }
}

} // namespace

int main(int argc, char** argv) {
  return terminal::with_checked_output("tributary-sim", [&] { return run(argc, argv); });
}
