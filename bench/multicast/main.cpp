// Multicast trees over model fabrics: load and time of each algorithm.
//
//   multicast                                                   every table of
//   docs/benchmarks/multicast.md multicast --topology ft40 --pattern 160x100                 one of
//   them multicast --topology ft3:16 --pattern 32x32 --algorithm prism --json
//
// The table goes to standard output; with --json the JSON array does, and the table goes where the
// progress goes, to standard error. Seconds are processor time of the only thread. Exit code 1 when
// any tree is wrong.

#include "bench/algorithms/published.hpp"
#include "controlplane/multicast/comparison/comparison.hpp"
#include "controlplane/multicast/comparison/report.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace tributary;
using namespace tributary::multicast;

constexpr int exit_success = 0;
constexpr int exit_wrong_tree = 1;
constexpr int exit_usage = 2;

struct Table {
  std::string_view topology;
  double dead_percent;
  std::vector<std::string_view> patterns;
};

/// docs/benchmarks/multicast.md.
const std::vector<Table>& all_tables() {
  static const std::vector<Table> tables{
      {"ft40",
       0,
       {"160x100", "100x160", "400x40", "40x20x20", "25x32x20", "~160x100", "rand:2000,8,64"}},
      {"bluelight",
       0,
       {"256x136", "136x256", "64x32x17", "17x32x64", "~256x136", "rand:2000,8,64"}},
      {"taihulight",
       0,
       {"256x160", "640x64", "64x32x20", "32x32x40", "~256x160", "rand:4000,8,64"}},
      {"dragonfly",
       0,
       {"81x27x12", "12x27x81", "163x162", "162x163", "486x54", "~163x162", "rand:2000,8,64"}},
      {"torus",
       0,
       {"240x100", "100x240", "600x40", "30x20x40", "24x25x40", "~240x100", "rand:2000,8,64"}},
      {"ft40", 1, {"160x100", "40x20x20"}},
      {"ft40", 5, {"160x100", "40x20x20"}},
      {"taihulight", 1, {"64x32x20"}},
      {"taihulight", 5, {"64x32x20"}},
      {"dragonfly", 1, {"81x27x12"}},
      {"dragonfly", 5, {"81x27x12"}},
  };
  return tables;
}

struct Options {
  std::vector<std::string> topologies;
  std::vector<std::string> patterns;
  std::vector<std::string> algorithms{"all"};
  multicast::comparison::ComparisonSettings settings;
  double budget_seconds = 0;
  double dead_percent = 0;
  bool json = false;
};

/// The processor time of this thread: other load on the machine does not count.
double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Reports progress on standard error: on a terminal one line that is overwritten, elsewhere only
/// the larger steps.
class ProgressLine {
public:
  void step(std::string_view text) {
    if (terminal_) {
      detail(text);
    } else {
      fmt::print(stderr, "{}\n", text);
    }
  }
  void detail(std::string_view text) {
    if (terminal_) {
      fmt::print(stderr, "\r\033[K{}", text);
      std::fflush(stderr);
    }
  }
  void end() const {
    if (terminal_) {
      fmt::print(stderr, "\r\033[K");
    }
  }

private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The requested tables: all, or one for each topology, with its usual patterns when none are
/// given.
std::vector<Table> choose_tables(const Options& options) {
  if (options.topologies.empty()) {
    return all_tables();
  }
  std::vector<Table> chosen;
  for (const std::string& topology : options.topologies) {
    chosen.push_back({topology, options.dead_percent, {}});
    const auto usual = std::ranges::find(all_tables(), topology, &Table::topology);
    if (!options.patterns.empty()) {
      chosen.back().patterns.assign(options.patterns.begin(), options.patterns.end());
    } else if (usual != all_tables().end()) {
      chosen.back().patterns = usual->patterns;
    } else {
      throw UsageError(
          fmt::format("There is no usual pattern for topology \"{}\": add --pattern.", topology));
    }
  }
  return chosen;
}

int compare(const Options& options) {
  std::vector<multicast::comparison::Compared> compared;
  for (const std::string& name : options.algorithms) {
    const auto expanded = published::expand(name);
    compared.insert(compared.end(), expanded.begin(), expanded.end());
  }
  ProgressLine progress;
  std::vector<multicast::comparison::Row> rows;
  for (const Table& table : choose_tables(options)) {
    progress.step(fmt::format("{}: the fabric and its distances", table.topology));
    multicast::comparison::Comparison comparison(table.topology, table.dead_percent,
                                                 options.settings.seed, seconds_now);
    progress.step(fmt::format("{}: {} switches, all distances in {:.3f} s", table.topology,
                              comparison.model().graph.switches().size(),
                              comparison.distance_seconds()));
    for (const std::string_view pattern : table.patterns) {
      progress.step(fmt::format("{} {}", table.topology, pattern));
      const auto made = comparison.run(pattern, compared, options.settings,
                                       [&](std::string_view text) { progress.detail(text); });
      rows.insert(rows.end(), made.begin(), made.end());
    }
  }
  progress.end();

  if (options.json) {
    fmt::print("{}\n", multicast::comparison::to_json(rows));
  }
  fmt::print(options.json ? stderr : stdout, "{}{}", multicast::comparison::to_table(rows),
             published::to_ratios(rows));
  return std::ranges::all_of(rows, &multicast::comparison::Row::valid) ? exit_success
                                                                       : exit_wrong_tree;
}

std::vector<std::string> names() {
  std::vector<std::string> all{"all", "fulb"};
  for (const multicast::comparison::Compared& one : published::all_rows()) {
    all.emplace_back(one.name);
  }
  return all;
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Compares algorithms for multicast trees over model fabrics.", "multicast");
  auto* const topology_option = app.add_option(
      "--topology", options.topologies,
      fmt::format("{}; default: the five named ones", fmt::join(topology::model_forms(), ", ")));
  app.add_option("--pattern", options.patterns,
                 "AxB or AxBxC, ~ in front for random places, rand:GROUPS,LEAST,MOST")
      ->needs(topology_option);
  app.add_option("--algorithm", options.algorithms, "Which to compare")
      ->check(CLI::IsMember(names()))
      ->capture_default_str();
  auto* const budget =
      app.add_option("--budget", options.budget_seconds,
                     "Seconds for repair; default: what suits fabric and pattern, 0.02 to 0.35")
          ->check(CLI::NonNegativeNumber);
  app.add_option("--dead", options.dead_percent, "Percent of links that are down, by the seed")
      ->check(CLI::Range(0.0, 100.0))
      ->needs(topology_option);
  app.add_option("--seed", options.settings.seed, "Of patterns, dead links and random choices")
      ->capture_default_str();
  app.add_option("--runs", options.settings.runs, "Runs of each, in turns; the fastest counts")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  app.add_flag("--json", options.json, "JSON on standard output, the table on standard error");
  app.footer("Exit codes: 0 every tree is right, 1 one is not, 2 wrong command line.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_success : exit_usage;
  }
  if (budget->count() > 0) {
    options.settings.budget_seconds = options.budget_seconds;
  }
  try {
    return compare(options);
  } catch (const topology::ModelError& e) {
    fmt::print(stderr, "{}\n", e.what());
  } catch (const UsageError& e) {
    fmt::print(stderr, "{}\n", e.what());
  } catch (const multicast::comparison::PatternError& e) {
    fmt::print(stderr, "{}\n", e.what());
  }
  return exit_usage;
}
