#include "tools/simulator/command_line.hpp"

#include "lib/configuration/schema.hpp"
#include "lib/terminal/command_line.hpp"
#include "lib/terminal/describe.hpp"
#include "tools/simulator/report/names.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tributary::simulator {
namespace {

using terminal::within;

constexpr const char* examples = R"(Examples:
  tributary-sim --topology kdft:16x16x16 --algorithm vtftr --faults 5 --load 1.0 --seed 1 --json
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
  tributary-sim allreduce --topology ft3:8 --host-counts 16,128 --bytes 8,1MiB
      allreduces in the network and among hosts; its own --help has more)";

double load_of(const std::string& text) {
  const auto load = configuration::share_of(text);
  if (!load || *load == 0) {
    throw ExperimentError(
        fmt::format("\"{}\" is not a load: loads are above 0 and at most 1", text));
  }
  return *load;
}

/// Options kept as text until all are read.
struct Texts {
  std::vector<std::string> dead;
  std::vector<std::string> later;
  std::string sweep;
  std::string load = "1";
};

template <typename T>
CLI::Option* choice(CLI::App& app, const std::string& name, T& value, const report::Names<T>& names,
                    const std::string& help) {
  std::vector<std::string> words;
  for (const auto& [word, of] : names) {
    words.push_back(word);
  }
  CLI::Option* const option = app.add_option_function<std::string>(
      name, [&value, &names](const std::string& text) { value = names.at(text); }, help);
  return terminal::one_of(option->type_name("NAME")->default_str(report::name_of(names, value)),
                          words);
}

void add_options(CLI::App& app, Invocation& invocation, Texts& texts) {
  Experiment& e = invocation.experiment;
  const auto time = [&](const char* name, double& ns, const char* help, const char* group) {
    terminal::add_duration(app, name, [&ns](terminal::FineDuration given) { ns = given.count(); },
                           help,
                           // A simulation of more than a second would never end.
                           {.most = std::chrono::seconds(1)})
        ->default_str(terminal::duration_value(terminal::FineDuration(ns)))
        ->group(group);
  };
  app.add_option("--topology", e.topology, "Fabric: kdft:AxB[x...]xHOSTS[,PLANES], or any model")
      ->capture_default_str()
      ->group("Fabric");
  within(app.add_option("--planes", e.planes, "Roots of each line of leaves"), 1, 4096)
      ->default_str("hosts of a leaf")
      ->group("Fabric");
  app.add_option("--algorithm", e.algorithm,
                 "vtftr, vtftr_plus, phase_search, general, algorithm_a (our reconstruction), "
                 "literal")
      ->capture_default_str()
      ->group("Routes");
  choice(app, "--policy", e.routes.policy, report::policies, "Use of spare virtual channels")
      ->group("Routes");
  within(app.add_option("--vcs", e.routes.vcs, "Number of virtual channels"), 1, 8)
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
  time("--detection", e.detection_ns, "Time from a fault to the neighbours' port states", "Faults");
  time("--manager-delay", e.manager_delay_ns, "Time from a fault to the first new table", "Faults");
  time("--table-spread", e.table_spread_ns, "Time from the first to the last new table", "Faults");

  auto* const load =
      app.add_option("--load", texts.load, "Flits a tick of each host, above 0 to 1, or above 0%")
          ->capture_default_str()
          ->group("Traffic");
  app.add_option("--sweep", texts.sweep, "Loads FROM:TO:STEP or A,B,C, on all cores")
      ->default_str("0.1:1:0.1")
      ->expected(0, 1)
      ->excludes(load)
      ->group("Traffic");
  choice(app, "--pattern", e.traffic.pattern, report::patterns,
         "Pattern of the traffic: which host sends to which")
      ->group("Traffic");
  app.add_option("--shift", e.traffic.shift, "Number of hosts by which shift shifts")
      ->default_str("half of them")
      ->group("Traffic");
  app.add_option("--hot-hosts", e.traffic.hot, "Hosts of hotspot")
      ->capture_default_str()
      ->group("Traffic");
  terminal::add_share(app, "--hot-share", e.traffic.hot_share,
                      "Share of the packets that are for them")
      ->group("Traffic");
  within(app.add_option("--burst", e.traffic.burst,
                        "ON/OFF: mean packets of a burst at full rate; 0: no bursts"),
         0, 1e6)
      ->capture_default_str()
      ->group("Traffic");
  within(app.add_option("--flits", e.traffic.flits, "Flits of a packet"), 1, 4096)
      ->capture_default_str()
      ->group("Traffic");
  app.add_option("--seed", e.seed, "Seed of faults, traffic and choices")
      ->capture_default_str()
      ->group("Traffic");

  choice(app, "--queueing", e.switches.queueing, report::queueings, "Form of the input buffers")
      ->group("Switches");
  choice(app, "--flow-control", e.switches.flow_control, report::flow_controls,
         "Flow control between switches")
      ->group("Switches");
  within(
      app.add_option("--buffer", e.switches.buffer, "Packets for each virtual channel of a port"),
      1, 64)
      ->capture_default_str()
      ->group("Switches");
  within(app.add_option("--reads", e.switches.reads,
                        "Read speed-up: packets that leave a port at once"),
         1, 64)
      ->capture_default_str()
      ->group("Switches");
  time("--tick", e.tick_ns, "Time of a flit on a link", "Switches");
  time("--hop", e.hop_ns, "Latency of a switch and a link", "Switches");
  time("--ends", e.ends_ns, "Latency of both hosts and their links", "Switches");
  time("--credit-latency", e.credit_ns, "Latency of a credit or pause to the sender", "Switches");

  time("--warmup", e.warm_up_ns, "Time before the measurement, not counted", "Run");
  time("--duration", e.measure_ns, "Length of the measurement", "Run");
  time("--watchdog", e.watchdog_ns, "Interval of the checks for deadlocks", "Run");
  within(app.add_option("--jobs", invocation.jobs, "Number of runs of a sweep at once"), 1, 1024)
      ->default_str("number of cores")
      ->group("Run");
  app.add_flag("--latency-probe", invocation.latency_probe,
               "Single packets on the routes of figure 5, in place of traffic")
      ->group("Run");

  add_outputs(app, invocation.outputs);
  app.add_flag("--links", invocation.links, "With --json: also the load of each link")
      ->group("Output");
  app.add_flag("--quiet", invocation.quiet, "No progress")->group("Output");
  terminal::name_values(app, {{"MODEL", {"--topology"}},
                              {"NAME", {"--algorithm"}},
                              {"PART", {"--fault"}},
                              {"TIME=PART", {"--fault-at"}},
                              {"LOAD", {"--load"}},
                              {"LOADS", {"--sweep"}}});
}

void take_texts(Invocation& invocation, const Texts& texts, bool sweep) {
  Experiment& e = invocation.experiment;
  for (const std::string& part : texts.dead) {
    e.dead.push_back(experiment::parse_part(part));
  }
  for (const std::string& fault : texts.later) {
    e.later.push_back(experiment::parse_timed_fault(fault));
  }
  if (e.tick_ns <= 0 || e.measure_ns <= 0) {
    throw ExperimentError("--tick and --duration must be above 0");
  }
  if (e.traffic.burst != 0 && e.traffic.burst < 1) {
    throw ExperimentError("--burst: a burst has at least one packet, and 0 means none");
  }
  if (sweep) {
    invocation.loads = parse_loads(texts.sweep.empty() ? "0.1:1:0.1" : texts.sweep);
  } else {
    invocation.loads = {load_of(texts.load)};
  }
  check(invocation.outputs);
  if (invocation.links && !invocation.outputs.json) {
    throw ExperimentError("--links needs --json");
  }
}

} // namespace

std::vector<double> parse_loads(const std::string& text) {
  std::vector<double> loads;
  const auto parts = CLI::detail::split(text, text.find(':') != std::string::npos ? ':' : ',');
  if (text.find(':') == std::string::npos) {
    for (const std::string& part : parts) {
      loads.push_back(load_of(part));
    }
    return loads;
  }
  if (parts.size() != 3) {
    throw ExperimentError(fmt::format("\"{}\": write loads as FROM:TO:STEP or A,B,C", text));
  }
  const double from = load_of(parts[0]);
  const double to = load_of(parts[1]);
  const double step = load_of(parts[2]);
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
  terminal::set_up(app);
  add_options(app, invocation, texts);
  const AllreduceOptions allreduce_options(app);
  app.footer(examples);
  terminal::add_exit_codes(
      app,
      {"0  the runs are complete", "1  something failed, or a probed latency is more than 1 ns off",
       "2  wrong command line, or something that cannot be simulated",
       "3  the watchdog ended a run: deadlock, no progress, or a packet that goes round"});
  const auto done = terminal::parse(app, argc, argv, [&] {
    if (allreduce_options.given()) {
      invocation.allreduce = allreduce_options.take();
    } else {
      take_texts(invocation, texts, app.count("--sweep") != 0);
    }
  });
  if (done) {
    exit_code = *done;
    return std::nullopt;
  }
  return invocation;
}

} // namespace tributary::simulator
