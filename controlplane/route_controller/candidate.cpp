#include "controlplane/route_controller/candidate.hpp"

#include "controlplane/unicast/general.hpp"
#include "controlplane/unicast/graph_tables.hpp"
#include "controlplane/unicast/placement.hpp"
#include "controlplane/unicast/route_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::route_controller {
namespace {

using unicast::RouteError;
using unicast::TableSet;

constexpr std::string_view general = "general";

TableSet tables_on_shape(const Fabric& fabric, const Settings& settings,
                         const unicast::Placement& placed, std::string_view algorithm) {
  const auto made = unicast::make_algorithm(algorithm, placed.shape,
                                            {.vcs = settings.vcs, .policy = settings.policy});
  TableSet tables =
      unicast::on_graph(made->tables(placed.faults(fabric.graph)), placed, fabric.graph);
  // Roots list ports to dead leaves too, and rely on these ports being down: those to a leaf that
  // is drained, or dead behind a port with carrier, are not.
  for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
    forwarding_table::SwitchTable& table = tables.switches[s];
    const std::span<const std::uint64_t> up = fabric.planned.of(s);
    for (std::size_t i = 0; i < table.port_words.size(); ++i) {
      table.port_words[i] &= up[i % table.words];
    }
  }
  return tables;
}

/// Computes each part separately, into one set: no switch is in two parts.
TableSet general_tables(const Fabric& fabric, std::uint8_t vcs) {
  TableSet set = fabric.empty_tables(vcs);
  for (const auto& part : fabric.parts) {
    TableSet of_part = unicast::general_tables(fabric.network, fabric.planned, part, vcs);
    for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
      const forwarding_table::SwitchTable& table = of_part.switches[s];
      const bool is_in = std::ranges::any_of(table.rows, [](std::uint16_t a) { return a != 0; });
      if (is_in || std::ranges::binary_search(part, s)) {
        set.switches[s] = unicast::fitted(table, fabric.switches(), fabric.network.ports(s), vcs);
      }
    }
  }
  return set;
}

class Search {
public:
  explicit Search(const CandidateSearch& given)
      : fabric_(given.fabric), settings_(given.settings), given_(given) {}

  Candidate run() {
    if (fabric_.endpoints.empty()) {
      complaints_.emplace_back("no switch that is up has hosts: there is nothing to route to");
    } else {
      try_all();
    }
    if (!best_) {
      best_.emplace(Candidate{.algorithm = settings_.algorithm, .shape = shape_});
      best_->refused = fmt::format("{}", fmt::join(complaints_, "; "));
      best_->computed = given_.now();
    }
    return *std::move(best_);
  }

private:
  void try_all() {
    if (settings_.algorithm != general && try_on_shape()) {
      return;
    }
    const bool is_by_name = settings_.algorithm != automatic && settings_.algorithm != general;
    // A declared shape is mandatory.
    if ((settings_.shape && !placed_) || (is_by_name && given_.may_stay()) ||
        attempt(general, [&] { return general_tables(fabric_, settings_.vcs); })) {
      return;
    }
    for (std::uint32_t which = 0; which < Fabric::spanning_trees && given_.standing.holds_any();
         ++which) {
      auto tree = fabric_.spanning_tree(settings_.vcs, which);
      if (tree && attempt("spanning_tree", [&] { return std::move(*tree); })) {
        return;
      }
    }
  }

  bool try_on_shape() {
    const bool is_automatic = settings_.algorithm == automatic;
    try {
      placed_ = unicast::place(fabric_.graph, settings_.shape);
    } catch (const RouteError& error) {
      complaints_.push_back(is_automatic && !settings_.shape
                                ? fmt::format("no fat tree: {}", error.what())
                                : error.what());
      return false;
    }
    shape_ = placed_->shape.describe();
    if (!is_automatic) {
      return attempt_on_shape(settings_.algorithm);
    }
    const unicast::Faults faults = placed_->faults(fabric_.graph);
    const bool only_leaves_are_dead = placed_->shape.dimensions() == 2 && settings_.vcs >= 2 &&
                                      faults.roots.empty() && faults.links.empty();
    return (only_leaves_are_dead && attempt_on_shape("vtftr_plus")) ||
           attempt_on_shape("phase_search");
  }

  bool attempt_on_shape(std::string_view algorithm) {
    return attempt(algorithm,
                   [&] { return tables_on_shape(fabric_, settings_, *placed_, algorithm); });
  }

  /// Whether these tables serve every pair; the best tables so far are kept.
  template <typename Make> bool attempt(std::string_view algorithm, Make&& make) {
    Candidate one{.algorithm = std::string(algorithm), .shape = shape_};
    try {
      one.tables = make();
      one.computed = given_.now();
      judge(one);
    } catch (const RouteError& error) {
      one.refused = error.what();
    }
    const std::string complaint =
        fmt::format("{}: {}", algorithm, one.refused.empty() ? one.walked.loses : one.refused);
    const bool serves_all = one.serves_all();
    if (one.refused.empty() && (!best_ || one.beats(*best_))) {
      one.why = fmt::format("{}", fmt::join(complaints_, "; "));
      best_ = std::move(one);
    }
    complaints_.push_back(complaint);
    return serves_all;
  }

  void judge(Candidate& one) const {
    const TableSet* const alone = &one.tables;
    one.walked = fabric_.walk({&alone, 1});
    one.refused = one.walked.circle;
    if (!one.refused.empty() || !given_.standing.holds_any()) {
      return;
    }
    if (!given_.standing.may_meet(one.tables)) {
      one.refused = fmt::format(
          "these routes must not be in force beside those of {}, without a channel to the manager",
          given_.standing.describe_holders());
      return;
    }
    Walked mixed = given_.standing.walk_with(one.tables);
    one.walked.lost = mixed.lost;
    one.walked.loses = std::move(mixed.loses);
  }

  const Fabric& fabric_;
  const Settings& settings_;
  const CandidateSearch& given_;
  std::optional<unicast::Placement> placed_;
  std::string shape_;
  std::vector<std::string> complaints_; ///< why the attempts so far were rejected
  std::optional<Candidate> best_;
};

} // namespace

Candidate find_candidate(const CandidateSearch& search) { return Search(search).run(); }

} // namespace tributary::route_controller
