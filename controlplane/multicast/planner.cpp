#include "controlplane/multicast/planner.hpp"

#include "controlplane/multicast/algorithm.hpp"
#include "controlplane/multicast/distances.hpp"
#include "controlplane/multicast/loads.hpp"
#include "controlplane/multicast/prism.hpp"
#include "controlplane/multicast/repair.hpp"
#include "controlplane/multicast/routing_view.hpp"
#include "controlplane/multicast/twins.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tributary::multicast {

namespace {

/// All data derived from the graph at one time.
struct Routing {
  Routing(const Graph& graph, const PlannerSettings& settings, const RoutingView* before = nullptr)
      : view(graph, before), distances(view),
        algorithm(settings.make ? settings.make(distances)
                                : std::make_unique<Prism>(view, distances, settings.seed)),
        twins(view) {}

  RoutingView view;
  Distances distances;
  std::unique_ptr<Algorithm> algorithm;
  TwinSearch twins;
};

std::vector<SwitchId> switches_of(const Graph& graph, std::span<const HostId> hosts) {
  std::vector<SwitchId> switches;
  switches.reserve(hosts.size());
  for (const HostId h : hosts) {
    switches.push_back(graph[h].at.at);
  }
  std::sort(switches.begin(), switches.end());
  switches.erase(std::unique(switches.begin(), switches.end()), switches.end());
  return switches;
}

} // namespace

struct Planner::State {
  State(const Graph& planned, const PlannerSettings& asked)
      : graph(planned), settings(asked), routing(std::make_unique<Routing>(graph, settings)),
        loads(routing->view) {}

  [[nodiscard]] bool is_current() const {
    return !outdated && routing->view.switch_count() == graph.switches().size() &&
           routing->view.link_count() == graph.links().size();
  }

  /// Rebuilt when first needed after a change, so that many changes together cost one rebuild.
  Routing& current() {
    if (!is_current()) {
      routing = std::make_unique<Routing>(graph, settings, &routing->view);
      loads.rebind(routing->view);
      outdated = false;
    }
    return *routing;
  }

  std::optional<Tree> route(std::span<const SwitchId> switches) {
    Routing& now = current();
    if (switches.empty() || !now.view.connected(switches)) {
      return std::nullopt;
    }
    auto tree = now.algorithm->route(switches, loads);
    if (tree) {
      loads.add(*tree);
    }
    return tree;
  }

  const Graph& graph;
  PlannerSettings settings;
  std::unique_ptr<Routing> routing;
  Loads loads;
  bool outdated = false;
};

Planner::Planner(const Graph& graph, const PlannerSettings& settings)
    : state_(std::make_unique<State>(graph, settings)) {}

Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

std::optional<Tree> Planner::plan(std::span<const HostId> members) {
  return state_->route(switches_of(state_->graph, members));
}

std::optional<Twins> Planner::plan_twins(std::span<const HostId> members) {
  const std::vector<SwitchId> switches = switches_of(state_->graph, members);
  auto first = state_->route(switches);
  if (!first) {
    return std::nullopt;
  }
  Routing& now = state_->current();
  // The first tree's load must not count while both are still searched.
  state_->loads.remove(*first);
  Twins twins{std::move(*first), {}, {}, {}};
  twins.second = now.twins.find(twins.first, switches, state_->loads);
  Overlap shared = overlap(now.view, twins.first, twins.second, switches);
  twins.shared_links = std::move(shared.links);
  twins.shared_switches = std::move(shared.switches);
  adopt(twins.first);
  adopt(twins.second);
  return twins;
}

void Planner::adopt(const Tree& tree) {
  state_->current();
  state_->loads.add(tree);
}

void Planner::release(const Tree& tree) { state_->loads.remove(tree); }

void Planner::drop_loads() { state_->loads.clear(); }

void Planner::carry(const Tree& tree) { state_->loads.add(tree); }

std::optional<Tree> Planner::replan(const Tree& tree, std::span<const HostId> members) {
  const std::vector<SwitchId> switches = switches_of(state_->graph, members);
  state_->current();
  state_->loads.remove(tree);
  auto other = state_->route(switches);
  if (!other) {
    state_->loads.add(tree);
  }
  return other;
}

std::optional<Tree> Planner::replan_beside(const Tree& tree, const Tree& sibling,
                                           std::span<const HostId> members) {
  const std::vector<SwitchId> switches = switches_of(state_->graph, members);
  Routing& now = state_->current();
  if (switches.empty() || !now.view.connected(switches) || !intact(sibling)) {
    return std::nullopt;
  }
  state_->loads.remove(tree);
  state_->loads.remove(sibling); // the new tree must not share it anyway
  Tree other = now.twins.beside(sibling, switches, state_->loads);
  state_->loads.add(sibling);
  state_->loads.add(other);
  return other;
}

std::size_t Planner::shared(const Tree& a, const Tree& b, std::span<const HostId> members) {
  return overlap(state_->current().view, a, b, switches_of(state_->graph, members)).size();
}

std::size_t Planner::improve(std::span<PlannedGroup> groups, std::uint64_t attempts,
                             std::uint64_t moves) {
  Routing& now = state_->current();
  std::vector<RoutedGroup> movable;
  std::vector<std::size_t> places;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto switches = switches_of(state_->graph, groups[g].members);
    // Trees that a failure has cut are for `replan`.
    if (now.view.connected(switches)) {
      movable.push_back({std::move(switches), std::move(groups[g].tree)});
      places.push_back(g);
    }
  }
  Prism prism(now.view, now.distances, state_->settings.seed);
  RepairLimits limits;
  limits.attempts = attempts;
  limits.moves = moves;
  const RepairReport report = repair(prism, state_->loads, movable, limits);
  for (std::size_t i = 0; i < movable.size(); ++i) {
    groups[places[i]].tree = std::move(movable[i].tree);
  }
  return report.moves;
}

void Planner::topology_changed() { state_->outdated = true; }

bool Planner::is_current() const { return state_->is_current(); }

void Planner::make_current() { state_->current(); }

bool Planner::intact(const Tree& tree) const {
  const Graph& graph = state_->graph;
  return graph[tree.root_switch].up && std::all_of(tree.links.begin(), tree.links.end(),
                                                   [&](LinkId c) { return graph.usable(c); });
}

std::vector<std::vector<HostId>> Planner::parts(std::span<const HostId> members) const {
  const RoutingView& view = state_->current().view;
  // Hosts of a switch that is down form a separate part, by switch.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> numbers;
  std::vector<std::vector<HostId>> parts;
  for (const HostId h : members) {
    const SwitchId s = state_->graph[h].at.at;
    const std::uint32_t part = view.part(s);
    const auto [found, added] =
        numbers.try_emplace({part, part == RoutingView::none ? s.value : 0}, parts.size());
    if (added) {
      parts.emplace_back();
    }
    parts[found->second].push_back(h);
  }
  return parts;
}

std::uint32_t Planner::efi(LinkId link) const {
  return link.value < state_->loads.link_count() ? state_->loads[link] : 0;
}

EfiSummary Planner::efi() const {
  const RoutingView& view = state_->current().view;
  EfiSummary summary;
  std::uint64_t sum = 0;
  for (LinkId c{0}; c.value < view.link_count(); ++c.value) {
    if (!view.usable(c)) {
      continue;
    }
    const std::uint32_t load = state_->loads[c];
    sum += load;
    if (load > summary.max) {
      summary.max = load;
      summary.fullest.clear();
    }
    if (load == summary.max && load > 0) {
      summary.fullest.push_back(c);
    }
  }
  if (view.usable_link_count() > 0) {
    summary.mean = static_cast<double>(sum) / view.usable_link_count();
  }
  return summary;
}

} // namespace tributary::multicast
