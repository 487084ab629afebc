#include "tools/simulator/command_line.hpp"

#include "lib/service/options.hpp"
#include "lib/service/version.hpp"
#include "lib/terminal/describe.hpp"
#include "lib/terminal/help.hpp"
#include "tools/simulator/report/names.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

namespace tributary::simulator {
namespace {

using experiment::parse_ns;

constexpr const char* examples = R"(
examples:
  tributary-sim --topology kdft:16x16x16 --algorithm vtftr --faults 5 --load 1.0 --seed 1 --json -
      4,096 hosts, five dead leaves drawn by the seed, full load
  tributary-sim --topology kdft:8x8x8 --algorithm algorithm_a --faults 2 --load 1.0
      the watchdog names the circle in which packets wait for each other (exit code 3)
  tributary-sim --topology kdft:8x8x8 --faults 1 --sweep --plot loads.gp
      ten loads on all cores; then: gnuplot -p loads.gp
  tributary-sim --topology kdft:8x8x8 --load 0.6 --fault-at 12us=leaf:3,4 --manager-delay 10us
      a leaf dies under load, and switches get new tables ten microseconds later
  tributary-sim --latency-probe
      single packets on the routes of the paper's figure 5
  tributary-sim --topology torus:8x8x2 --algorithm general --vcs 2 --load 0.3
      any topology
  tributary-sim allreduce --topology ft3:8 --hosts 16,128 --bytes 8,1MiB
      allreduces in the network and among hosts; its own --help has more
exit codes:
  0  the runs are complete
  1  something failed, or a probed latency is more than 1 ns off
  2  wrong command line, or something that cannot be simulated
  3  the watchdog ended a run: deadlock, no progress, or a packet that goes round)";

double number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 1)) {
    throw ExperimentError(fmt::format("\"{}\" is no load: loads are above 0 and at most 1", text));
  }
  return value;
}

/// Options kept as text until all are read.
struct Texts {
  std::vector<std::string> dead;
  std::vector<std::string> later;
  std::string sweep;
  std::string load = "1";
  std::string detection = "0ns";
  std::string manager_delay = "20us";
  std::string table_spread = "5us";
  std::string tick = "2.5ns";
  std::string hop = "35ns";
  std::string ends = "97ns";
  std::string credit = "10ns";
  std::string warm_up = "10us";
  std::string measure = "25us";
  std::string watchdog = "2.5us";
};

template <typename T>
CLI::Option* choice(CLI::App& app, const std::string& name, T& value, const report::Names<T>& names,
                    const std::string& help) {
  const auto take = [&value, &names, name](const std::string& text) {
    const auto found = names.find(text);
    if (found == names.end()) {
      std::vector<std::string> all;
      for (const auto& [one, of] : names) {
        all.push_back(one);
      }
      throw CLI::ValidationError(name,
                                 fmt::format("\"{}\" is none of {}", text, fmt::join(all, ", ")));
    }
    value = found->second;
  };
  return app
      .add_option_function<std::string>(name, take,
                                        help + fmt::format(" [{}]", report::name_of(names, value)))
      ->type_name("NAME");
}

void add_options(CLI::App& app, Invocation& invocation, Texts& texts) {
  Experiment& e = invocation.experiment;
  const auto text = [&](const char* name, std::string& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  app.add_option("--topology", e.topology, "Fabric: kdft:AxB[x...]xHOSTS[,PLANES], or any model")
      ->capture_default_str()
      ->group("Fabric");
  app.add_option("--planes", e.planes, "Roots of each line of leaves [hosts of a leaf]")
      ->check(CLI::Range(1U, 4096U))
      ->group("Fabric");
  app.add_option("--algorithm", e.algorithm,
                 "vtftr, vtftr_plus, phase_search, general, algorithm_a (our reconstruction), "
                 "literal")
      ->capture_default_str()
      ->group("Routes");
  choice(app, "--policy", e.routes.policy, report::policies,
         "Use of spare virtual channels: safe, plus, fast")
      ->group("Routes");
  app.add_option("--vcs", e.routes.vcs, "Virtual channels, 1 to 8")
      ->transform(CLI::Validator(CLI::Range(1, 8)))
      ->default_str("2")
      ->group("Routes");
  choice(app, "--spread", e.switches.spread, report::spreads,
         "Choice among ports: packet (random), flow (hash), credits (the better of two)")
      ->group("Routes");

  app.add_option("--faults", e.faults, "Dead leaves from the beginning, by the seed")
      ->group("Faults");
  choice(app, "--layout", e.layout, report::layouts,
         "Where they are: random, row, column, all (no two in a row or column)")
      ->group("Faults");
  app.add_option(
         "--fault", texts.dead,
         "Dead from the beginning: leaf:3,4 root:DIMENSION:3,4:PLANE link:3,4:DIMENSION:PLANE")
      ->group("Faults");
  app.add_option("--fault-at", texts.later, "Dies during the run: TIME=PART, as 20us=leaf:3,4")
      ->group("Faults");
  text("--detection", texts.detection, "From a fault to the neighbours' port states")
      ->group("Faults");
  text("--manager-delay", texts.manager_delay, "From a fault to the first new table")
      ->group("Faults");
  text("--table-spread", texts.table_spread, "From the first to the last new table")
      ->group("Faults");

  const auto share = CLI::Range(0.0, 1.0);
  auto* const load = text("--load", texts.load, "Flits a tick of each host, above 0 to 1");
  load->group("Traffic");
  app.add_option("--sweep", texts.sweep, "Loads FROM:TO:STEP or A,B,C [0.1:1:0.1], on all cores")
      ->expected(0, 1)
      ->excludes(load)
      ->group("Traffic");
  choice(app, "--pattern", e.traffic.pattern, report::patterns,
         "uniform, permutation, shift, bit_complement, transpose, hotspot")
      ->group("Traffic");
  app.add_option("--shift", e.traffic.shift, "Hosts that shift goes on by [half of them]")
      ->group("Traffic");
  app.add_option("--hot-hosts", e.traffic.hot, "Hosts of hotspot")
      ->capture_default_str()
      ->group("Traffic");
  app.add_option("--hot-share", e.traffic.hot_share, "Share of the packets that is for them")
      ->check(share)
      ->capture_default_str()
      ->group("Traffic");
  app.add_option("--burst", e.traffic.burst,
                 "ON/OFF: mean packets of a burst at full rate; 0: no bursts")
      ->check(CLI::Validator(CLI::Range(0.0, 1e6)))
      ->capture_default_str()
      ->group("Traffic");
  app.add_option("--flits", e.traffic.flits, "Flits of a packet")
      ->check(CLI::Range(1U, 4096U))
      ->capture_default_str()
      ->group("Traffic");
  app.add_option("--seed", e.seed, "Seed of faults, traffic and choices")
      ->capture_default_str()
      ->group("Traffic");

  choice(app, "--queueing", e.switches.queueing, report::queueings, "Input buffers: fifo, voq")
      ->group("Switches");
  choice(app, "--flow-control", e.switches.flow_control, report::flow_controls, "credits, pause")
      ->group("Switches");
  app.add_option("--buffer", e.switches.buffer, "Packets for each virtual channel of a port")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str()
      ->group("Switches");
  app.add_option("--reads", e.switches.reads, "Read speed-up: packets that leave a port at once")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str()
      ->group("Switches");
  text("--tick", texts.tick, "A flit on a link")->group("Switches");
  text("--hop", texts.hop, "A switch and a link")->group("Switches");
  text("--ends", texts.ends, "Both hosts and their links")->group("Switches");
  text("--credit", texts.credit, "A credit or pause to the sender")->group("Switches");

  text("--warm-up", texts.warm_up, "Before measuring")->group("Run");
  text("--measure", texts.measure, "Measuring")->group("Run");
  text("--watchdog", texts.watchdog, "Between looks for deadlocks")->group("Run");
  app.add_option("--jobs", invocation.jobs, "Runs of a sweep at once [cores]")
      ->check(CLI::Range(1U, 1024U))
      ->group("Run");
  app.add_flag("--latency-probe", invocation.latency_probe,
               "Single packets on the routes of figure 5, in place of traffic")
      ->group("Run");

  app.add_option("--json", invocation.json, "JSON to a file, or - for standard output")
      ->group("Output");
  app.add_option("--csv", invocation.csv, "CSV to a file, or -")->group("Output");
  app.add_option("--plot", invocation.plot, "A gnuplot script with its data to a file, or -")
      ->group("Output");
  app.add_flag("--links", invocation.links, "The load of each link, in the JSON")->group("Output");
  app.add_flag("--quiet", invocation.quiet, "No progress")->group("Output");
  terminal::name_values(app,
                        {{"FABRIC", {"--topology"}},
                         {"NAME", {"--algorithm"}},
                         {"PART", {"--fault"}},
                         {"TIME=PART", {"--fault-at"}},
                         {"LOAD", {"--load"}},
                         {"LOADS", {"--sweep"}},
                         {"DURATION",
                          {"--detection", "--manager-delay", "--table-spread", "--tick", "--hop",
                           "--ends", "--credit", "--warm-up", "--measure", "--watchdog"}},
                         {"PATH", {"--json", "--csv", "--plot"}}});
}

void take_texts(Invocation& invocation, const Texts& texts, bool sweep) {
  Experiment& e = invocation.experiment;
  for (const std::string& part : texts.dead) {
    e.dead.push_back(experiment::parse_part(part));
  }
  for (const std::string& fault : texts.later) {
    e.later.push_back(experiment::parse_timed_fault(fault));
  }
  e.detection_ns = parse_ns(texts.detection);
  e.manager_delay_ns = parse_ns(texts.manager_delay);
  e.table_spread_ns = parse_ns(texts.table_spread);
  e.tick_ns = parse_ns(texts.tick);
  e.hop_ns = parse_ns(texts.hop);
  e.ends_ns = parse_ns(texts.ends);
  e.credit_ns = parse_ns(texts.credit);
  e.warm_up_ns = parse_ns(texts.warm_up);
  e.measure_ns = parse_ns(texts.measure);
  e.watchdog_ns = parse_ns(texts.watchdog);
  if (e.tick_ns <= 0 || e.measure_ns <= 0) {
    throw ExperimentError("--tick and --measure must be above 0");
  }
  if (e.traffic.burst != 0 && e.traffic.burst < 1) {
    throw ExperimentError("--burst: a burst has at least one packet, and 0 means none");
  }
  if (sweep) {
    invocation.loads = parse_loads(texts.sweep.empty() ? "0.1:1:0.1" : texts.sweep);
  } else {
    invocation.loads = {number(texts.load)};
  }
  const int to_standard_output = (invocation.json == "-" ? 1 : 0) +
                                 (invocation.csv == "-" ? 1 : 0) + (invocation.plot == "-" ? 1 : 0);
  if (to_standard_output > 1) {
    throw ExperimentError("only one of --json, --csv and --plot can have standard output");
  }
  if (invocation.links && !invocation.json) {
    throw ExperimentError("--links are part of the JSON: give --json, too");
  }
}

} // namespace

std::vector<double> parse_loads(const std::string& text) {
  std::vector<double> loads;
  const auto parts = CLI::detail::split(text, text.find(':') != std::string::npos ? ':' : ',');
  if (text.find(':') == std::string::npos) {
    for (const std::string& part : parts) {
      loads.push_back(number(part));
    }
    return loads;
  }
  if (parts.size() != 3) {
    throw ExperimentError(fmt::format("\"{}\": write loads as FROM:TO:STEP or A,B,C", text));
  }
  const double from = number(parts[0]);
  const double to = number(parts[1]);
  const double step = number(parts[2]);
  const double steps = std::floor((to - from) / step + 1e-9);
  if (steps < 0 || steps > 10'000) {
    throw ExperimentError(fmt::format("\"{}\": loads go upward, at most 10,000 of them", text));
  }
  for (int i = 0; i <= static_cast<int>(steps); ++i) {
    loads.push_back(std::round((from + i * step) * 1e9) / 1e9);
  }
  return loads;
}

std::optional<Invocation> read_command_line(int argc, const char* const* argv, int& exit_code) {
  Invocation invocation;
  Texts texts;
  CLI::App app("Simulates unicast traffic on a fabric, packet by packet, with the routes of the "
               "fabric manager and the decisions of the switch; or the time of allreduces.",
               "tributary-sim");
  terminal::add_describe(app);
  terminal::fit_help(app);
  app.set_version_flag("--version", std::string("tributary-sim ") + service::program_version);
  app.footer(examples);
  add_options(app, invocation, texts);
  const AllreduceOptions allreduce_options(app);
  try {
    app.parse(argc, argv);
    if (allreduce_options.given()) {
      invocation.allreduce = allreduce_options.take();
      return invocation;
    }
    take_texts(invocation, texts, app.count("--sweep") != 0);
  } catch (const CLI::ParseError& problem) {
    exit_code =
        app.exit(problem) == 0 ? service::exit_success : service::exit_usage_or_config_error;
    return std::nullopt;
  } catch (const ExperimentError& problem) {
    fmt::print(stderr, "tributary-sim: {}\n", problem.what());
    exit_code = service::exit_usage_or_config_error;
    return std::nullopt;
  } catch (const allreduce::AllreduceError& problem) {
    fmt::print(stderr, "tributary-sim allreduce: {}\n", problem.what());
    exit_code = service::exit_usage_or_config_error;
    return std::nullopt;
  }
  return invocation;
}

} // namespace tributary::simulator
