#include "controlplane/routes/candidate.hpp"

#include "controlplane/unicast/general.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/graph_tables.hpp"
#include "controlplane/unicast/placement.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tributary::routes {
namespace {

using unicast::RouteError;
using unicast::TableSet;

constexpr std::string_view general = "general";

TableSet tables_on_shape(const Fabric& fabric, const Settings& settings,
                         const unicast::Placement& placed, std::string_view algorithm) {
  const auto made = unicast::make_algorithm(algorithm, placed.shape,
                                            {.vcs = settings.vcs, .policy = settings.policy});
  return unicast::on_graph(made->tables(placed.faults(fabric.graph)), placed, fabric.graph);
}

/// Each part by itself, in one set: no switch is in two of them.
TableSet general_tables(const Fabric& fabric, std::uint8_t vcs) {
  TableSet set = fabric.empty_tables(vcs);
  for (const auto& part : fabric.parts) {
    TableSet of_part = unicast::general_tables(fabric.network, fabric.planned, part, vcs);
    for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
      const routing::SwitchTable& table = of_part.switches[s];
      const bool is_in = std::ranges::any_of(table.rows, [](std::uint16_t a) { return a != 0; });
      if (is_in || std::ranges::binary_search(part, s)) {
        set.switches[s] = unicast::fitted(table, fabric.switches(), fabric.network.ports(s), vcs);
      }
    }
  }
  return set;
}

/// Walks each part; "" when every pair of it gets through and nothing waits in a circle.
std::string verified(const Fabric& fabric, Candidate& candidate) {
  const TableSet* const set = &candidate.tables;
  candidate.pairs = 0;
  candidate.most_hops = 0;
  candidate.vcs_used = 0;
  for (const auto& part : fabric.parts) {
    const unicast::Verification found =
        unicast::verify(fabric.network, {&set, 1}, fabric.planned, part);
    if (!found.safe()) {
      return found.describe(fabric.network);
    }
    candidate.pairs += found.pairs;
    candidate.most_hops = std::max(candidate.most_hops, found.most_hops);
    candidate.vcs_used = std::max(candidate.vcs_used, found.vcs_used);
  }
  return {};
}

class Search {
public:
  Search(const Fabric& fabric, const Settings& settings, const std::function<TimeNs()>& now)
      : fabric_(fabric), settings_(settings), now_(now) {}

  Candidate run() {
    if (fabric_.endpoints.empty()) {
      return refuse("no switch that is up has hosts: there is nothing to route to");
    }
    if (settings_.algorithm == general) {
      try_general();
      return std::move(candidate_);
    }
    const std::optional<unicast::Placement> placed = place();
    if (!placed) {
      return std::move(candidate_);
    }
    candidate_.shape = placed->shape.describe();
    if (settings_.algorithm != automatic) {
      try_shape(settings_.algorithm, *placed);
      return std::move(candidate_);
    }
    const unicast::Faults faults = placed->faults(fabric_.graph);
    if (placed->shape.dimensions() == 2 && settings_.vcs >= 2 && faults.roots.empty() &&
        faults.links.empty() && try_shape("vtftr_plus", *placed)) {
      return std::move(candidate_);
    }
    if (try_shape("phase_search", *placed)) {
      return std::move(candidate_);
    }
    candidate_.why = "phase_search: " + std::exchange(candidate_.refused, {});
    try_general();
    return std::move(candidate_);
  }

private:
  Candidate refuse(std::string why) {
    candidate_.refused = std::move(why);
    candidate_.computed = now_();
    return std::move(candidate_);
  }

  /// A shape that was declared is insisted on, and so is a fat tree for an algorithm of one.
  std::optional<unicast::Placement> place() {
    try {
      return unicast::place(fabric_.graph, settings_.shape);
    } catch (const RouteError& error) {
      if (settings_.algorithm == automatic && !settings_.shape) {
        candidate_.why = fmt::format("no fat tree: {}", error.what());
        try_general();
      } else {
        candidate_.algorithm = settings_.algorithm;
        candidate_.refused = error.what();
        candidate_.computed = now_();
      }
      return std::nullopt;
    }
  }

  bool try_shape(std::string_view algorithm, const unicast::Placement& placed) {
    return attempt(algorithm,
                   [&] { return tables_on_shape(fabric_, settings_, placed, algorithm); });
  }
  bool try_general() {
    return attempt(general, [&] { return general_tables(fabric_, settings_.vcs); });
  }

  template <typename Make> bool attempt(std::string_view algorithm, Make&& make) {
    candidate_.algorithm = algorithm;
    try {
      candidate_.tables = make();
      candidate_.computed = now_();
      candidate_.refused = verified(fabric_, candidate_);
    } catch (const RouteError& error) {
      candidate_.computed = now_();
      candidate_.refused = error.what();
    }
    return candidate_.refused.empty();
  }

  const Fabric& fabric_;
  const Settings& settings_;
  const std::function<TimeNs()>& now_;
  Candidate candidate_;
};

} // namespace

Fabric::Fabric(topology::Graph planned_graph, const topology::Graph& real_graph)
    : graph(std::move(planned_graph)), network(unicast::network_of(graph)),
      planned(unicast::port_states(graph, network)),
      real(unicast::port_states(real_graph, network)), endpoints(unicast::endpoints_of(graph)),
      parts(unicast::parts_of(network, planned, endpoints)) {}

TableSet Fabric::empty_tables(std::uint8_t vcs) const {
  TableSet set;
  set.vcs = vcs;
  for (std::uint32_t s = 0; s < switches(); ++s) {
    set.switches.push_back(unicast::empty_table(s, switches(), network.ports(s), vcs));
  }
  return set;
}

Candidate find_candidate(const Fabric& fabric, const Settings& settings,
                         const std::function<TimeNs()>& now) {
  return Search(fabric, settings, now).run();
}

} // namespace tributary::routes
