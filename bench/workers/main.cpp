// Many workers of one switch: leaves of its trees on all ports, one parent port for all trees.
// Measures the cost of a contribution, how evenly workers share it, and what crosses between
// workers.
//
//   bench-workers                             1 to 16 workers one after the other on one thread
//   bench-workers --threads --workers 1,2     concurrently, a processor for each worker
//   bench-workers --op flt_sum_nearest        another operation
//   bench-workers --skewed                    leaves that send in different orders
//   bench-workers --unsorted                  ports that cannot bring frames to their worker
//
// On one thread, each worker receives its frames and runs until it has no more, with the caches for
// itself as on a core of its own; what workers handed over follows. Moving a cache line between
// workers costs nothing there. So the figures for a machine with that many cores are a model, and
// printed as one:
//
//   time = the busiest worker's cycles + its share of what crosses * lines * cycles a line
//
// where a frame that crosses moves about `--lines` cache lines (buffer, two of the frame, a part of
// the ring's), and a subtotal `--subtotal-lines` (its first one, the same on its way back to the
// worker that writes it again, a part of the ring's; where it begins a reduction two more, which is
// rare: the worker with the engine mostly has a contribution of its own before). `--line-cycles` is
// the cost of one with some overlap. Numbers of workers take turns; the quickest round is reported
// for each, because other load only adds. Exit codes: 0, 1 a result is missing or wrong without a
// drop, 2 usage.

#include "bench/workers/measure.hpp"

#include <boost/json.hpp>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rte_cycles.h>

namespace {

using namespace tributary;
using namespace tributary::bench;

constexpr int exit_success = 0;
constexpr int exit_wrong = 1;
constexpr int exit_usage = 2;

struct Options {
  std::vector<std::uint32_t> workers = {1, 2, 4, 8, 16};
  std::size_t ports = 16;
  std::size_t trees = 64;
  std::string op = "int_sum";
  std::uint32_t rounds = 200;
  bool threads = false;
  bool skewed = false;
  bool traced = false;
  bool one_queue = false;
  bool unsorted = false;
  bool by_tree = false;
  std::uint64_t seed = 1;
  double lines = 3.25;
  double subtotal_lines = 2.25;
  double line_cycles = 100;
  bool json = false;
};

std::optional<wire::Opcode> opcode_named(const std::string& name) {
  std::string wanted = name;
  std::ranges::transform(wanted, wanted.begin(),
                         [](char c) { return static_cast<char>(std::toupper(c)); });
  for (const wire::Opcode op : wire::all_opcodes) {
    if (wire::name_of(op) == wanted) {
      return op;
    }
  }
  return std::nullopt;
}

/// The best of the rounds of one number of workers.
struct Best {
  std::unique_ptr<Star> star;
  Cost arms;
  Cost contributions;
  std::uint64_t dropped = 0;        ///< contributions and results, in all rounds
  std::uint64_t dropped_copies = 0; ///< of arms
  std::uint64_t sent = 0;           ///< contributions, and as many copies of arms
  bool wrong = false;

  void add(const Round& round, bool threads) {
    const auto better = [&](const Cost& a, const Cost& b) {
      return b.cycles.empty() ||
             (threads ? a.wall_cycles < b.wall_cycles : a.busiest() < b.busiest());
    };
    dropped += round.contributions.dropped;
    dropped_copies += round.arms.dropped;
    sent += star->contributions();
    wrong |=
        round.whole != star->reductions() && round.contributions.dropped + round.arms.dropped == 0;
    if (better(round.arms, arms)) {
      arms = round.arms;
    }
    if (better(round.contributions, contributions)) {
      contributions = round.contributions;
    }
  }
};

double per(std::uint64_t what, std::size_t of) {
  return static_cast<double>(what) / static_cast<double>(of);
}

/// Cycles until all is done on a machine with a core for each worker.
double modelled(const Options& options, const Cost& cost, std::size_t workers) {
  const double lines = per(cost.handed_over - cost.subtotals, workers) * options.lines +
                       per(cost.subtotals, workers) * options.subtotal_lines;
  return static_cast<double>(cost.busiest()) + lines * options.line_cycles;
}

boost::json::object report(const Options& options, const Best& best, const Best& first) {
  const Star& star = *best.star;
  const std::size_t workers = star.shape().workers;
  const std::size_t n = star.contributions();
  const Cost& c = best.contributions;
  const double rate =
      static_cast<double>(n) * static_cast<double>(rte_get_tsc_hz()) /
      (options.threads ? static_cast<double>(c.wall_cycles) : modelled(options, c, workers));
  const Cost& one = first.contributions;
  const double speed_up = options.threads ? per(one.wall_cycles, c.wall_cycles)
                                          : modelled(options, one, first.star->shape().workers) /
                                                modelled(options, c, workers);
  return {{"workers", workers},
          {"cycles_per_contribution", per(c.total(), n)},
          {"busiest_share", per(c.busiest(), c.total())},
          {"crossings_per_contribution", per(c.handed_over, n)},
          {"subtotals_per_contribution", per(c.subtotals, n)},
          {"cycles_per_arm", per(best.arms.total(), star.reductions())},
          {"crossings_per_arm", per(best.arms.handed_over, star.reductions())},
          {"dropped_share", per(best.dropped, best.sent)},
          {"copies_dropped_share", per(best.dropped_copies, best.sent)},
          {"contributions_per_second", rate},
          {"speed_up", speed_up}};
}

void print(const Options& options, const std::vector<boost::json::object>& lines) {
  fmt::print("{} trees, {} leaves on ports of their own, one parent port; {}{}; seed {}\n",
             options.trees, options.ports - 1, options.op, options.skewed ? ", skewed" : "",
             options.seed);
  if (options.threads) {
    fmt::print("all workers at once; the quickest of {} rounds\n\n", options.rounds);
  } else {
    fmt::print("all workers one after the other on one thread; the quickest of {} rounds\n"
               "model: busiest worker + its share of crossings x {} lines (subtotals: {}) x {} "
               "cycles\n\n",
               options.rounds, options.lines, options.subtotal_lines, options.line_cycles);
  }
  fmt::print("{:>7} {:>14} {:>8} {:>10} {:>8} {:>10} {:>10} {:>8} {:>9} {:>8}\n", "workers",
             "cycles/contr.", "busiest", "cross/con.", "dropped", "cycles/arm", "cross/arm",
             "dropped", options.threads ? "M/s" : "M/s mod.", "speed-up");
  for (const boost::json::object& line : lines) {
    const auto value = [&](const char* key) { return line.at(key).to_number<double>(); };
    fmt::print("{:>7} {:>14.1f} {:>7.1f}% {:>10.3f} {:>7.1f}% {:>10.1f} {:>10.2f} {:>7.1f}% "
               "{:>9.1f} {:>8.2f}\n",
               value("workers"), value("cycles_per_contribution"), 100 * value("busiest_share"),
               value("crossings_per_contribution"), 100 * value("dropped_share"),
               value("cycles_per_arm"), value("crossings_per_arm"),
               100 * value("copies_dropped_share"), value("contributions_per_second") / 1e6,
               value("speed_up"));
  }
}

int measure(const Options& options, wire::Opcode op) {
  spdlog::set_level(spdlog::level::warn);
  Machine machine(options.ports * options.workers.size(),
                  *std::ranges::max_element(options.workers));
  std::vector<Best> all;
  for (const std::uint32_t workers : options.workers) {
    Best& one = all.emplace_back();
    one.star = std::make_unique<Star>(
        machine, Shape{.ports = options.ports, .trees = options.trees, .workers = workers},
        Traffic{.op = op,
                .skewed = options.skewed,
                .traced = options.traced,
                .own_queues = !options.one_queue,
                .sorted = !options.unsorted && !options.one_queue && !options.by_tree,
                .placed = options.by_tree,
                .seed = options.seed});
  }
  constexpr std::uint32_t at_once = 10; // or each turn would be one of new threads
  for (std::uint32_t done = 0; done < options.rounds; done += at_once) {
    const std::uint32_t rounds = std::min(at_once, options.rounds - done);
    for (Best& one : all) {
      if (options.threads) {
        for (const Round& round : run_threads(*one.star, rounds)) {
          one.add(round, true);
        }
        continue;
      }
      for (std::uint32_t i = 0; i < rounds; ++i) {
        one.add(simulate(*one.star), false);
      }
    }
  }
  std::vector<boost::json::object> lines;
  for (const Best& one : all) {
    lines.push_back(report(options, one, all.front()));
  }
  if (options.json) {
    boost::json::array array;
    for (const auto& line : lines) {
      array.push_back(line);
    }
    fmt::print("{}\n", boost::json::serialize(boost::json::object{{"seed", options.seed},
                                                                  {"trees", options.trees},
                                                                  {"ports", options.ports},
                                                                  {"op", options.op},
                                                                  {"skewed", options.skewed},
                                                                  {"threads", options.threads},
                                                                  {"workers", std::move(array)}}));
  } else {
    print(options, lines);
  }
  if (std::ranges::any_of(all, [](const Best& one) { return one.wrong; })) {
    fmt::print(stderr, "bench-workers: a result is missing or wrong, and nothing was dropped\n");
    return exit_wrong;
  }
  return exit_success;
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What reductions cost a switch with many workers, and what crosses between them");
  app.add_option("--workers", options.workers, "numbers of workers, compared with the first")
      ->delimiter(',')
      ->check(CLI::Range(1, 32));
  app.add_option("--ports", options.ports, "ports of the switch: a parent's, and the leaves'")
      ->check(CLI::Range(2, 64));
  app.add_option("--trees", options.trees, "trees, each with eight reductions in flight")
      ->check(CLI::Range(1, 256));
  app.add_option("--op", options.op, "operation of the contributions");
  app.add_option("--rounds", options.rounds, "rounds for each number of workers")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--threads", options.threads, "all workers at once, each on a processor");
  app.add_flag("--skewed", options.skewed, "each leaf sends in an order of its own");
  app.add_flag("--traced", options.traced,
               "the switch traces, as it does by default: 96 KiB for each worker");
  app.add_flag("--one-queue", options.one_queue,
               "ports have one transmit queue, and what other workers send by them crosses");
  app.add_flag(
      "--unsorted", options.unsorted,
      "ports have one receive queue, whose worker hands over what is not its own; otherwise "
      "each worker has one, to which the frames of its trees come, as from a NIC");
  app.add_flag("--by-tree", options.by_tree,
               "as --unsorted, but trees are placed on workers, and frames are handed over one by "
               "one instead of as partial aggregates");
  app.add_option("--seed", options.seed, "of those orders");
  app.add_option("--lines", options.lines, "model: cache lines that a frame moves that crosses");
  app.add_option("--subtotal-lines", options.subtotal_lines, "model: cache lines of a subtotal");
  app.add_option("--line-cycles", options.line_cycles, "model: cycles for each of them");
  app.add_flag("--json", options.json, "one JSON object instead of a table");
  try {
    app.parse(argc, argv);
    const std::optional<wire::Opcode> op = opcode_named(options.op);
    if (!op) {
      fmt::print(stderr,
                 "bench-workers: no operation {}; names are those of the wire "
                 "format, such as int_sum or flt_repsum\n",
                 options.op);
      return exit_usage;
    }
    return measure(options, *op);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? exit_success : exit_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench-workers: {}\n", error.what());
    return exit_wrong;
  }
}
