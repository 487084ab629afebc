// tributary-pktgen: from the command line to a result, and to an exit code.

#include "dataplane/port/start_again.hpp"
#include "lib/service/log.hpp"
#include "lib/service/options.hpp"
#include "lib/service/version.hpp"
#include "lib/terminal/display.hpp"
#include "lib/terminal/output.hpp"
#include "lib/terminal/output_file.hpp"
#include "lib/terminal/wrap.hpp"
#include "pktgen/command_line.hpp"
#include "pktgen/report/capture_file.hpp"
#include "pktgen/report/csv.hpp"
#include "pktgen/report/json.hpp"
#include "pktgen/report/live.hpp"
#include "pktgen/report/plot.hpp"
#include "pktgen/report/table.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/run/prepare.hpp"
#include "pktgen/run/session.hpp"
#include "pktgen/transport/switch_for.hpp"
#include "pktgen/transport/transport.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace tributary;
using namespace tributary::pktgen;
using result::Result;

/// Number of requests to end the run.
std::atomic<unsigned> interruptions{0};

extern "C" void interrupt(int) { ++interruptions; }

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(signal, &action, nullptr);
  }
}

/// Writes the requested outputs; a file that cannot be written does not prevent the others.
bool write_outputs(const Result& result, const scenario::Output& output) {
  bool good = true;
  const auto attempt = [&](const auto& write) {
    try {
      write();
    } catch (const std::exception& problem) {
      fmt::print(stderr, "tributary-pktgen: {}\n", problem.what());
      good = false;
    }
  };
  const auto table = [&](const terminal::Display& display) {
    return terminal::wrapped(report::table_text(result, display), display.columns);
  };
  const bool standard_output_taken = output.csv == "-" || output.plot == "-";
  const bool to_file = output.report != "-";
  if (output.json || to_file) {
    attempt([&] {
      terminal::write_output(output.report, output.json ? report::json_text(result) : table({}));
    });
  }
  if (output.csv) {
    attempt([&] { terminal::write_output(*output.csv, report::csv_text(result)); });
  }
  if (output.plot) {
    attempt([&] { report::draw_plot(result, *output.plot); });
  }
  if (!standard_output_taken && output.json == to_file) {
    attempt([&] { terminal::write_output("-", table(terminal::display_of(STDOUT_FILENO))); });
  }
  return good;
}

/// Errors, a sentence each; empty when there were none.
std::vector<std::string> complaints(const Result& result) {
  std::vector<std::string> all = result.problems;
  if (!result.failure.empty()) {
    all.push_back(result.failure);
  }
  measure::Tally sum;
  for (const result::Measurement& measured : result.repeats) {
    sum.merge(measured.tally);
  }
  if (result.search) {
    for (const auto& [share, measured] : result.search->at_shares) {
      sum.merge(measured.tally);
    }
    if (result.search->cut_short) {
      sum.merge(result.search->cut_short->tally);
    }
  }
  for (const measure::Figure& figure : sum.figures) {
    if (figure.meaning == measure::Figure::Meaning::fault && figure.value != 0) {
      all.push_back(fmt::format("{}: {}, and there should be none", figure.name, figure.value));
    }
  }
  return all;
}

Result result_for(const scenario::Scenario& scenario, const run::Clock& clock) {
  Result result;
  result.scenario = scenario.name;
  result.kind = name_of(scenario.traffic.kind);
  result.version = service::program_version;
  result.machine = run::machine_description();
  result.seed = scenario.seed;
  result.tsc_hz = clock.hz();
  return result;
}

/// What the capture calls the ports: the interface, the NIC, or p0, p1, ...; and the queue, where
/// there are several.
std::vector<report::CaptureFile::Source> capture_sources(const scenario::Scenario& scenario,
                                                         const transport::Transport& transport) {
  std::vector<report::CaptureFile::Source> sources;
  const std::vector<link::Port*> queue_pairs = transport.queue_pairs();
  std::size_t queue = 0;
  for (scenario::QueuePairIndex queue_pair = 0; queue_pair < queue_pairs.size(); ++queue_pair) {
    const scenario::PortIndex port = transport.port_of_queue_pair()[queue_pair];
    std::string name = fmt::format("p{}", port);
    if (!scenario.hosted) {
      const scenario::PortSpec& spec = scenario.ports[port];
      name = !spec.device.interface.empty()     ? spec.device.interface
             : !spec.device.pci_address.empty() ? spec.device.pci_address
                                                : name;
      name += spec.queues == 1 ? "" : fmt::format(" queue {}", queue);
      queue = (queue + 1) % spec.queues;
    }
    sources.push_back({queue_pairs[queue_pair], std::move(name)});
  }
  return sources;
}

/// Frames that each queue pair had to drop since it was opened.
std::vector<std::uint64_t> receive_drops(const std::vector<link::Port*>& queue_pairs) {
  std::vector<std::uint64_t> drops;
  for (link::Port* queue_pair : queue_pairs) {
    drops.push_back(queue_pair->counts().receive_drops);
  }
  return drops;
}

int run(Invocation& invocation) {
  scenario::Scenario& scenario = invocation.read.scenario;
  const scenario::Output& output = scenario.output;
  const std::vector<std::string> said =
      run::prepare(scenario, run::usable_cores(), run::available_memory());
  // Before any output: it may re-execute this program.
  transport::Transport transport(scenario);
  for (const std::string& sentence : said) {
    fmt::print(stderr, "tributary-pktgen: {}\n", sentence);
  }
  if (!output.quiet) {
    fmt::print(stderr, "seed {}\n", scenario.seed);
  }
  const run::Clock clock;
  Result result = result_for(scenario, clock);
  result.settings = invocation.read.settings;
  const std::vector<link::Port*> queue_pairs = transport.queue_pairs();
  std::optional<report::CaptureFile> capture;
  if (output.pcap) {
    capture.emplace(*output.pcap, capture_sources(scenario, transport),
                    [&clock] { return clock.calendar_ns(clock.now()); });
  }
  for (const link::Port* port : transport.ports()) {
    result.port_descriptions.push_back(port->description());
  }
  for (link::Port* queue_pair : queue_pairs) {
    queue_pair->set_tap(capture ? &*capture : nullptr);
  }
  handle_signals();
  const std::unique_ptr<result::LiveView> view =
      report::live_view({.watch = output.watch, .quiet = output.quiet});
  run::Session(scenario, transport, clock, *view, interruptions).run(result);
  view->finish();
  if (capture) {
    capture->close(receive_drops(queue_pairs));
    if (!capture->problem().empty()) {
      result.problems.push_back(capture->problem());
    }
  }
  const bool written = write_outputs(result, output);
  for (const std::string& warning : result.warnings) {
    fmt::print(stderr, "tributary-pktgen: warning: {}\n", warning);
  }
  const std::vector<std::string> wrong = complaints(result);
  for (const std::string& complaint : wrong) {
    fmt::print(stderr, "tributary-pktgen: {}\n", complaint);
  }
  return written && wrong.empty() ? service::exit_success : service::exit_runtime_failure;
}

int run_or_start_again(Invocation& invocation, char** argv) {
  try {
    return run(invocation);
  } catch (const port::HugepagesTaken& taken) {
    port::start_again_without_hugepages(taken, argv);
  }
}

int run_program(int argc, char** argv) {
  int exit_code = service::exit_success;
  std::optional<Invocation> invocation = read_command_line(argc, argv, exit_code);
  if (!invocation) {
    return exit_code;
  }
  // Also before DPDK creates its files.
  terminal::survive_file_size_limit();
  service::start_logging("tributary-pktgen");
  service::set_log_level("error");
  try {
    switch (invocation->action) {
    case Action::print_scenario:
      fmt::print("{}", scenario::scenario_text(invocation->read.settings));
      return service::exit_success;
    case Action::print_switch_config:
      fmt::print("{}", transport::print_switch_config(invocation->read.scenario,
                                                      invocation->switch_interfaces));
      return service::exit_success;
    case Action::run: break;
    }
    return run_or_start_again(*invocation, argv);
  } catch (const run::ScenarioError& problem) {
    fmt::print(stderr, "tributary-pktgen: {}\n", problem.what());
    return service::exit_usage_or_config_error;
  } catch (const configuration::ConfigError& problem) {
    fmt::print(stderr, "tributary-pktgen: {}\n", problem.what());
    return service::exit_usage_or_config_error;
  }
}

} // namespace

int main(int argc, char** argv) {
  return terminal::with_checked_output("tributary-pktgen", [&] { return run_program(argc, argv); });
}
