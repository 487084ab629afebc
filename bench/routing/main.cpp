// Unicast routes: how long tables take, how many virtual channels they need, how they load links.
//
//   routing                                                     every table of docs/benchmarks/
//                                                             routing.md
//   routing --topology kdft:16x16x1 --dead-leaves 20 --json     one of them
//   routing --topology torus:6x6x1                              any topology
//   routing --draws 1000000                                     how many of this many sets of 30
//                                                               dead leaves at 16x16 strand a pair
//   routing --campaign 60                                       pairs that random faults at 16x16
//                                                               strand
//
// Every set of tables is walked by the verifier, up to 1,024 leaves; exit code 1 when one that
// should be safe is not. Seconds are processor time, the fastest of --runs; above 1,024 leaves
// there is one run. Tables go to standard output; with --json a JSON array does.

#include "bench/routing/campaign.hpp"
#include "bench/routing/draws.hpp"
#include "bench/routing/layering.hpp"
#include "controlplane/topology/builders.hpp"
#include "controlplane/unicast/general.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/link_loads.hpp"
#include "controlplane/unicast/phase_search.hpp"
#include "controlplane/unicast/placement.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/verify.hpp"
#include "tools/simulator/algorithms/make_algorithm.hpp"

#include <boost/json.hpp>
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace tributary;
using namespace tributary::unicast;

constexpr int exit_success = 0;
constexpr int exit_unsafe = 1;
constexpr int exit_usage = 2;
constexpr std::size_t most_verified = 1'024;
constexpr std::size_t most_layered = 300;

struct Options {
  std::string topology;
  FaultCounts dead;
  std::uint64_t seed = 1;
  std::uint32_t runs = 5;
  std::uint32_t campaign = 0; ///< trials of each kind; 0: none
  std::uint64_t draws = 0;    ///< sets of dead leaves; 0: none
  bool json = false;
};

/// The processor time of this thread: other load on the machine does not count.
double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double fastest(std::uint32_t runs, const std::function<void()>& prepare,
               const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < runs; ++i) {
    prepare();
    const double begin = seconds_now();
    work();
    best = std::min(best, seconds_now() - begin);
  }
  return best;
}

/// One fabric with its dead parts, and the measurements on it.
class Session {
public:
  Session(const Options& options, std::string topology, const FaultCounts& dead)
      : options_(options), topology_(std::move(topology)), dead_(dead), runs_(options.runs) {
    const auto model = topology::build_model(topology_);
    hosts_ = model.graph.hosts().size();
    if (topology_.starts_with("kdft:")) {
      fat_tree(place(model.graph).shape);
      return;
    }
    if (dead.leaves != 0 || dead.links != 0 || dead.roots != 0) {
      throw RouteError("dead leaves, links and roots are drawn for kdft: topologies only");
    }
    network_ = network_of(model.graph);
    const PortStates up = port_states(model.graph, network_);
    const auto endpoints = endpoints_of(model.graph);
    for (const std::uint8_t vcs : std::array<std::uint8_t, 3>{1, 2, 4}) {
      general(up, endpoints, vcs);
    }
    layering(up, endpoints);
  }

  [[nodiscard]] bool all_safe() const { return all_safe_; }
  boost::json::array rows;

private:
  void fat_tree(const Shape& shape) {
    network_ = network_of(shape);
    Random random(options_.seed);
    const Faults dead = draw_faults(shape, dead_, random);
    const PortStates up = port_states(shape, network_, dead);
    const auto live = live_leaves(shape, dead);
    runs_ = live.size() > most_verified ? 1 : options_.runs;
    const bool corners = shape.dimensions() == 2 && dead.roots.empty() && dead.links.empty();
    if (corners) {
      build("vtftr", shape, {}, dead, up, live);
      build("vtftr_plus", shape, {}, dead, up, live);
    }
    build("phase_search", shape, {}, dead, up, live);
    if (live.size() > most_verified) {
      return;
    }
    general(up, live, 1);
    general(up, live, 2);
    if (corners) {
      build("algorithm_a", shape, {}, dead, up, live);
    }
    layering(up, live);
  }

  boost::json::object& row(std::string_view name, std::uint32_t vcs, double seconds) {
    rows.push_back(boost::json::object{{"topology", topology_},
                                       {"hosts", hosts_},
                                       {"dead_leaves", dead_.leaves},
                                       {"dead_links", dead_.links},
                                       {"dead_roots", dead_.roots},
                                       {"seed", options_.seed},
                                       {"algorithm", name},
                                       {"vcs", vcs},
                                       {"seconds", seconds}});
    return rows.back().as_object();
  }

  void build(std::string_view name, const Shape& shape, const RouteOptions& route_options,
             const Faults& dead, const PortStates& up, std::span<const std::uint32_t> live) {
    const auto algorithm = simulator::algorithms::make_algorithm(name, shape, route_options);
    TableSet tables;
    const double seconds = fastest(
        runs_, [] {}, [&] { tables = algorithm->tables(dead); });
    judge(row(name, tables.vcs, seconds), tables, up, live, name != "algorithm_a");
  }

  void general(const PortStates& up, std::span<const std::uint32_t> endpoints, std::uint8_t vcs) {
    TableSet tables;
    const double seconds = fastest(
        runs_, [] {}, [&] { tables = general_tables(network_, up, endpoints, vcs); });
    judge(row("general", vcs, seconds), tables, up, endpoints, true);
  }

  void judge(boost::json::object& row, const TableSet& tables, const PortStates& up,
             std::span<const std::uint32_t> endpoints, bool should_be_safe) {
    if (endpoints.size() > most_verified) {
      return;
    }
    const std::array<const TableSet*, 1> sets{&tables};
    const double begin = seconds_now();
    const Verification found = verify(network_, sets, up, endpoints);
    row.insert_or_assign("verify_seconds", seconds_now() - begin);
    row.insert_or_assign("safe", found.safe());
    row.insert_or_assign("shortest_cycle", found.cycle.size());
    row.insert_or_assign("stranded", found.stranded);
    row.insert_or_assign("vcs_used", found.vcs_used);
    const unicast::LinkLoads loads = unicast::link_loads(network_, tables, up, endpoints);
    row.insert_or_assign("mean_hops", loads.mean_hops);
    row.insert_or_assign("most_hops", loads.most_hops);
    row.insert_or_assign("hottest_to_mean", loads.hottest / loads.mean);
    // Pairs that no table can serve with so few channels are counted, but are not an error of the
    // tables.
    all_safe_ = all_safe_ && (!should_be_safe || (found.acyclic() && found.at_risk == 0));
  }

  void layering(const PortStates& up, std::span<const std::uint32_t> endpoints) {
    if (endpoints.size() > most_layered) {
      return;
    }
    const bench::Paths paths = bench::minimal_paths(network_, up, endpoints);
    double begin = seconds_now();
    const std::uint32_t lash = bench::layers_like_lash(network_, paths);
    row("minimal, layered like LASH", lash, seconds_now() - begin);
    begin = seconds_now();
    const std::uint32_t dfsssp = bench::layers_like_dfsssp(network_, paths);
    row("minimal, layered like DFSSSP", dfsssp, seconds_now() - begin);
  }

  const Options& options_;
  std::string topology_;
  FaultCounts dead_;
  std::size_t hosts_ = 0;
  std::uint32_t runs_ = 0;
  Network network_;
  bool all_safe_ = true;
};

void print(const boost::json::array& rows) {
  fmt::print("{:<16} {:>5} {:<34} {:>3} {:>10} {:>6} {:>9} {:>9} {:>12}\n", "topology", "dead",
             "algorithm", "VCs", "ms", "safe", "mean hops", "most hops", "hottest/mean");
  const auto number = [](const boost::json::object& row, const char* key, int digits) {
    const auto* const value = row.if_contains(key);
    return value == nullptr ? std::string("-")
                            : fmt::format("{:.{}f}", value->to_number<double>(), digits);
  };
  for (const boost::json::value& value : rows) {
    const boost::json::object& row = value.as_object();
    const auto* const safe = row.if_contains("safe");
    fmt::print("{:<16} {:>5} {:<34} {:>3} {:>10.3f} {:>6} {:>9} {:>9} {:>12}\n",
               std::string_view(row.at("topology").as_string()),
               fmt::format("{}/{}/{}", row.at("dead_leaves").to_number<unsigned>(),
                           row.at("dead_links").to_number<unsigned>(),
                           row.at("dead_roots").to_number<unsigned>()),
               std::string_view(row.at("algorithm").as_string()),
               row.at("vcs").to_number<unsigned>(), row.at("seconds").as_double() * 1e3,
               safe == nullptr ? "-" : (safe->as_bool() ? "yes" : "no"),
               number(row, "mean_hops", 3), number(row, "most_hops", 0),
               number(row, "hottest_to_mean", 3));
  }
}

int measure(const Options& options) {
  struct Table {
    std::string topology;
    FaultCounts dead;
  };
  std::vector<Table> tables{{options.topology, options.dead}};
  if (options.topology.empty()) {
    tables = {{"kdft:16x16x16", {}}, {"kdft:16x16x16", {.leaves = 20}},
              {"kdft:72x72x24", {}}, {"kdft:18x18x18x18", {}},
              {"torus:8x8x1", {}},   {"dragonfly:8,4,4", {}}};
  }
  boost::json::array rows;
  bool safe = true;
  for (const Table& table : tables) {
    Session session(options, table.topology, table.dead);
    rows.insert(rows.end(), session.rows.begin(), session.rows.end());
    safe = safe && session.all_safe();
  }
  if (options.json) {
    fmt::print("{}\n", boost::json::serialize(rows));
  } else {
    print(rows);
  }
  return safe ? exit_success : exit_unsafe;
}

/// Shares of pairs, by kind of fault.
void campaign(const Options& options) {
  boost::json::array rows;
  for (const std::uint32_t planes : {1U, 4U}) {
    for (const FaultCounts& dead :
         {FaultCounts{.leaves = 20}, FaultCounts{.leaves = 64}, FaultCounts{.links = 10},
          FaultCounts{.roots = 3}, FaultCounts{.leaves = 5, .links = 10, .roots = 1},
          FaultCounts{.leaves = 20, .links = 40, .roots = 2}}) {
      const bench::Campaign found =
          bench::run_campaign(Shape::grid(16, 16, planes), dead, options.campaign, options.seed);
      rows.push_back(boost::json::object{{"planes", planes},
                                         {"dead_leaves", dead.leaves},
                                         {"dead_links", dead.links},
                                         {"dead_roots", dead.roots},
                                         {"trials", options.campaign},
                                         {"seed", options.seed},
                                         {"lost_without_rerouting", found.lost_without},
                                         {"stranded_2_vcs", found.stranded_2},
                                         {"stranded_3_vcs", found.stranded_3},
                                         {"cut", found.cut}});
      if (!options.json) {
        fmt::print("16x16, {} planes, {}/{}/{} dead: {:.2f} % lost without rerouting, stranded "
                   "{:.4f} % with 2 VCs, {:.4f} % with 3, cut {:.4f} %\n",
                   planes, dead.leaves, dead.links, dead.roots, 100 * found.lost_without,
                   100 * found.stranded_2, 100 * found.stranded_3, 100 * found.cut);
      }
    }
  }
  if (options.json) {
    fmt::print("{}\n", boost::json::serialize(rows));
  }
}

/// Sets that strand a pair, by algorithm.
void draw(const Options& options) {
  constexpr std::uint32_t dead_leaves = 30;
  const double begin = seconds_now();
  const bench::Stranding found =
      bench::draw_sets(Shape::grid(16, 16), dead_leaves, options.draws, options.seed);
  const double seconds = seconds_now() - begin;
  if (options.json) {
    fmt::print("{}\n", boost::json::serialize(
                           boost::json::object{{"topology", "kdft:16x16x1"},
                                               {"dead_leaves", dead_leaves},
                                               {"sets", options.draws},
                                               {"seed", options.seed},
                                               {"seconds", seconds},
                                               {"stranding_vtftr_clean_column", found.clean_column},
                                               {"stranding_vtftr", found.vtftr},
                                               {"stranding_vtftr_plus", found.vtftr_plus}}));
    return;
  }
  fmt::print("16x16, {} dead leaves, {} sets, seed {}: a live pair is stranded in {} with clean "
             "columns only, {} with vtftr, {} with vtftr_plus ({:.1f} s)\n",
             dead_leaves, options.draws, options.seed, found.clean_column, found.vtftr,
             found.vtftr_plus, seconds);
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures unicast routes on model fabrics.", "routing");
  auto* const topology = app.add_option("--topology", options.topology,
                                        "Model fabric, as kdft:16x16x16; default: several");
  app.add_option("--dead-leaves", options.dead.leaves, "Dead leaves, by the seed")->needs(topology);
  app.add_option("--dead-links", options.dead.links, "Dead links")->needs(topology);
  app.add_option("--dead-roots", options.dead.roots, "Dead roots")->needs(topology);
  app.add_option("--seed", options.seed, "Seed of what is dead")->capture_default_str();
  app.add_option("--runs", options.runs, "Runs of each; the fastest counts")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  app.add_option("--campaign", options.campaign,
                 "Trials of random faults at 16x16, in place of tables")
      ->excludes(topology);
  app.add_option("--draws", options.draws,
                 "Sets of 30 dead leaves at 16x16, in place of tables: how many strand a pair")
      ->excludes(topology);
  app.add_flag("--json", options.json, "JSON on standard output");
  app.footer("Exit codes: 0 all tables are safe, 1 some are not, 2 wrong command line.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_success : exit_usage;
  }
  try {
    if (options.campaign != 0) {
      campaign(options);
      return exit_success;
    }
    if (options.draws != 0) {
      draw(options);
      return exit_success;
    }
    return measure(options);
  } catch (const topology::ModelError& e) {
    fmt::print(stderr, "{}\n", e.what());
  } catch (const RouteError& e) {
    fmt::print(stderr, "{}\n", e.what());
  }
  return exit_usage;
}
