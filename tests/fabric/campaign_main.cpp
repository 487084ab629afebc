// fabric-campaign: runs scenarios of the virtual fabric over seeds, and repeats one seed with a
// trace.
#include "tests/fabric/scenarios/scenario.hpp"
#include "tests/fabric/seed_range.hpp"

#include <boost/json.hpp>
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace json = boost::json;
using namespace tributary::fabric;

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

struct Arguments {
  std::vector<std::string> scenarios;
  std::string seeds;
  bool list = false;
  bool trace = false;
  bool as_json = false;
};

using Drops = decltype(RunReport::drops);

/// What all runs of a scenario had together.
struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t failed = 0;
  std::uint64_t pieces = 0;
  std::uint64_t events = 0;
  std::uint64_t full = 0;
  std::uint64_t partial = 0;
  FaultCounts faults;
  Drops drops{};

  void add(const RunReport& r) {
    ++runs;
    failed += r.violations.empty() ? 0 : 1;
    pieces += r.pieces;
    events += r.events;
    full += r.full;
    partial += r.partial;
    faults += r.faults;
    for (std::size_t i = 0; i < drops.size(); ++i) {
      drops[i] += r.drops[i];
    }
  }
};

json::object faults_as_json(const FaultCounts& faults) {
  json::object counts;
  for (std::size_t i = 0; i < fault_count; ++i) {
    const auto fault = static_cast<Fault>(i);
    if (faults.of(fault) > 0) {
      counts[name_of(fault)] = faults.of(fault);
    }
  }
  return counts;
}

json::object drops_as_json(const Drops& drops) {
  json::object counts;
  for (std::size_t i = 0; i < drops.size(); ++i) {
    if (drops[i] > 0) {
      counts[name_of(static_cast<tributary::core::DropReason>(i))] = drops[i];
    }
  }
  return counts;
}

json::object run_as_json(const Scenario& scenario, const RunReport& r) {
  json::array violations;
  for (const auto& v : r.violations) {
    violations.emplace_back(v);
  }
  return {{"scenario", scenario.name},
          {"seed", r.seed},
          {"digest", fmt::format("{:016x}", r.digest)},
          {"events", r.events},
          {"virtual_ns", r.virtual_ns},
          {"switches", r.switches},
          {"hosts", r.hosts},
          {"largest_group", r.largest_group},
          {"pieces", r.pieces},
          {"engines_full", r.full},
          {"engines_partial", r.partial},
          {"retried", r.members.retried},
          {"double_counted", r.members.double_counted},
          {"faults", faults_as_json(r.faults)},
          {"drops", drops_as_json(r.drops)},
          {"violations", std::move(violations)}};
}

std::string faults_as_text(const FaultCounts& faults) {
  std::string text;
  for (std::size_t i = 0; i < fault_count; ++i) {
    const auto fault = static_cast<Fault>(i);
    if (faults.of(fault) > 0) {
      text += fmt::format(" {} {}", name_of(fault), faults.of(fault));
    }
  }
  return text.empty() ? " none" : text;
}

std::string drops_as_text(const Drops& drops) {
  std::string text;
  for (const auto& [name, count] : drops_as_json(drops)) {
    text += fmt::format(" {} {}", std::string_view(name.data(), name.size()), count.as_uint64());
  }
  return text.empty() ? " none" : text;
}

void print_failure(const Scenario& scenario, const RunReport& r) {
  fmt::print(stderr, "{} seed {} failed; to repeat it:\n  {}\n", scenario.name, r.seed,
             command_for(scenario, r.seed));
  for (const auto& v : r.violations) {
    fmt::print(stderr, "  {}\n", v);
  }
}

void list_scenarios() {
  for (const auto& s : all_scenarios()) {
    fmt::print("{:<28} {}\n", s.name, s.purpose);
  }
}

/// Runs one scenario over its seeds. A trace goes to standard output, or beside the JSON object.
Tally run_seeds(const Scenario& scenario, SeedRange seeds, const Arguments& arguments,
                json::array& runs) {
  Tally tally;
  std::FILE* const trace_to = arguments.as_json ? stderr : stdout;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const RunReport r = scenario.run({.seed = seed, .trace = arguments.trace ? trace_to : nullptr});
    tally.add(r);
    if (!r.violations.empty()) {
      print_failure(scenario, r);
    }
    if (arguments.as_json) {
      runs.push_back(run_as_json(scenario, r));
    } else if (seeds.first == seeds.last) {
      fmt::print("{} seed {}: digest {:016x}, {} events in {} virtual ms\n", scenario.name, seed,
                 r.digest, r.events, r.virtual_ns / 1'000'000);
    }
  }
  return tally;
}

int run(const Arguments& arguments) {
  SeedRange asked;
  if (!arguments.seeds.empty() && !parse_seeds(arguments.seeds, asked)) {
    fmt::print(stderr, "--seeds {}: not a range of seeds; write it like 1..1000\n",
               arguments.seeds);
    return exit_usage;
  }
  std::vector<Scenario> chosen;
  for (const auto& name : arguments.scenarios) {
    const std::vector<Scenario> found = scenarios_like(name);
    if (found.empty()) {
      fmt::print(stderr, "--scenario {}: no scenario has this name; --list shows all\n", name);
      return exit_usage;
    }
    chosen.insert(chosen.end(), found.begin(), found.end());
  }
  if (chosen.empty()) {
    chosen = all_scenarios();
  }
  json::array runs;
  std::uint64_t failed = 0;
  for (const auto& scenario : chosen) {
    const SeedRange seeds = arguments.seeds.empty() ? SeedRange{1, scenario.suite_seeds} : asked;
    const Tally t = run_seeds(scenario, seeds, arguments, runs);
    failed += t.failed;
    if (!arguments.as_json) {
      fmt::print("{:<28} seeds {}..{}: {} runs, {} failed, {} pieces, {} full, {} partial, {} "
                 "events; faults:{}; drops:{}\n",
                 scenario.name, seeds.first, seeds.last, t.runs, t.failed, t.pieces, t.full,
                 t.partial, t.events, faults_as_text(t.faults), drops_as_text(t.drops));
    }
  }
  if (arguments.as_json) {
    fmt::print("{}\n",
               json::serialize(json::object{{"failed", failed}, {"runs", std::move(runs)}}));
  }
  return failed == 0 ? 0 : exit_failure;
}

} // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Runs scenarios of the virtual fabric: switches and hosts in one process on virtual "
               "time, with seeded faults."};
  app.add_option(
      "--scenario", arguments.scenarios,
      "Run this one, or with NAME* all that begin with NAME; may be given again (default: "
      "all)");
  app.add_option("--seed,--seeds", arguments.seeds,
                 "Run this seed, or seeds A..B (default: those of the test suite)");
  app.add_flag("--trace", arguments.trace, "Print every event");
  app.add_flag("--json", arguments.as_json, "Print one JSON object");
  app.add_flag("--list", arguments.list, "List the scenarios and what they show");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_usage;
  }
  if (arguments.list) {
    list_scenarios();
    return 0;
  }
  return run(arguments);
}
