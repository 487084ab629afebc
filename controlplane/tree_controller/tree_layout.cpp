#include "controlplane/tree_controller/tree_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tributary::tree_controller {

using topology::HostId;

namespace {

/// Members that frames have to reach.
bool takes_part(const group::Member& member) {
  return member.state == records::MemberState::joined;
}

constexpr std::size_t hosts_named = 8;

} // namespace

// ---- planning ----

std::vector<HostId> TreeLayout::hosts_of(const group::Group& group) const {
  std::vector<HostId> hosts;
  hosts.reserve(group.members.size());
  for (const auto& [rank, member] : group.members) {
    if (takes_part(member) || rank == group.root) {
      if (const auto host = graph().find_host(member.nid)) {
        hosts.push_back(*host);
      }
    }
  }
  return hosts;
}

std::vector<multicast::Tree> TreeLayout::planned(const group::Group& group,
                                                 std::span<const HostId> hosts) {
  std::vector<multicast::Tree> trees;
  if (group.trees == 2) {
    if (auto twins = rooms_.planner.current().plan_twins(hosts)) {
      trees = {std::move(twins->first), std::move(twins->second)};
    }
  } else if (auto tree = rooms_.planner.current().plan(hosts)) {
    trees.push_back(std::move(*tree));
  }
  return trees;
}

std::vector<trees::PlannedTree> TreeLayout::plan(const group::Group& group,
                                                 std::span<const HostId> hosts) {
  std::vector<trees::PlannedTree> routes;
  for (multicast::Tree& tree : planned(group, hosts)) {
    if (auto one = oriented(group, tree, hosts)) {
      routes.push_back(std::move(*one));
    } else {
      rooms_.planner.known().release(tree);
    }
  }
  return routes;
}

std::vector<trees::PlannedTree>
TreeLayout::plan_around_full_engines(const group::Group& group, std::span<const HostId> hosts) {
  const multicast::Tree weight = rooms_.admission.weight_of_full_engines();
  rooms_.planner.current().adopt(weight);
  std::vector<trees::PlannedTree> routes = plan(group, hosts);
  rooms_.planner.known().release(weight);
  return routes;
}

std::optional<trees::PlannedTree> TreeLayout::oriented(const group::Group& group,
                                                       multicast::Tree tree,
                                                       std::span<const HostId> hosts) const {
  const auto root = group.members.find(group.root.value_or(0));
  const auto host =
      root == group.members.end() ? std::nullopt : graph().find_host(root->second.nid);
  if (!host) {
    return std::nullopt;
  }
  trees::PlannedTree result;
  result.parts = multicast::orient(rooms_.planner.graph(), tree, hosts, *host);
  result.tree = std::move(tree);
  return result;
}

// ---- loads ----

void TreeLayout::put(trees::GroupTrees& group_trees, std::vector<trees::PlannedTree> trees) {
  group_trees.trees = std::move(trees);
  for (const trees::PlannedTree& one : group_trees.trees) {
    rooms_.engines.add(one.parts);
  }
  note_shared(group_trees);
}

std::optional<std::vector<trees::PlannedTree>>
TreeLayout::adopted(std::span<const records::TreeRecord> trees) {
  std::vector<trees::PlannedTree> planned;
  for (const records::TreeRecord& tree : trees) {
    auto one = trees::planned_tree(graph(), tree.form);
    if (!one) {
      return std::nullopt;
    }
    planned.push_back(std::move(*one));
  }
  for (const trees::PlannedTree& one : planned) {
    rooms_.planner.known().adopt(one.tree);
  }
  return planned;
}

void TreeLayout::release(trees::GroupTrees& group_trees) {
  for (const trees::PlannedTree& one : group_trees.trees) {
    rooms_.planner.known().release(one.tree);
    rooms_.engines.remove(one.parts);
  }
  group_trees.trees.clear();
  group_trees.shared.clear();
}

void TreeLayout::replace(trees::PlannedTree& tree, trees::PlannedTree with) {
  rooms_.engines.remove(tree.parts);
  tree = std::move(with);
  rooms_.engines.add(tree.parts);
}

void TreeLayout::recount(const trees::TreeStates& states) {
  rooms_.planner.known().drop_loads();
  rooms_.engines = {};
  for (const auto& [group, group_trees] : states.all()) {
    for (const trees::PlannedTree& one : group_trees.trees) {
      if (!one.parts.empty()) {
        rooms_.planner.known().carry(one.tree);
        rooms_.engines.add(one.parts);
      }
    }
  }
}

// ---- queries ----

bool TreeLayout::intact(const group::Group& group, const trees::PlannedTree& routed) const {
  for (const topology::LinkId link : routed.tree.links) {
    if (!graph().usable(link) || rooms_.routes.avoids(link)) {
      return false;
    }
  }
  if (!rooms_.frames.knows_wide_frames(group, routed.parts)) {
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

void TreeLayout::note_shared(trees::GroupTrees& group_trees) const {
  group_trees.shared.clear();
  if (group_trees.trees.size() < 2) {
    return;
  }
  const trees::PlannedTree& first = group_trees.trees[0];
  const trees::PlannedTree& second = group_trees.trees[1];
  for (const topology::LinkId link : first.tree.links) {
    if (std::find(second.tree.links.begin(), second.tree.links.end(), link) !=
        second.tree.links.end()) {
      group_trees.shared.push_back(graph().describe(link));
    }
  }
  // A switch with only hosts as children, or next to the root, is a member's own.
  const auto is_inner = [&](const multicast::TreePart& part) {
    const auto leads_to_host = [&](topology::Port port) {
      return graph().host_at({part.at, port}).has_value();
    };
    return !leads_to_host(part.parent) &&
           std::none_of(part.children.begin(), part.children.end(), leads_to_host);
  };
  for (const multicast::TreePart& part : first.parts) {
    const bool in_second =
        std::any_of(second.parts.begin(), second.parts.end(),
                    [&](const multicast::TreePart& other) { return other.at == part.at; });
    if (in_second && is_inner(part)) {
      group_trees.shared.push_back(graph()[part.at].name);
    }
  }
}

std::optional<std::string> TreeLayout::contested(const group::Group& group) const {
  for (const HostId host : hosts_of(group)) {
    if (const auto other = rooms_.discovery.other_place_of(host)) {
      return fmt::format(
          "two ports claim a member: NID {} is at {} and at {}; unplug the wrong one, "
          "or give the right one the `nid` of its host",
          graph()[host].nid.value, graph().describe(graph()[host].at), graph().describe(*other));
    }
  }
  return std::nullopt;
}

group::Error TreeLayout::no_route(const group::Group& group, std::span<const HostId> hosts) {
  const auto parts = rooms_.planner.current().parts(hosts);
  std::string text;
  for (const auto& part : parts) {
    std::vector<std::string> names;
    for (const HostId host : part) {
      if (names.size() == hosts_named) {
        names.push_back(fmt::format("and {} more", part.size() - hosts_named));
        break;
      }
      names.push_back(graph()[host].name);
    }
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", fmt::join(names, ", "));
  }
  return {group::ErrorKind::unreachable,
          fmt::format("the hosts of group {}/{} are in {} unconnected parts of the fabric: {}; "
                      "look at tributaryctl fabric show links",
                      group.job, group.name, parts.size(), text)};
}

} // namespace tributary::tree_controller
