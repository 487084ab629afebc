#include "controlplane/manager/manager.hpp"

#include "controlplane/store/store_error.hpp"
#include "controlplane/topology/toml_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tributary::manager {
namespace {

constexpr std::uint64_t store_pause_ns = 1'000'000'000;

std::uint32_t transaction_epoch(const store::Snapshot& past) {
  return static_cast<std::uint32_t>(past.epoch);
}

} // namespace

Manager::Manager(const Settings& settings, Surroundings& surroundings, group::RandomSource random,
                 const store::Snapshot& past)
    : settings_(settings), surroundings_(surroundings), started_(surroundings.now()),
      discovery_(settings.discovery), planner_(planning_graph_, settings.planner),
      coordinator_(discovery_.graph(), {.epoch = transaction_epoch(past)}),
      registry_(settings.groups, std::move(random), past, started_) {
  restore(past);
  if (!settings_.open_job.empty() && registry_.find_job(settings_.open_job) == nullptr) {
    static_cast<void>(registry_.create_job(settings_.open_job, std::nullopt));
  }
  surroundings_.request_settle();
}

Manager::~Manager() = default;

void Manager::restore(const store::Snapshot& past) {
  if (past.topology) {
    discovery_.restore(topology::read_toml(past.topology->document, "the stored topology"),
                       started_);
    switches_.resize(graph().switches().size());
  }
  copy_graph();
  std::vector<install::TreeTarget> wanted;
  for (const group::Group* group : registry_.groups()) {
    if (!group->routed() || group->state == group::GroupState::destroying) {
      continue;
    }
    adopt(*group);
    if (routings_.contains(group->id)) {
      for (std::size_t i = 0; i < group->routes.size(); ++i) {
        wanted.push_back(target_of(*group, i));
      }
    }
  }
  coordinator_.restore(wanted);
}

// ---- the turn ----

void Manager::settle() {
  const TimeNs at = now();
  discovery_.poll(at);
  coordinator_.poll(at);
  registry_.poll(at);
  if (store_again_ <= at) {
    store_again_ = never;
  }
  repair();
  compute_postponed(false);
  while (handle_topology() || handle_outcomes() || handle_actions()) {
  }
  time_out_waiters(at);
  store_changes();
  give_answers();
  tell_switches();
}

TimeNs Manager::next_deadline() const {
  TimeNs next = std::min({discovery_.next_deadline(), coordinator_.next_deadline(),
                          registry_.next_deadline(), store_again_});
  for (const auto& [id, at] : compute_at_) {
    next = std::min(next, at);
  }
  for (const auto& [id, at] : repair_at_) {
    next = std::min(next, at);
  }
  for (const auto& [id, waiter] : waiters_) {
    next = std::min(next, waiter.until);
  }
  if (!deferred_.empty()) {
    next = std::min(next, started_ + settings_.patience_ns);
  }
  return next;
}

bool Manager::waits_for_switches() {
  if (elapsed_ns(now(), started_) >= settings_.patience_ns) {
    return false;
  }
  const auto switches = graph().switches();
  for (std::uint32_t s = 0; s < switches.size(); ++s) {
    if (switches[s].up && !discovery_.is_connected(topology::SwitchId{s})) {
      return true;
    }
  }
  return false;
}

bool Manager::handle_actions() {
  std::vector<group::Action> actions = registry_.take_actions();
  if (!deferred_.empty() && !waits_for_switches()) {
    actions.insert(actions.begin(), std::make_move_iterator(deferred_.begin()),
                   std::make_move_iterator(deferred_.end()));
    deferred_.clear();
  }
  const bool wait = !actions.empty() && waits_for_switches();
  bool anything = false;
  for (group::Action& action : actions) {
    const bool computes = std::holds_alternative<group::ComputeRoutes>(action) ||
                          std::holds_alternative<group::Install>(action);
    if (computes && wait) {
      deferred_.push_back(std::move(action));
      continue;
    }
    anything = true;
    if (const auto* routes = std::get_if<group::ComputeRoutes>(&action)) {
      compute(routes->group);
    } else if (const auto* to_install = std::get_if<group::Install>(&action)) {
      install(to_install->group);
    } else if (const auto* to_remove = std::get_if<group::Remove>(&action)) {
      remove(to_remove->group);
    } else if (const auto* changed = std::get_if<group::Changed>(&action)) {
      if (const group::Group* group = registry_.find(changed->group)) {
        event("group",
              fmt::format("group {}/{} {}", group->job, group->name, describe(*group, now())),
              {{"job", group->job},
               {"group", group->name},
               {"state", std::string(store::name_of(group->state))}});
        wake_waiters(*group);
      }
    } else if (const auto* gone = std::get_if<group::Gone>(&action)) {
      release(gone->group.id);
      event("group",
            fmt::format("group {}/{} is gone: {}", gone->group.job, gone->group.name,
                        gone->group.ending.message),
            {{"job", gone->group.job}, {"group", gone->group.name}, {"state", "gone"}});
      wake_waiters(gone->group);
    }
  }
  return anything;
}

bool Manager::handle_outcomes() {
  const std::vector<install::Outcome> outcomes = coordinator_.take_outcomes();
  for (const install::Outcome& outcome : outcomes) {
    finished(outcome);
  }
  return !outcomes.empty();
}

bool Manager::handle_topology() {
  const std::vector<topology::Change> changes = discovery_.take_changes();
  if (changes.empty() && !reachability_changed_) {
    return false;
  }
  reachability_changed_ = false;
  switches_.resize(graph().switches().size());
  for (const topology::Change& change : changes) {
    using Kind = topology::Change::Kind;
    const bool of_cable = change.kind == Kind::cable_added || change.kind == Kind::cable_up ||
                          change.kind == Kind::cable_down;
    const bool of_switch = change.kind == Kind::switch_added || change.kind == Kind::switch_up ||
                           change.kind == Kind::switch_down || change.kind == Kind::switch_changed;
    event(of_cable    ? "link"
          : of_switch ? "switch"
                      : "host",
          change.text, {{"change", std::string(topology::name_of(change.kind))}});
  }
  topology_to_store_ = topology_to_store_ || !changes.empty();
  copy_graph();
  planner_.topology_changed();
  note_located();
  topology_changed_at_ = now();
  repair_all_ = true;
  repair();
  compute_postponed(true);
  return true;
}

void Manager::note_located() {
  std::set<std::uint32_t> found;
  for (const topology::Host& host : graph().hosts()) {
    if (host.up && discovery_.is_connected(host.at.at)) {
      found.insert(host.nid.value);
    }
  }
  for (const std::uint32_t nid : located_) {
    if (!found.contains(nid)) {
      registry_.lost(Nid{nid});
    }
  }
  for (const std::uint32_t nid : found) {
    if (!located_.contains(nid)) {
      registry_.located(Nid{nid}, now());
    }
  }
  located_ = std::move(found);
}

void Manager::store_changes() {
  unstored_.add(registry_.take_changes());
  if (topology_to_store_) {
    topology_to_store_ = false;
    unstored_.add({store::TopologyRecord{topology::write_toml(graph())}});
  }
  if (unstored_.empty() || store_again_ != never) {
    return;
  }
  try {
    surroundings_.store(unstored_.changes());
    unstored_.clear();
    if (!store_trouble_.empty()) {
      store_trouble_.clear();
      event("manager", "the store takes changes again");
    }
  } catch (const store::StoreError& error) {
    if (store_trouble_.empty()) {
      event("manager", fmt::format("changes cannot be stored: {}", error.what()));
    }
    store_trouble_ = error.what();
    store_again_ = now() + store_pause_ns;
  }
}

void Manager::give_answers() {
  for (Answered& answered : std::exchange(answers_, {})) {
    if (answered.changes && answered.answer.status < 300 && !store_trouble_.empty()) {
      answered.answer = store_refusal();
    }
    answered.reply(std::move(answered.answer));
  }
}

void Manager::tell_switches() {
  for (const install::Addressed& message : coordinator_.take_messages()) {
    surroundings_.send(message.session, message.message);
  }
  for (const install::Closure& closure : coordinator_.take_closures()) {
    surroundings_.close(closure.session, closure.why);
    disconnect(closure.session);
    surroundings_.request_settle();
  }
}

void Manager::event(std::string kind, std::string text, boost::json::object body) {
  body["time"] = surroundings_.wall_time();
  body["text"] = std::move(text);
  events_.add(std::move(kind), std::move(body));
}

// ---- switches ----

std::optional<std::string> Manager::connected(install::SessionNumber session,
                                              const control::SwitchHello& hello) {
  if (hello.name().empty()) {
    return "a switch must have a name";
  }
  discovery_.connected(hello, now());
  const auto at = graph().find_switch(hello.name());
  if (!at) {
    return fmt::format("switch \"{}\" could not be taken into the topology; tributaryctl fabric "
                       "show topology names the problem",
                       hello.name());
  }
  switches_.resize(graph().switches().size());
  SwitchState& state = switches_[at->value];
  if (state.connected) {
    sessions_.erase(state.session);
  }
  state = {};
  state.session = session;
  state.connected = true;
  state.limits = hello.limits();
  state.software = hello.software();
  state.heard = now();
  sessions_[session] = *at;
  coordinator_.connected(*at, session, hello, now());
  for (const TreeNumber number : coordinator_.reserved_trees()) {
    registry_.reserve_tree(number);
  }
  event("switch", fmt::format("switch {} is connected", hello.name()),
        {{"switch", hello.name()}, {"change", "connected"}});
  reachability_changed_ = true;
  surroundings_.request_settle();
  return std::nullopt;
}

void Manager::message(install::SessionNumber session, const control::SwitchMessage& message) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    return;
  }
  const topology::SwitchId at = found->second;
  SwitchState& state = switches_[at.value];
  state.heard = now();
  if (message.has_ports()) {
    discovery_.report(graph()[at].name, message.ports(), now());
  } else if (message.has_statistics()) {
    for (const control::PortStatistics& port : message.statistics().ports()) {
      state.ports[port.port()] = port;
    }
    for (const control::TreeStatistics& tree : message.statistics().trees()) {
      state.trees[tree.tree()] = tree;
    }
    state.descriptors_in_use = message.statistics().descriptors_in_use();
    return;
  } else {
    coordinator_.receive(at, session, message, now());
  }
  surroundings_.request_settle();
}

void Manager::lost(install::SessionNumber session, std::string_view why) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    return;
  }
  const topology::SwitchId at = found->second;
  coordinator_.lost(at, session, why, now());
  event("switch", fmt::format("switch {} has no channel any more: {}", graph()[at].name, why),
        {{"switch", graph()[at].name}, {"change", "disconnected"}});
  disconnect(session);
  surroundings_.request_settle();
}

void Manager::disconnect(install::SessionNumber session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    return;
  }
  const topology::SwitchId at = found->second;
  sessions_.erase(found);
  switches_[at.value].connected = false;
  discovery_.disconnected(graph()[at].name, now());
  reachability_changed_ = true;
}

} // namespace tributary::manager
