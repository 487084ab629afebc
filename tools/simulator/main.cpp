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
    fmt::print(stderr, "tributary-sim: interrupted, there is no result\n");
    return service::exit_runtime_failure;
  }
  using terminal::write_output;
  if (invocation.json) {
    write_output(*invocation.json, report::json_text(report, invocation.links));
  }
  if (invocation.csv) {
    write_output(*invocation.csv, report::csv_text(report));
  }
  if (invocation.plot) {
    write_output(*invocation.plot, report::plot_text(report));
  }
  if (invocation.json != "-" && invocation.csv != "-" && invocation.plot != "-") {
    const terminal::Display display = terminal::display_of(STDOUT_FILENO);
    write_output("-", terminal::wrapped(report::table_text(report, display), display.columns));
  }
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
    fmt::print(stderr, "tributary-sim: interrupted, there is no result\n");
    return service::exit_runtime_failure;
  }
  using terminal::write_output;
  if (invocation.json) {
    write_output(*invocation.json, report::allreduce_json(study, points, service::program_version));
  }
  if (invocation.csv) {
    write_output(*invocation.csv, report::allreduce_csv(study, points));
  }
  if (invocation.plot) {
    write_output(*invocation.plot, report::allreduce_plot(study, points));
  }
  if (invocation.json != "-" && invocation.csv != "-" && invocation.plot != "-") {
    const terminal::Display display = terminal::display_of(STDOUT_FILENO);
    write_output(
        "-", terminal::wrapped(report::allreduce_table(study, points, display), display.columns));
  }
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
