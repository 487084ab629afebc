// The trees of groups after a fault: which are broken, and what is laid in their place.
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::manager {

using topology::HostId;

bool Manager::intact(const group::Group& group, const trees::PlannedTree& routed) const {
  for (const topology::LinkId link : routed.tree.links) {
    if (!graph().usable(link) || control_.avoids(link)) {
      return false;
    }
  }
  if (!knows_wide_frames(group, routed.parts)) {
    return false;
  }
  for (const HostId host : hosts_of(group)) {
    const topology::Host& member = graph()[host];
    const auto part =
        std::find_if(routed.parts.begin(), routed.parts.end(),
                     [&](const multicast::TreePart& p) { return p.at == member.at.at; });
    if (part == routed.parts.end() ||
        (part->parent != member.at.port &&
         !std::binary_search(part->children.begin(), part->children.end(), member.at.port))) {
      return false;
    }
  }
  return true;
}

bool Manager::plan_anew(const group::Group& group, trees::Life& life,
                        std::span<const std::size_t> broken, std::span<const HostId> hosts,
                        std::string& why_not) {
  std::vector<multicast::Tree> trees;
  const std::vector<trees::PlannedTree> before = life.trees;
  const multicast::Tree weight = weight_of_switches_without_room(group);
  planner().adopt(weight);
  if (broken.size() == 2) {
    const bool known = !life.trees[0].parts.empty();
    for (const trees::PlannedTree& old : life.trees) {
      if (known) {
        planner_.release(old.tree);
      }
    }
    if (auto twins = planner().plan_twins(hosts)) {
      trees = {std::move(twins->first), std::move(twins->second)};
    } else if (known) {
      for (const trees::PlannedTree& old : life.trees) {
        planner_.adopt(old.tree);
      }
    }
  } else {
    const trees::PlannedTree& old = life.trees[broken[0]];
    auto tree = old.parts.empty() ? planner().plan(hosts)
                : life.trees.size() == 1
                    ? planner().replan(old.tree, hosts)
                    : planner().replan_beside(old.tree, life.trees[1 - broken[0]].tree, hosts);
    if (tree) {
      trees.push_back(std::move(*tree));
    }
  }
  planner_.release(weight);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    auto again = routed(group, trees[i], hosts);
    if (!again) {
      return false;
    }
    if (why_not.empty()) {
      why_not = why_not_carried(group, broken[i], again->parts);
    }
    replace(life.trees[broken[i]], std::move(*again));
  }
  if (!why_not.empty()) {
    for (const std::size_t i : broken) { // as it was
      planner_.release(life.trees[i].tree);
      if (!before[i].parts.empty()) {
        planner_.adopt(before[i].tree);
      }
      replace(life.trees[i], before[i]);
    }
    return false;
  }
  return !trees.empty();
}

void Manager::repair(const group::Group& group) {
  const group::GroupId id = group.id;
  if (!group.routed() || group.state == group::GroupState::destroying) {
    return;
  }
  const std::vector<HostId> hosts = hosts_of(group);
  const trees::Life* known = lives_.find(id);
  std::vector<std::size_t> broken;
  for (std::size_t i = 0; i < group.routes.size(); ++i) {
    // Without trees: of a fabric that changed while no manager ran, or no numbers fitted.
    if (known == nullptr || known->trees.empty() || known->trees[i].parts.empty() ||
        !intact(group, known->trees[i]) || !is_told_to_turn(group, i, known->trees[i].parts)) {
      broken.push_back(i);
    }
  }
  if (broken.empty()) {
    const trees::State state = lives_.state(id);
    if (state == trees::State::broken || state == trees::State::retrying) {
      lives_.apply(id, trees::Event::plan, now());
    }
    return;
  }
  lives_.apply(id, trees::Event::torn, now());
  trees::Life& life = lives_.at(id);
  life.trees.resize(group.routes.size());
  std::string why_not;
  if (!plan_anew(group, life, broken, hosts, why_not)) {
    lives_.apply(id, trees::Event::no_path, now());
    lives_.set_due(id, now() + settings_.repair_pause_ns);
    const group::Error error = why_not.empty() ? no_route(group, hosts)
                                               : group::Error{group::ErrorKind::exhausted, why_not};
    control_.trees_given_up(group.full_name(), error.message, now());
    registry_.routes_failed(id, error, now());
    return;
  }
  ++repairs_;
  control_.tree_planned(group.full_name(), now());
  note_shared(life);
  events_.tell(
      "tree",
      fmt::format("group {}/{} has a new tree, the old one is broken", group.job, group.name),
      {{"job", group.job}, {"group", group.name}});
  repairing_.insert(id);
  offer(id, life);
}

} // namespace tributary::manager
