#include "tools/tributaryctl/fabric/route.hpp"

#include "controlplane/multicast/comparison/comparison.hpp"
#include "controlplane/multicast/comparison/report.hpp"
#include "lib/terminal/descriptor.hpp"
#include "tools/tributaryctl/exit_codes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include <unistd.h>

namespace tributary::cli {
namespace {

using multicast::comparison::Comparison;
using multicast::comparison::Row;

/// Processor time: other load on the machine does not count.
double seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// One line that is overwritten; nothing at all without a terminal.
void show_progress(std::string_view text) {
  if (terminal::is_terminal(STDERR_FILENO)) {
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
  }
}

int fail(std::string_view message) {
  show_progress("");
  fmt::print(stderr, "tributaryctl: {}\n", message);
  return exit_usage;
}

} // namespace

int route_model(const FabricCommand& command, bool json) {
  multicast::comparison::ComparisonSettings settings;
  settings.seed = command.seed;
  settings.runs = command.runs;
  if (command.budget) {
    settings.budget_seconds = std::chrono::duration<double>(*command.budget).count();
  }
  std::vector<Row> rows;
  try {
    for (const std::string& topology : command.topologies) {
      show_progress(fmt::format("{}: the fabric and its distances", topology));
      Comparison comparison(topology, 100 * command.dead, command.seed, seconds_now);
      for (const std::string& pattern : command.patterns) {
        const auto made =
            comparison.run(pattern, multicast::comparison::prism_rows(), settings, show_progress);
        rows.insert(rows.end(), made.begin(), made.end());
      }
    }
  } catch (const topology::ModelError& e) {
    return fail(e.what());
  } catch (const multicast::comparison::PatternError& e) {
    return fail(e.what());
  }
  show_progress("");
  fmt::print("{}", json ? multicast::comparison::to_json(rows) + '\n'
                        : multicast::comparison::to_table(rows));
  return std::ranges::all_of(rows, &Row::valid) ? exit_success : exit_failure;
}

} // namespace tributary::cli
