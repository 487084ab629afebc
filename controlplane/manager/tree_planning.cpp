// The trees of groups are planned: over what, when, and around whatever is full.
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tributary::manager {

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
    const Section section(stalls_, "the fabric to plan over");
    bring_planning_graph_up_to_date();
  }
  if (!planner_.is_current()) {
    const Section section(stalls_, "the planner's view");
    planner_.make_current();
  }
  return planner_;
}

void Manager::bring_planning_graph_up_to_date() {
  planning_graph_is_old_ = false;
  planning_graph_ = graph();
  const std::set<SwitchId> drained = control_.avoided_switches();
  for (std::uint32_t s = 0; s < planning_graph_.switches().size(); ++s) {
    const SwitchId at{s};
    const bool up = graph()[at].up && discovery_.is_connected(at) && !drained.contains(at);
    if (planning_graph_[at].up != up) {
      planning_graph_.set_up(at, up);
    }
  }
  for (const topology::LinkId link : control_.avoided_links()) {
    if (planning_graph_[link].up) {
      planning_graph_.set_up(link, false);
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
  return {group::ErrorKind::unreachable,
          fmt::format("the hosts of group {}/{} are in {} unconnected parts of the fabric: {}; "
                      "look at tributaryctl fabric show links",
                      group.job, group.name, parts.size(), text)};
}

// ---- planning ----

std::optional<trees::PlannedTree> Manager::routed(const group::Group& group, multicast::Tree tree,
                                                  std::span<const HostId> hosts) const {
  const auto root = group.members.find(group.root.value_or(0));
  const auto host =
      root == group.members.end() ? std::nullopt : graph().find_host(root->second.nid);
  if (!host) {
    return std::nullopt;
  }
  trees::PlannedTree result;
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
  release(lives_.at(id));
  const std::vector<HostId> hosts = hosts_of(*group);
  if (hosts.size() != group->members.size()) {
    registry_.routes_failed(
        id,
        {group::ErrorKind::unreachable,
         fmt::format("{} hosts of group {}/{} are not in the fabric any "
                     "more; look at tributaryctl fabric show hosts",
                     group->members.size() - hosts.size(), group->job, group->name)},
        now());
    return;
  }
  if (const auto why = contested(*group)) {
    lives_.at(id).postponed = *why; // until one of the two is silent
    registry_.routes_postponed(id, *why);
    return;
  }
  registry_.routes_postponed(id, {});
  std::vector<trees::PlannedTree> trees = laid(*group, hosts);
  if (trees.empty()) {
    const TimeNs give_up = topology_changed_at_ + settings_.timeout_ns;
    if (now() < give_up) {
      lives_.apply(id, trees::Event::no_path, now());
      lives_.set_due(id, give_up);
    } else {
      registry_.routes_failed(id, no_route(*group, hosts), now());
    }
    return;
  }
  const auto give_back = [&] {
    for (const trees::PlannedTree& one : trees) {
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
  trees::Life& life = lives_.at(id);
  life.trees = std::move(trees);
  for (const trees::PlannedTree& one : life.trees) {
    engines_.add(one.parts);
  }
  note_shared(life);
  offer(id, life);
}

void Manager::offer(group::GroupId id, trees::Life& life) {
  group::Routes routes = routes_of(life);
  const group::Group* const group = registry_.find(id);
  bool short_of_room = false;
  if (group != nullptr && !group->routed()) {
    group::TurnWish turn = agreed_turn(*group, life.trees);
    routes.turned = turn.turned;
    routes.turn_note = std::move(turn.why);
    group::WideWish agreed = agreed_frames(*group, routes.turned, life.trees);
    routes.frames = agreed.frames;
    routes.frames_note = std::move(agreed.why);
    short_of_room = agreed.short_of_room;
  }
  if (!registry_.routes_ready(id, routes, now())) {
    release(life);
    lives_.apply(id, trees::Event::torn, now());
    return;
  }
  hold_memory(*group, life);
  if (short_of_room) {
    tell_short_of_room(*group);
  }
}

void Manager::compute_what_is_not_contested() {
  std::vector<group::GroupId> free;
  for (const group::GroupId id : lives_.in_state(trees::State::wanted)) {
    const group::Group* group = lives_.find(id)->postponed.empty() ? nullptr : registry_.find(id);
    if (group != nullptr && !contested(*group)) {
      free.push_back(id);
    }
  }
  for (const group::GroupId id : free) {
    lives_.apply(id, trees::Event::want, now());
  }
}

bool Manager::handle_due() {
  const Section section(stalls_, "planning trees");
  if (waits_for_switches()) {
    return false;
  }
  bool any = false;
  for (;;) {
    const bool is_due = lives_.next_due() <= now();
    if (!is_due && !to_repair_.active()) {
      return any;
    }
    if (slice_is_over()) {
      environment_.request_reconcile();
      return false;
    }
    any = true;
    // By turns: who joins does not wait until all groups are looked at, nor they for who joins.
    repair_is_next_ = to_repair_.active() && (!is_due || !repair_is_next_);
    if (!repair_is_next_) {
      look_at(lives_.take_due(now()).value());
    } else if (const group::Group* group = to_repair_.next(registry_)) {
      repair(*group);
    }
  }
}

void Manager::look_at(group::GroupId id) {
  switch (lives_.state(id)) {
  case trees::State::wanted: compute(id); break;
  case trees::State::planned: install(id); break;
  case trees::State::broken:
  case trees::State::retrying:
    if (const group::Group* group = registry_.find(id)) {
      repair(*group);
    }
    break;
  default: break;
  }
}

group::Routes Manager::routes_of(const trees::Life& life) const {
  group::Routes routes;
  for (const trees::PlannedTree& one : life.trees) {
    std::uint32_t limit = max_trees;
    for (const multicast::TreePart& part : one.parts) {
      limit = std::min(limit, switches_[part.at].limits.trees());
    }
    routes.trees.push_back({trees::form_of(graph(), one, settings_.planner.algorithm), limit});
  }
  return routes;
}

void Manager::note_shared(trees::Life& life) const {
  life.shared.clear();
  if (life.trees.size() < 2) {
    return;
  }
  const trees::PlannedTree& first = life.trees[0];
  const trees::PlannedTree& second = life.trees[1];
  for (const topology::LinkId link : first.tree.links) {
    if (std::find(second.tree.links.begin(), second.tree.links.end(), link) !=
        second.tree.links.end()) {
      life.shared.push_back(graph().describe(link));
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
      life.shared.push_back(graph()[part.at].name);
    }
  }
}

void Manager::adopt(const group::Group& group) {
  std::vector<trees::PlannedTree> planned;
  for (const records::TreeRecord& tree : group.routes) {
    auto one = trees::planned_tree(graph(), tree.form);
    if (!one) {
      return; // The fabric it was made for is not there any more: repaired when it is looked at.
    }
    planned.push_back(std::move(*one));
  }
  for (const trees::PlannedTree& one : planned) {
    planner_.adopt(one.tree);
    engines_.add(one.parts);
  }
  lives_.apply(group.id, trees::Event::restored, clock_.started());
  trees::Life& life = lives_.at(group.id);
  life.trees = std::move(planned);
  hold_memory(group, life);
  note_shared(life);
}

void Manager::release(trees::Life& life) {
  for (const trees::PlannedTree& one : life.trees) {
    planner_.release(one.tree);
    engines_.remove(one.parts);
  }
  life.trees.clear();
  life.shared.clear();
}

void Manager::replace(trees::PlannedTree& tree, trees::PlannedTree with) {
  engines_.remove(tree.parts);
  tree = std::move(with);
  engines_.add(tree.parts);
}

} // namespace tributary::manager
