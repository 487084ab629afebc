#include "controlplane/tree_controller/tree_control.hpp"

#include "controlplane/trees/planned_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

namespace tributary::tree_controller {

using topology::HostId;

void TreeControl::restore(const group::Group& group, std::vector<transaction::Target>& wanted) {
  // Trees that do not match the fabric any more are repaired when they are checked.
  if (auto trees = rooms_.layout.adopted(group.routes)) {
    rooms_.states.apply(group.id, trees::Event::restored, rooms_.clock.started());
    trees::GroupTrees& group_trees = rooms_.states.at(group.id);
    rooms_.layout.put(group_trees, *std::move(trees));
    rooms_.frames.hold(group, group_trees);
  }
  if (rooms_.states.find(group.id) == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < group.routes.size(); ++i) {
    if (auto target = target_of(group, i)) {
      wanted.push_back(*std::move(target));
    }
  }
}

// ---- due groups ----

std::span<const std::string_view> TreeControl::after() const {
  static constexpr std::string_view names[] = {"topology", "switches", "groups", "computations"};
  return names;
}

void TreeControl::acted(const group::Action& action) {
  if (const auto* const routes = std::get_if<group::ComputeRoutes>(&action)) {
    rooms_.states.apply(routes->group, trees::Event::want, now());
  } else if (const auto* const to_install = std::get_if<group::Install>(&action)) {
    rooms_.states.apply(to_install->group, trees::Event::plan, now());
  } else if (const auto* const to_remove = std::get_if<group::Remove>(&action)) {
    remove(to_remove->group);
  } else if (const auto* const gone = std::get_if<group::Gone>(&action)) {
    forget(gone->group);
  }
}

void TreeControl::fabric_changed() {
  rooms_.planner.fabric_changed();
  fabric_changed_at_ = now();
  to_repair_.begin();
  for (const group::GroupId id : std::set(rooms_.states.in_state(trees::State::wanted))) {
    rooms_.states.apply(id, trees::Event::want, now());
  }
}

void TreeControl::avoidance_changed() {
  rooms_.planner.fabric_changed();
  to_repair_.begin();
}

void TreeControl::begin(const turns::Turn& /*turn*/) {
  std::vector<group::GroupId> free;
  for (const group::GroupId id : rooms_.states.in_state(trees::State::wanted)) {
    const group::Group* group =
        rooms_.states.find(id)->postponed.empty() ? nullptr : rooms_.registry.find(id);
    if (group != nullptr && !rooms_.layout.contested(*group)) {
      free.push_back(id);
    }
  }
  for (const group::GroupId id : free) {
    rooms_.states.apply(id, trees::Event::want, now());
  }
}

bool TreeControl::handle(const turns::Turn& turn) {
  if (rooms_.routes.take_avoidance_changed()) {
    avoidance_changed();
  }
  const bool any = note_in_force();
  return handle_due(turn) || any;
}

bool TreeControl::handle_due(const turns::Turn& turn) {
  const turns::Section section(rooms_.stalls, "planning trees");
  if (turn.waits_for_switches) {
    return false;
  }
  bool any = false;
  for (;;) {
    const bool is_due = rooms_.states.next_due() <= now();
    if (!is_due && !to_repair_.active()) {
      return any;
    }
    if (rooms_.slice.is_over()) {
      rooms_.slice.go_on();
      return false;
    }
    any = true;
    // Alternates: new groups do not wait for a whole round of checks, nor the round for new groups.
    repair_is_next_ = to_repair_.active() && (!is_due || !repair_is_next_);
    if (!repair_is_next_) {
      look_at(rooms_.states.take_due(now()).value());
    } else if (const group::Group* group = to_repair_.next(rooms_.registry)) {
      guarded(group->id, [&, group] { repair(*group); });
    }
  }
}

template <typename Step> void TreeControl::guarded(group::GroupId id, Step&& step) {
  try {
    step();
  } catch (const std::exception& error) {
    planning_failed(id, error.what());
  }
}

void TreeControl::planning_failed(group::GroupId id, std::string_view why) {
  rooms_.layout.recount(rooms_.states);
  const group::Group* const group = rooms_.registry.find(id);
  if (group == nullptr) {
    return;
  }
  const std::string text =
      fmt::format("trees of group {}/{} could not be planned: {}", group->job, group->name, why);
  rooms_.events.report("tree", text, {{"job", group->job}, {"group", group->name}},
                       turns::Severity::error);
  rooms_.routes.trees_given_up(group->full_name(), text, now());
  if (group->routed()) { // it is tried again
    rooms_.states.apply(id, trees::Event::torn, now());
    rooms_.states.set_due(id, now() + settings_.retry_pause_ns);
  }
  rooms_.registry.routes_failed(id, {group::ErrorKind::unavailable, text}, now());
}

void TreeControl::look_at(group::GroupId id) {
  switch (rooms_.states.state(id)) {
  case trees::State::wanted: guarded(id, [&] { compute(id); }); break;
  case trees::State::planned: install(id); break;
  case trees::State::broken:
  case trees::State::retrying:
    if (const group::Group* group = rooms_.registry.find(id)) {
      guarded(id, [&] { repair(*group); });
    }
    break;
  default: break;
  }
}

// ---- planning ----

void TreeControl::compute(group::GroupId id) {
  const group::Group* group = rooms_.registry.find(id);
  if (group == nullptr || group->state != group::GroupState::computing_routes) {
    return;
  }
  rooms_.layout.release(rooms_.states.at(id));
  const std::vector<HostId> hosts = rooms_.layout.hosts_of(*group);
  if (hosts.size() != group->members.size()) {
    rooms_.registry.routes_failed(
        id,
        {group::ErrorKind::unreachable,
         fmt::format("{} hosts of group {}/{} are no longer in the fabric; see tributaryctl fabric "
                     "show hosts",
                     group->members.size() - hosts.size(), group->job, group->name)},
        now());
    return;
  }
  if (const auto why = rooms_.layout.contested(*group)) {
    rooms_.states.at(id).postponed = *why; // until one of the two ports is silent
    rooms_.registry.routes_postponed(id, *why);
    return;
  }
  rooms_.registry.routes_postponed(id, {});
  std::vector<trees::PlannedTree> trees = rooms_.layout.plan(*group, hosts);
  if (trees.empty()) {
    const TimeNs give_up = fabric_changed_at_ + settings_.path_ns;
    if (now() < give_up) {
      rooms_.states.apply(id, trees::Event::no_path, now());
      rooms_.states.set_due(id, give_up);
    } else {
      rooms_.registry.routes_failed(id, rooms_.layout.no_route(*group, hosts), now());
    }
    return;
  }
  const auto give_back = [&] {
    for (const trees::PlannedTree& one : trees) {
      rooms_.planner.known().release(one.tree);
    }
  };
  if (const auto full = rooms_.admission.full_engine_on(trees)) {
    give_back();
    trees = rooms_.layout.plan_around_full_engines(*group, hosts);
    if (rooms_.admission.full_engine_on(trees)) {
      give_back();
      rooms_.registry.routes_failed(id, rooms_.admission.refusal(*group, *full), now());
      return;
    }
  }
  trees::GroupTrees& group_trees = rooms_.states.at(id);
  rooms_.layout.put(group_trees, std::move(trees));
  offer(id, group_trees);
}

void TreeControl::offer(group::GroupId id, trees::GroupTrees& group_trees) {
  group::Routes routes = routes_of(group_trees);
  const group::Group* const group = rooms_.registry.find(id);
  bool short_of_room = false;
  if (group != nullptr && !group->routed()) {
    group::InSwitchChoice choice = rooms_.frames.agreed_in_switch(*group, group_trees.trees);
    routes.in_switch = choice.in_switch;
    routes.in_switch_note = std::move(choice.why);
    group::WideFramesChoice agreed =
        rooms_.frames.agreed_frames(*group, routes.in_switch, group_trees.trees);
    routes.frames = agreed.frames;
    routes.frames.shared = rooms_.frames.agreed_shared(*group, group_trees.trees);
    routes.frames_note = std::move(agreed.why);
    short_of_room = agreed.short_of_room;
  }
  if (!rooms_.registry.routes_ready(id, routes, now())) {
    rooms_.layout.release(group_trees);
    rooms_.states.apply(id, trees::Event::torn, now());
    return;
  }
  rooms_.frames.hold(*group, group_trees);
  if (short_of_room) {
    rooms_.frames.report_lack_of_room(*group);
  }
}

group::Routes TreeControl::routes_of(const trees::GroupTrees& group_trees) const {
  group::Routes routes;
  for (const trees::PlannedTree& one : group_trees.trees) {
    std::uint32_t limit = max_trees;
    for (const multicast::TreePart& part : one.parts) {
      limit = std::min(limit, rooms_.switches[part.at].limits.trees());
    }
    routes.trees.push_back({trees::form_of(graph(), one), limit});
  }
  return routes;
}

} // namespace tributary::tree_controller
