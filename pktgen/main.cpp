// tributary-pktgen: from the command line to a result, and to an exit code.

#include "pktgen/report/csv.hpp"
#include "pktgen/report/json.hpp"
#include "pktgen/report/live.hpp"
#include "pktgen/report/output_file.hpp"
#include "pktgen/report/pcap_file.hpp"
#include "pktgen/report/plot.hpp"
#include "pktgen/report/table.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/run/prepare.hpp"
#include "pktgen/run/session.hpp"
#include "pktgen/scenario/command_line.hpp"
#include "pktgen/transport/switch_for.hpp"
#include "pktgen/transport/transport.hpp"
#include "service/log.hpp"
#include "service/options.hpp"
#include "service/version.hpp"
#include "terminal/descriptor.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>

namespace {

using namespace tributary;
using namespace tributary::pktgen;

std::atomic<bool> interrupted{false};

extern "C" void interrupt(int) { interrupted = true; }

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(signal, &action, nullptr);
  }
}

/// Writes what was asked for; a file that cannot be written keeps the others from nothing.
bool write_outputs(const Result& result, const Output& output) {
  bool good = true;
  const auto attempt = [&](const auto& write) {
    try {
      write();
    } catch (const std::exception& problem) {
      fmt::print(stderr, "tributary-pktgen: {}\n", problem.what());
      good = false;
    }
  };
  const bool standard_output_taken = output.json == "-" || output.csv == "-";
  if (output.json) {
    attempt([&] { write_output(*output.json, json_text(result)); });
  }
  if (output.csv) {
    attempt([&] { write_output(*output.csv, csv_text(result)); });
  }
  if (output.plot) {
    attempt([&] { draw_plot(result, *output.plot); });
  }
  if (!standard_output_taken) {
    const std::string table = table_text(result, terminal::wants_colours(STDOUT_FILENO));
    attempt([&] { write_output("-", table); });
  }
  return good;
}

bool is_right(const Result& result) {
  bool right = result.failure.empty() && result.problems.empty();
  const auto has_fault = [](const Measurement& measured) {
    return measured.tally.sum(Figure::Meaning::fault) != 0;
  };
  for (const Measurement& measured : result.repeats) {
    right = right && !has_fault(measured);
  }
  if (result.search) {
    for (const auto& [share, measured] : result.search->at_shares) {
      right = right && !has_fault(measured);
    }
  }
  return right;
}

Result result_for(const Scenario& scenario, const Clock& clock) {
  Result result;
  result.scenario = scenario.name;
  result.kind = name_of(scenario.traffic.kind);
  result.version = service::program_version;
  result.machine = machine_description();
  result.seed = scenario.seed;
  result.tsc_hz = clock.hz();
  return result;
}

int run(Invocation& invocation) {
  Scenario& scenario = invocation.read.scenario;
  const Output& output = scenario.output;
  for (const std::string& said : prepare(scenario, usable_cores(), available_memory())) {
    fmt::print(stderr, "tributary-pktgen: {}\n", said);
  }
  if (!output.quiet) {
    fmt::print(stderr, "seed {}\n", scenario.seed);
  }
  const Clock clock;
  Result result = result_for(scenario, clock);
  result.settings = invocation.read.settings;
  Transport transport(scenario);
  std::optional<PcapFile> capture;
  if (output.pcap) {
    capture.emplace(*output.pcap, [&clock] { return clock.calendar_ns(clock.now()); });
  }
  for (Port* port : transport.ports()) {
    result.port_descriptions.push_back(port->description());
    port->set_tap(capture ? &*capture : nullptr);
  }
  handle_signals();
  const std::unique_ptr<LiveView> view = live_view({.watch = output.watch, .quiet = output.quiet});
  Session(scenario, transport, clock, *view, interrupted).run(result);
  view->finish();
  if (capture) {
    capture->close();
    if (!capture->problem().empty()) {
      result.problems.push_back(capture->problem());
    }
  }
  const bool written = write_outputs(result, output);
  const bool table_was_read = isatty(STDOUT_FILENO) == 1 && output.json != "-" && output.csv != "-";
  if (!table_was_read) {
    for (const std::string& problem : result.problems) {
      fmt::print(stderr, "tributary-pktgen: {}\n", problem);
    }
    if (!result.failure.empty()) {
      fmt::print(stderr, "tributary-pktgen: {}\n", result.failure);
    }
  }
  return written && is_right(result) ? service::exit_success : service::exit_runtime_failure;
}

} // namespace

int main(int argc, char** argv) {
  int exit_code = service::exit_success;
  std::optional<Invocation> invocation = read_command_line(argc, argv, exit_code);
  if (!invocation) {
    return exit_code;
  }
  // Before DPDK makes its files, too.
  survive_file_size_limit();
  service::start_logging("tributary-pktgen");
  service::set_log_level("error");
  try {
    switch (invocation->action) {
    case Action::print_scenario:
      fmt::print("{}", scenario_text(invocation->read.settings));
      return service::exit_success;
    case Action::print_switch_config:
      fmt::print("{}",
                 print_switch_config(invocation->read.scenario, invocation->switch_interfaces));
      return service::exit_success;
    case Action::run: return run(*invocation);
    }
  } catch (const ScenarioError& problem) {
    fmt::print(stderr, "tributary-pktgen: {}\n", problem.what());
    return service::exit_usage_or_config_error;
  } catch (const config::ConfigError& problem) {
    fmt::print(stderr, "tributary-pktgen: {}\n", problem.what());
    return service::exit_usage_or_config_error;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "tributary-pktgen: {}\n", problem.what());
    return service::exit_runtime_failure;
  }
}
