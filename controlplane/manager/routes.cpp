// The trees of groups: planned, installed, repaired, taken away.
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tributary::manager {

namespace json = boost::json;
using topology::Attachment;
using topology::HostId;
using topology::SwitchId;

namespace {

/// Members that frames have to reach.
bool takes_part(const group::Member& member) {
  return member.state == records::MemberState::joined;
}

constexpr std::size_t hosts_named = 8;

} // namespace

// ---- what there is to plan over ----

multicast::Planner& Manager::planner() {
  if (planning_graph_is_old_ || graph().is_touched()) {
    copy_graph();
  }
  return planner_;
}

void Manager::copy_graph() {
  planning_graph_is_old_ = false;
  ++graph_copies_;
  planning_graph_ = graph();
  for (std::uint32_t s = 0; s < planning_graph_.switches().size(); ++s) {
    if (!discovery_.is_connected(SwitchId{s})) {
      planning_graph_.set_up(SwitchId{s}, false);
    }
  }
  planner_.topology_changed();
}

std::vector<HostId> Manager::hosts_of(const group::Group& group) const {
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

group::Error Manager::no_route(const group::Group& group, std::span<const HostId> hosts) {
  const auto parts = planner().parts(hosts);
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
  return {422,
          fmt::format("the hosts of group {}/{} are in {} unconnected parts of the fabric: {}; "
                      "look at tributaryctl fabric show links",
                      group.job, group.name, parts.size(), text)};
}

// ---- planning ----

std::optional<RoutedTree> Manager::routed(const group::Group& group, multicast::Tree tree,
                                          std::span<const HostId> hosts) const {
  const auto root = group.members.find(group.root.value_or(0));
  const auto host =
      root == group.members.end() ? std::nullopt : graph().find_host(root->second.nid);
  if (!host) {
    return std::nullopt;
  }
  RoutedTree result;
  result.parts = multicast::orient(planning_graph_, tree, hosts, *host);
  result.tree = std::move(tree);
  return result;
}

std::optional<std::string> Manager::contested(const group::Group& group) const {
  for (const HostId host : hosts_of(group)) {
    if (const auto other = discovery_.other_place_of(host)) {
      return fmt::format(
          "two ports claim a member: NID {} is at {} and at {}; unplug the wrong one, "
          "or give the right one the `nid` of its host",
          graph()[host].nid.value, graph().describe(graph()[host].at), graph().describe(*other));
    }
  }
  return std::nullopt;
}

void Manager::compute(group::GroupId id) {
  const group::Group* group = registry_.find(id);
  if (group == nullptr || group->state != group::GroupState::computing_routes) {
    return;
  }
  release(id);
  const std::vector<HostId> hosts = hosts_of(*group);
  if (hosts.size() != group->members.size()) {
    registry_.routes_failed(
        id,
        {422, fmt::format("{} hosts of group {}/{} are not in the fabric any "
                          "more; look at tributaryctl fabric show hosts",
                          group->members.size() - hosts.size(), group->job, group->name)},
        now());
    return;
  }
  if (const auto why = contested(*group)) {
    compute_at_[id] = never; // until one of the two is silent
    contested_.insert(id);
    registry_.routes_postponed(id, *why);
    return;
  }
  registry_.routes_postponed(id, {});
  std::vector<RoutedTree> trees = laid(*group, hosts);
  if (trees.empty()) {
    const TimeNs give_up = topology_changed_at_ + settings_.timeout_ns;
    if (now() < give_up) {
      compute_at_[id] = give_up;
    } else {
      registry_.routes_failed(id, no_route(*group, hosts), now());
    }
    return;
  }
  const auto give_back = [&] {
    for (const RoutedTree& one : trees) {
      planner_.release(one.tree);
    }
  };
  if (const auto full = full_engine_on(trees)) {
    give_back();
    trees = laid_around_full_engines(*group, hosts);
    if (full_engine_on(trees)) {
      give_back();
      registry_.routes_failed(id, engine_is_full(*group, *full), now());
      return;
    }
  }
  Routing& routing = routings_[id];
  routing.trees = std::move(trees);
  for (const RoutedTree& one : routing.trees) {
    engines_.add(one.parts);
  }
  note_shared(routing);
  if (!registry_.routes_ready(id, routes_of(routing), now())) {
    release(id);
  }
}

void Manager::compute_postponed(bool topology_changed) {
  std::vector<group::GroupId> due;
  for (const auto& [id, give_up] : compute_at_) {
    const bool is_contested = contested_.contains(id);
    const group::Group* group = is_contested ? registry_.find(id) : nullptr;
    const bool is_over = is_contested && (group == nullptr || !contested(*group));
    if (topology_changed || give_up <= now() || is_over) {
      due.push_back(id);
    }
  }
  for (const group::GroupId id : due) {
    compute_at_.erase(id);
    contested_.erase(id);
    compute(id);
  }
}

group::Routes Manager::routes_of(const Routing& routing) const {
  group::Routes routes;
  for (const RoutedTree& one : routing.trees) {
    std::uint32_t limit = max_trees;
    for (const multicast::TreePart& part : one.parts) {
      limit = std::min(limit, switches_[part.at.value].limits.trees());
    }
    routes.trees.push_back({form_of(graph(), one, settings_.planner.algorithm), limit});
  }
  return routes;
}

void Manager::note_shared(Routing& routing) const {
  routing.shared.clear();
  if (routing.trees.size() < 2) {
    return;
  }
  const RoutedTree& first = routing.trees[0];
  const RoutedTree& second = routing.trees[1];
  for (const topology::LinkId link : first.tree.links) {
    if (std::find(second.tree.links.begin(), second.tree.links.end(), link) !=
        second.tree.links.end()) {
      routing.shared.push_back(graph().describe(link));
    }
  }
  // A switch whose only children are hosts, or that is next to the root, is a member's own.
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
      routing.shared.push_back(graph()[part.at].name);
    }
  }
}

void Manager::adopt(const group::Group& group) {
  Routing routing;
  for (const group::GroupTree& tree : group.routes) {
    auto one = routed_tree(graph(), tree.form);
    if (!one) {
      return; // The fabric it was made for is not there any more: repaired when it is looked at.
    }
    routing.trees.push_back(std::move(*one));
  }
  for (const RoutedTree& one : routing.trees) {
    planner_.adopt(one.tree);
    engines_.add(one.parts);
  }
  note_shared(routing);
  routings_[group.id] = std::move(routing);
}

void Manager::release(group::GroupId id) {
  if (const auto found = routings_.find(id); found != routings_.end()) {
    for (const RoutedTree& one : found->second.trees) {
      planner_.release(one.tree);
      engines_.remove(one.parts);
    }
    routings_.erase(found);
  }
}

void Manager::replace(RoutedTree& tree, RoutedTree with) {
  engines_.remove(tree.parts);
  tree = std::move(with);
  engines_.add(tree.parts);
}

// ---- in the switches ----

std::optional<install::TreeTarget> Manager::target_of(const group::Group& group,
                                                      std::size_t index) const {
  const std::vector<multicast::TreePart>& parts = routings_.at(group.id).trees[index].parts;
  if (parts.front().children.empty()) {
    return std::nullopt;
  }
  install::TreeTarget target;
  target.number = group.routes[index].number;
  target.parts = parts;
  target.vni = group.vni;
  for (const HostId host : hosts_of(group)) {
    target.edges.push_back({graph()[host].at, graph()[host].nid});
  }
  return target;
}

void Manager::install(group::GroupId id) {
  const group::Group* group = registry_.find(id);
  if (group == nullptr || group->state == group::GroupState::destroying ||
      !routings_.contains(id)) {
    return;
  }
  Awaited& awaited = installing_[id];
  awaited.failure.clear();
  for (std::size_t i = 0; i < group->routes.size(); ++i) {
    const TreeNumber number = group->routes[i].number;
    std::optional<install::TreeTarget> target = target_of(*group, i);
    if (!target && group->size == 1) {
      continue; // there never was anything in any switch
    }
    const install::TreeTarget* wanted = coordinator_.wanted(number);
    if (target && wanted != nullptr && *wanted == *target && coordinator_.behind(number).empty()) {
      continue; // the other one of twins was repaired
    }
    const auto transaction = target ? coordinator_.set_tree(*std::move(target), now())
                                    : coordinator_.remove_tree(number, now());
    awaited.open.insert(transaction);
    transactions_[transaction] = id;
  }
  if (awaited.open.empty()) {
    installing_.erase(id);
    registry_.installed(id, now());
  }
}

void Manager::remove(group::GroupId id) {
  const group::Group* group = registry_.find(id);
  if (group == nullptr) {
    return;
  }
  installing_.erase(id);
  behind_.erase(id);
  repair_at_.erase(id);
  release(id);
  Awaited& awaited = removing_[id];
  for (const group::GroupTree& tree : group->routes) {
    const auto transaction = coordinator_.remove_tree(tree.number, now());
    awaited.open.insert(transaction);
    transactions_[transaction] = id;
  }
  if (awaited.open.empty()) {
    removing_.erase(id);
    registry_.removed(id, now());
  }
}

void Manager::finished(const install::Outcome& outcome) {
  const auto owner = transactions_.find(outcome.transaction);
  json::object body{{"transaction", outcome.transaction.value},
                    {"what", std::string(install::name(outcome.purpose))},
                    {"result", std::string(install::name(outcome.result))}};
  if (const group::Group* group =
          owner == transactions_.end() ? nullptr : registry_.find(owner->second)) {
    body["job"] = group->job;
    body["group"] = group->name;
  }
  event("transaction", outcome.text, std::move(body));
  reconcile_behind();
  if (owner == transactions_.end()) {
    return;
  }
  const group::GroupId id = owner->second;
  transactions_.erase(owner);
  if (const auto removal = removing_.find(id); removal != removing_.end()) {
    if (removal->second.open.erase(outcome.transaction) != 0 && removal->second.open.empty()) {
      removing_.erase(removal);
      registry_.removed(id, now());
    }
    return;
  }
  const auto installation = installing_.find(id);
  if (installation == installing_.end() ||
      installation->second.open.erase(outcome.transaction) == 0) {
    return;
  }
  Awaited& awaited = installation->second;
  if (outcome.result != install::Result::committed && awaited.failure.empty()) {
    awaited.failure = outcome.text;
  }
  if (!awaited.open.empty()) {
    return;
  }
  const std::string failure = std::move(awaited.failure);
  installing_.erase(installation);
  if (failure.empty()) {
    behind_.insert(id);
    reconcile_behind();
    return;
  }
  registry_.install_failed(id, failure, now());
  const group::Group* group = registry_.find(id);
  if (group != nullptr && group->state != group::GroupState::destroying) {
    repair_at_[id] = now() + settings_.repair_pause_ns;
  }
}

void Manager::reconcile_behind() {
  for (auto it = behind_.begin(); it != behind_.end();) {
    const group::Group* group = registry_.find(*it);
    const bool in_force =
        group != nullptr &&
        std::all_of(group->routes.begin(), group->routes.end(), [&](const group::GroupTree& tree) {
          return coordinator_.behind(tree.number).empty();
        });
    const group::GroupId id = *it;
    if (group == nullptr || in_force) {
      it = behind_.erase(it);
      if (in_force) {
        registry_.installed(id, now());
      }
    } else {
      ++it;
    }
  }
}

// ---- faults ----

bool Manager::intact(const group::Group& group, const RoutedTree& routed) const {
  for (const topology::LinkId link : routed.tree.links) {
    if (!graph().usable(link)) {
      return false;
    }
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

void Manager::repair() {
  if (waits_for_switches()) {
    return;
  }
  std::vector<group::GroupId> due;
  if (std::exchange(repair_all_, false)) {
    for (const group::Group* group : registry_.groups()) {
      due.push_back(group->id);
    }
  } else {
    for (const auto& [id, at] : repair_at_) {
      if (at <= now()) {
        due.push_back(id);
      }
    }
  }
  for (const group::GroupId id : due) {
    const group::Group* group = registry_.find(id);
    if (group != nullptr && group->routed() && group->state != group::GroupState::destroying) {
      repair(*group);
    } else {
      repair_at_.erase(id);
    }
  }
}

bool Manager::plan_anew(const group::Group& group, Routing& routing,
                        std::span<const std::size_t> broken, std::span<const HostId> hosts) {
  std::vector<multicast::Tree> trees;
  if (broken.size() == 2) {
    const bool known = !routing.trees[0].parts.empty();
    for (const RoutedTree& old : routing.trees) {
      if (known) {
        planner_.release(old.tree);
      }
    }
    if (auto twins = planner().plan_twins(hosts)) {
      trees = {std::move(twins->first), std::move(twins->second)};
    } else if (known) {
      for (const RoutedTree& old : routing.trees) {
        planner_.adopt(old.tree);
      }
    }
  } else {
    const RoutedTree& old = routing.trees[broken[0]];
    auto tree = old.parts.empty() ? planner().plan(hosts)
                : routing.trees.size() == 1
                    ? planner().replan(old.tree, hosts)
                    : planner().replan_beside(old.tree, routing.trees[1 - broken[0]].tree, hosts);
    if (tree) {
      trees.push_back(std::move(*tree));
    }
  }
  for (std::size_t i = 0; i < trees.size(); ++i) {
    auto again = routed(group, trees[i], hosts);
    if (!again) {
      return false;
    }
    replace(routing.trees[broken[i]], std::move(*again));
  }
  return !trees.empty();
}

void Manager::repair(const group::Group& group) {
  const group::GroupId id = group.id;
  const bool is_due = repair_at_.erase(id) != 0;
  const std::vector<HostId> hosts = hosts_of(group);
  if (!routings_.contains(id)) {
    // Of a fabric that changed while no manager ran: as if it were planned for the first time.
    routings_[id].trees.resize(group.routes.size());
  }
  Routing& routing = routings_[id];
  std::vector<std::size_t> broken;
  for (std::size_t i = 0; i < routing.trees.size(); ++i) {
    if (routing.trees[i].parts.empty() || !intact(group, routing.trees[i])) {
      broken.push_back(i);
    }
  }
  if (!broken.empty() && !plan_anew(group, routing, broken, hosts)) {
    registry_.routes_failed(id, no_route(group, hosts), now());
    repair_at_[id] = now() + settings_.repair_pause_ns;
    return;
  }
  if (!broken.empty()) {
    ++repairs_;
    note_shared(routing);
    event("tree",
          fmt::format("group {}/{} has a new tree, the old one is broken", group.job, group.name),
          {{"job", group.job}, {"group", group.name}});
    if (!registry_.routes_ready(id, routes_of(routing), now())) {
      release(id);
    }
  } else if (is_due) {
    install(id);
  }
}

} // namespace tributary::manager
