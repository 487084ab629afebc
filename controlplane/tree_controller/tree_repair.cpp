// The trees of groups after a fault: which are broken, and their replacements.
#include "controlplane/tree_controller/tree_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::tree_controller {

using topology::HostId;

bool TreeControl::replan(const group::Group& group, trees::GroupTrees& group_trees,
                         std::span<const std::size_t> broken, std::span<const HostId> hosts,
                         std::string& why_not) {
  std::vector<multicast::Tree> trees;
  const std::vector<trees::PlannedTree> before = group_trees.trees;
  const multicast::Tree weight = rooms_.frames.weight_of_switches_without_room(group);
  rooms_.planner.current().adopt(weight);
  if (broken.size() == 2) {
    const bool known = !group_trees.trees[0].parts.empty();
    for (const trees::PlannedTree& old : group_trees.trees) {
      if (known) {
        rooms_.planner.known().release(old.tree);
      }
    }
    if (auto twins = rooms_.planner.current().plan_twins(hosts)) {
      trees = {std::move(twins->first), std::move(twins->second)};
    } else if (known) {
      for (const trees::PlannedTree& old : group_trees.trees) {
        rooms_.planner.known().adopt(old.tree);
      }
    }
  } else {
    const trees::PlannedTree& old = group_trees.trees[broken[0]];
    auto tree = old.parts.empty() ? rooms_.planner.current().plan(hosts)
                : group_trees.trees.size() == 1
                    ? rooms_.planner.current().replan(old.tree, hosts)
                    : rooms_.planner.current().replan_beside(
                          old.tree, group_trees.trees[1 - broken[0]].tree, hosts);
    if (tree) {
      trees.push_back(std::move(*tree));
    }
  }
  rooms_.planner.known().release(weight);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    auto again = rooms_.layout.oriented(group, trees[i], hosts);
    if (!again) {
      rooms_.layout.recount(rooms_.states);
      return false;
    }
    if (why_not.empty()) {
      why_not = rooms_.frames.why_not_carried(group, broken[i], again->parts);
    }
    rooms_.layout.replace(group_trees.trees[broken[i]], std::move(*again));
  }
  if (!why_not.empty()) {
    for (const std::size_t i : broken) { // as it was
      rooms_.planner.known().release(group_trees.trees[i].tree);
      if (!before[i].parts.empty()) {
        rooms_.planner.known().adopt(before[i].tree);
      }
      rooms_.layout.replace(group_trees.trees[i], before[i]);
    }
    return false;
  }
  return !trees.empty();
}

void TreeControl::repair(const group::Group& group) {
  const group::GroupId id = group.id;
  if (!group.routed() || group.state == group::GroupState::destroying) {
    return;
  }
  const std::vector<HostId> hosts = rooms_.layout.hosts_of(group);
  const trees::GroupTrees* known = rooms_.states.find(id);
  std::vector<std::size_t> broken;
  for (std::size_t i = 0; i < group.routes.size(); ++i) {
    // No trees: the fabric changed while no manager ran, or no numbers fitted.
    if (known == nullptr || known->trees.empty() || known->trees[i].parts.empty() ||
        !rooms_.layout.intact(group, known->trees[i])) {
      broken.push_back(i);
    }
  }
  if (broken.empty()) {
    const trees::State state = rooms_.states.state(id);
    if (state == trees::State::broken || state == trees::State::retrying) {
      rooms_.states.apply(id, trees::Event::plan, now());
    }
    return;
  }
  rooms_.states.apply(id, trees::Event::torn, now());
  trees::GroupTrees& group_trees = rooms_.states.at(id);
  group_trees.trees.resize(group.routes.size());
  std::string why_not;
  if (!replan(group, group_trees, broken, hosts, why_not)) {
    rooms_.states.apply(id, trees::Event::no_path, now());
    rooms_.states.set_due(id, now() + settings_.retry_pause_ns);
    const group::Error error = why_not.empty() ? rooms_.layout.no_route(group, hosts)
                                               : group::Error{group::ErrorKind::exhausted, why_not};
    rooms_.routes.trees_given_up(group.full_name(), error.message, now());
    rooms_.registry.routes_failed(id, error, now());
    return;
  }
  ++repairs_;
  rooms_.routes.tree_planned(group.full_name(), now());
  rooms_.layout.note_shared(group_trees);
  rooms_.events.report(
      "tree",
      fmt::format("group {}/{} has a new tree, the old one is broken", group.job, group.name),
      {{"job", group.job}, {"group", group.name}});
  repairing_.insert(id);
  offer(id, group_trees);
}

} // namespace tributary::tree_controller
