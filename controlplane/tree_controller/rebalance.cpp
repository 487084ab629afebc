#include "controlplane/tree_controller/rebalance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace tributary::tree_controller {

namespace json = boost::json;
using topology::HostId;

namespace {

/// Automatic moves in one turn, and the pause after it.
constexpr std::size_t moves_at_a_time = 1;
constexpr std::size_t attempts_at_a_time = 32;
constexpr std::uint64_t move_pause_ns = 1'000'000'000;
/// Moves for an administrator's request.
constexpr std::size_t moves_on_request = 16;
constexpr std::size_t attempts_on_request = 64;

std::uint32_t height_of(const std::vector<trees::PlannedTree>& trees) {
  std::uint32_t height = 0;
  for (const trees::PlannedTree& one : trees) {
    height = std::max(height, one.tree.height);
  }
  return height;
}

} // namespace

bool Rebalance::may_move(const group::Group& group) const {
  const bool runs = group.state == records::GroupState::ready ||
                    group.state == records::GroupState::receiving_leave_req;
  if (!runs || !group.error.empty() || rooms_.states.state(group.id) != trees::State::in_force) {
    return false;
  }
  return std::ranges::all_of(
      rooms_.states.find(group.id)->trees, [&](const trees::PlannedTree& one) {
        return !one.parts.empty() && !one.tree.links.empty() && rooms_.layout.intact(group, one);
      });
}

/// Orients planned trees, and puts them into the loads of engines in place of the current ones;
/// nothing when a switch on them has no room for their numbers, or an engine no descriptors.
std::optional<std::vector<trees::PlannedTree>> Rebalance::fitted(const group::Group& group,
                                                                 std::vector<multicast::Tree> trees,
                                                                 std::span<const HostId> hosts) {
  std::vector<trees::PlannedTree> fitted;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    auto one = rooms_.layout.oriented(group, std::move(trees[i]), hosts);
    if (!one ||
        !std::ranges::all_of(one->parts,
                             [&](const multicast::TreePart& part) {
                               return group.routes[i].number.value <
                                      rooms_.switches[part.at].limits.trees();
                             }) ||
        !rooms_.frames.why_not_carried(group, i, one->parts).empty()) {
      return std::nullopt;
    }
    fitted.push_back(std::move(*one));
  }
  const std::vector<trees::PlannedTree>& before = rooms_.states.find(group.id)->trees;
  for (const trees::PlannedTree& old : before) {
    rooms_.engines.remove(old.parts);
  }
  const bool fits = !rooms_.admission.full_engine_on(fitted);
  for (const trees::PlannedTree& one : fits ? fitted : before) {
    rooms_.engines.add(one.parts);
  }
  return fits ? std::optional(std::move(fitted)) : std::nullopt;
}

std::optional<Rebalance::Improvement> Rebalance::improved(const group::Group& group) {
  const trees::GroupTrees& group_trees = *rooms_.states.find(group.id);
  const std::vector<HostId> hosts = rooms_.layout.hosts_of(group);
  const bool twins = group_trees.trees.size() == 2;
  if (twins && group_trees.shared.empty()) {
    return std::nullopt;
  }
  for (const trees::PlannedTree& old : group_trees.trees) {
    rooms_.planner.known().release(old.tree);
  }
  std::vector<multicast::Tree> planned;
  bool better = false;
  if (twins) {
    if (auto found = rooms_.planner.known().plan_twins(hosts)) {
      better = found->shared_links.size() + found->shared_switches.size() <
               rooms_.planner.known().shared(group_trees.trees[0].tree, group_trees.trees[1].tree,
                                             hosts);
      planned = {std::move(found->first), std::move(found->second)};
    }
  } else if (auto found = rooms_.planner.known().plan(hosts)) {
    better = found->height < group_trees.trees[0].tree.height;
    planned = {std::move(*found)};
  }
  if (better) {
    if (auto after = fitted(group, planned, hosts)) {
      return Improvement{group.id, group_trees.trees, *std::move(after),
                         twins ? "its trees share less" : "its tree is lower"};
    }
  }
  for (const multicast::Tree& tree : planned) {
    rooms_.planner.known().release(tree);
  }
  for (const trees::PlannedTree& old : group_trees.trees) {
    rooms_.planner.known().adopt(old.tree);
  }
  return std::nullopt;
}

void Rebalance::relieve_fullest(const std::vector<const group::Group*>& movable, std::size_t most,
                                std::size_t attempts, std::vector<Improvement>& found) {
  std::vector<multicast::PlannedGroup> planned;
  std::vector<const group::Group*> groups;
  for (const group::Group* group : movable) {
    const bool moves_already =
        std::ranges::any_of(found, [&](const Improvement& i) { return i.group == group->id; });
    const trees::GroupTrees& group_trees = *rooms_.states.find(group->id);
    if (!moves_already && group_trees.trees.size() == 1) {
      groups.push_back(group);
      planned.push_back({rooms_.layout.hosts_of(*group), group_trees.trees[0].tree});
    }
  }
  if (rooms_.planner.known().improve(planned, attempts, most) == 0) {
    return;
  }
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const std::vector<trees::PlannedTree>& before = rooms_.states.find(groups[i]->id)->trees;
    if (planned[i].tree == before[0].tree) {
      continue;
    }
    auto after = planned[i].tree.height <= before[0].tree.height
                     ? fitted(*groups[i], {planned[i].tree}, planned[i].members)
                     : std::nullopt;
    if (after) {
      found.push_back(
          {groups[i]->id, before, *std::move(after), "it avoids the most loaded links"});
    } else {
      rooms_.planner.known().release(planned[i].tree);
      rooms_.planner.known().adopt(before[0].tree);
    }
  }
}

std::vector<Rebalance::Improvement> Rebalance::find_improvements(std::size_t most,
                                                                 std::size_t attempts) {
  static_cast<void>(rooms_.planner.current());
  std::vector<const group::Group*> movable;
  for (const group::Group* group : rooms_.registry.groups()) {
    if (may_move(*group)) {
      movable.push_back(group);
    }
  }
  // Rotates, so that groups that cannot be improved do not block the others.
  std::rotate(movable.begin(),
              std::find_if(movable.begin(), movable.end(),
                           [&](const group::Group* g) { return g->id >= from_; }),
              movable.end());
  std::vector<Improvement> found;
  for (std::size_t i = 0; i < movable.size() && i < attempts && found.size() < most; ++i) {
    if (auto one = improved(*movable[i])) {
      found.push_back(std::move(*one));
    }
    ++tried_;
    from_ = group::GroupId{movable[i]->id.value + 1};
  }
  if (found.size() < most) {
    relieve_fullest(movable, most - found.size(), attempts, found);
  }
  has_ended_ = found.empty() && tried_ >= movable.size();
  return found;
}

void Rebalance::take_back(const Improvement& one) {
  for (const trees::PlannedTree& tree : one.after) {
    rooms_.planner.known().release(tree.tree);
    rooms_.engines.remove(tree.parts);
  }
  for (const trees::PlannedTree& tree : one.before) {
    rooms_.planner.known().adopt(tree.tree);
    rooms_.engines.add(tree.parts);
  }
}

void Rebalance::apply(const Improvement& one) {
  const group::Group& group = *rooms_.registry.find(one.group);
  trees::GroupTrees& group_trees = rooms_.states.at(one.group);
  group_trees.trees = one.after;
  rooms_.layout.note_shared(group_trees);
  rooms_.events.report_to_jobs(
      "tree", fmt::format("group {}/{} is moved: {}", group.job, group.name, one.why),
      {{"job", group.job}, {"group", group.name}}, "route_changed", {group.job});
  rooms_.trees.offer(one.group, group_trees);
}

json::object Rebalance::json_of(const Improvement& one) {
  const group::Group& group = *rooms_.registry.find(one.group);
  json::array trees;
  for (const records::TreeRecord& tree : group.routes) {
    trees.emplace_back(tree.number.value);
  }
  json::object body{{"job", group.job},
                    {"group", group.name},
                    {"trees", std::move(trees)},
                    {"why", one.why},
                    {"height_before", height_of(one.before)},
                    {"height_after", height_of(one.after)}};
  if (one.after.size() == 2) {
    const std::vector<HostId> hosts = rooms_.layout.hosts_of(group);
    body["shared_before"] =
        rooms_.planner.known().shared(one.before[0].tree, one.before[1].tree, hosts);
    body["shared_after"] =
        rooms_.planner.known().shared(one.after[0].tree, one.after[1].tree, hosts);
  }
  return body;
}

void Rebalance::ask(api::Reply reply, bool dry_run) {
  asked_.push_back({std::move(reply), dry_run});
  rooms_.environment.request_reconcile();
}

std::span<const std::string_view> Rebalance::after() const {
  static constexpr std::string_view names[] = {"topology", "switches", "groups", "trees"};
  return names;
}

void Rebalance::acted(const group::Action& action) {
  if (std::holds_alternative<group::ComputeRoutes>(action) ||
      std::holds_alternative<group::Gone>(action)) {
    later();
  }
}

void Rebalance::begin(const turns::Turn& turn) {
  as_asked();
  by_itself(!turn.store_is_failing && !turn.waits_for_switches);
}

void Rebalance::as_asked() {
  for (Asked& asked : std::exchange(asked_, {})) {
    try {
      answer(asked);
    } catch (const std::exception& error) {
      broken_off(error.what());
      rooms_.replies.give(
          std::move(asked.reply),
          api::error_answer(503, fmt::format("moving trees failed: {}", error.what())), false);
    }
  }
}

void Rebalance::broken_off(std::string_view why) {
  rooms_.layout.recount(rooms_.states);
  rooms_.events.report("tree", fmt::format("trees are not rebalanced: {}", why));
  later();
}

void Rebalance::answer(Asked& asked) {
  const std::uint32_t max_before = rooms_.planner.current().efi().max;
  const std::vector<Improvement> found = find_improvements(moves_on_request, attempts_on_request);
  json::array moves;
  for (const Improvement& one : found) {
    moves.push_back(json_of(one));
  }
  const std::uint32_t max_after = rooms_.planner.known().efi().max;
  for (const Improvement& one : found) {
    asked.dry_run ? take_back(one) : apply(one);
  }
  rooms_.replies.give(std::move(asked.reply),
                      {200,
                       json::object{{"dry_run", asked.dry_run},
                                    {"moves", std::move(moves)},
                                    {"max_efi_before", max_before},
                                    {"max_efi_after", max_after}},
                       0},
                      false);
}

void Rebalance::by_itself(bool may_move) {
  if (now() < at_) {
    return;
  }
  if (!may_move) {
    later(); // a deadline in the past would be polled without a pause
    return;
  }
  try {
    for (const Improvement& one : find_improvements(moves_at_a_time, attempts_at_a_time)) {
      apply(one);
    }
  } catch (const std::exception& error) {
    return broken_off(error.what());
  }
  at_ = has_ended_ ? never : now() + move_pause_ns;
}

void Rebalance::later() {
  tried_ = 0;
  if (quiet_ns_ != 0) {
    at_ = now() + quiet_ns_;
  }
}

} // namespace tributary::tree_controller
