#include "controlplane/multicast/comparison/comparison.hpp"

#include "controlplane/multicast/lower_bound.hpp"
#include "controlplane/multicast/prism.hpp"
#include "controlplane/multicast/repair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

namespace tributary::multicast::comparison {
namespace {

std::unique_ptr<Algorithm> make_prism(Distances& distances, std::uint64_t seed) {
  return std::make_unique<Prism>(distances.view(), distances, seed);
}

// With dead links, PRISM may trade height for load.
constexpr std::array own{
    Compared{.name = "prism", .make = make_prism, .height_with_dead_links = Height::any},
    Compared{.name = "prism_repaired",
             .make = make_prism,
             .repaired = true,
             .height_with_dead_links = Height::any},
};

topology::Model broken_model(std::string_view topology, double dead_percent, std::uint64_t seed) {
  topology::Model model = topology::build_model(topology);
  const std::size_t links = model.graph.links().size();
  const auto dead =
      static_cast<std::size_t>(std::lround(static_cast<double>(links) * dead_percent / 100.0));
  std::mt19937_64 random(seed);
  for (std::size_t taken = 0; taken < std::min(dead, links);) {
    const LinkId c{static_cast<std::uint32_t>(random() % links)};
    if (model.graph[c].up) {
      model.graph.set_up(c, false);
      ++taken;
    }
  }
  return model;
}

/// Time of one reading of the clock, which is part of each measurement.
double cost_of(const Comparison::Clock& clock) {
  double least = 1;
  for (int i = 0; i < 100; ++i) {
    const double start = clock();
    least = std::min(least, clock() - start);
  }
  return least;
}

} // namespace

std::span<const Compared> prism_rows() { return own; }

/// Result of one pass of one algorithm.
struct Comparison::Routed {
  std::vector<Tree> trees;
  std::string fault;               ///< a group without a tree that could have one
  std::vector<std::size_t> groups; ///< the group of each tree
  std::uint32_t max_efi = 0;
  double root_seconds = 0;
  double tree_seconds = 0;
  double repair_seconds = 0;
  std::vector<RepairStep> repair_steps;
};

Comparison::Comparison(std::string_view topology, double dead_percent, std::uint64_t seed,
                       Clock clock)
    : model_(broken_model(topology, dead_percent, seed)), dead_percent_(dead_percent),
      clock_(std::move(clock)), clock_seconds_(cost_of(clock_)), view_(model_.graph),
      distances_(view_), checker_(model_.graph) {
  const double start = clock_();
  distances_.complete();
  distance_seconds_ = clock_() - start;
}

double Comparison::usual_budget(std::string_view pattern) const {
  if (dead_percent_ > 0) {
    return 0.3;
  }
  if (view_.is_clos()) {
    return 0.02;
  }
  if (pattern.starts_with("rand:")) {
    return 0.35;
  }
  return model_.torus_shape.empty() ? 0.1 : 0.25;
}

std::vector<Row> Comparison::run(std::string_view pattern, std::span<const Compared> compared,
                                 const ComparisonSettings& settings, const Progress& progress) {
  const std::vector<Group> groups = make_groups(pattern, model_, settings.seed);
  const std::uint32_t bound = lower_bound(model_, distances_, groups);
  const double budget = settings.budget_seconds.value_or(usual_budget(pattern));
  std::vector<Row> rows(compared.size());
  for (unsigned run = 0; run < std::max(settings.runs, 1U); ++run) {
    for (std::size_t i = 0; i < compared.size(); ++i) {
      progress(fmt::format("{} {} {}", model_.name, pattern, compared[i].name));
      const Routed routed = route_all(compared[i], groups, bound, budget, settings.seed);
      Row& row = rows[i];
      if (run > 0 && routed.root_seconds + routed.tree_seconds >= row.seconds()) {
        continue;
      }
      const CountedLoads counted = checker_.count(routed.trees);
      row = {model_.name,
             std::string(pattern),
             std::string(compared[i].name),
             dead_percent_,
             settings.seed,
             static_cast<std::uint32_t>(groups.size()),
             counted.max,
             counted.mean,
             bound,
             routed.root_seconds,
             routed.tree_seconds,
             routed.repair_seconds,
             routed.repair_steps,
             find_fault(routed, groups, compared[i])};
    }
  }
  return rows;
}

Comparison::Routed Comparison::route_all(const Compared& compared, std::span<const Group> groups,
                                         std::uint32_t bound, double budget, std::uint64_t seed) {
  const auto algorithm = compared.make(distances_, seed);
  auto* const rooted = dynamic_cast<RootedAlgorithm*>(algorithm.get());
  Loads loads(view_);
  std::vector<std::optional<Tree>> trees(groups.size());
  Routed routed;
  if (rooted != nullptr) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const double start = clock_();
      const auto root = rooted->choose_root(groups[g], loads);
      const double chosen = clock_();
      if (root) {
        trees[g] = rooted->grow(*root, groups[g], loads);
        loads.add(*trees[g]);
      }
      routed.root_seconds += chosen - start - clock_seconds_;
      routed.tree_seconds += clock_() - chosen - clock_seconds_;
    }
  } else {
    const double start = clock_();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      trees[g] = algorithm->route(groups[g], loads);
      if (trees[g]) {
        loads.add(*trees[g]);
      }
    }
    routed.tree_seconds = clock_() - start;
  }

  std::vector<RoutedGroup> moved;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (trees[g]) {
      moved.push_back({groups[g], std::move(*trees[g])});
      routed.groups.push_back(g);
    } else if (checker_.connected(groups[g])) {
      routed.fault = fmt::format("group {} got no tree, though its members are connected", g);
    }
  }
  if (auto* const prism = dynamic_cast<Prism*>(algorithm.get());
      prism != nullptr && compared.repaired) {
    const double start = clock_();
    routed.repair_steps.push_back({loads.max(), 0});
    const auto note = [&](double now) {
      if (loads.max() < routed.repair_steps.back().max_efi) {
        routed.repair_steps.push_back({loads.max(), now - start});
      }
    };
    RepairLimits limits;
    limits.lower_bound = bound;
    limits.time_is_over = [&] {
      const double now = clock_();
      note(now);
      return now - start >= budget;
    };
    (void)repair(*prism, loads, moved, limits);
    const double end = clock_();
    note(end);
    routed.repair_seconds = end - start;
    routed.tree_seconds += routed.repair_seconds;
  }
  for (RoutedGroup& group : moved) {
    routed.trees.push_back(std::move(group.tree));
  }
  routed.max_efi = loads.max();
  return routed;
}

std::string Comparison::find_fault(const Routed& routed, std::span<const Group> groups,
                                   const Compared& compared) {
  if (!routed.fault.empty()) {
    return routed.fault;
  }
  const Height height = dead_percent_ > 0 ? compared.height_with_dead_links : Height::least;
  for (std::size_t i = 0; i < routed.trees.size(); ++i) {
    if (const auto fault = checker_.find_fault(groups[routed.groups[i]], routed.trees[i], height)) {
      return fmt::format("the tree of group {}: {}", routed.groups[i], *fault);
    }
  }
  if (checker_.count(routed.trees).max != routed.max_efi) {
    return fmt::format("its accounting says the largest load is {}", routed.max_efi);
  }
  return {};
}

} // namespace tributary::multicast::comparison
