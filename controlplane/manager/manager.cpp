#include "controlplane/manager/manager.hpp"

#include "controlplane/manager/topology_form.hpp"
#include "controlplane/southbound/protocol/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace tributary::manager {
namespace {

std::uint32_t transaction_epoch(const records::Snapshot& past) {
  return static_cast<std::uint32_t>(past.epoch);
}

} // namespace

Manager::Manager(const Settings& settings, Environment& environment, group::RandomSource random,
                 const records::Snapshot& past)
    : settings_(settings), environment_(environment), stalls_(environment), beside_(environment),
      clock_(environment), slice_(environment), discovery_(settings.discovery),
      tree_kind_(discovery_.graph()),
      coordinator_(discovery_.graph(), {&tree_kind_, &route_kind_, &port_kind_},
                   {.epoch = transaction_epoch(past)}),
      registry_(settings.groups, random, past, clock_.started()), events_(environment, past.epoch),
      store_(environment, clock_, stalls_, events_),
      access_(registry_, settings.open_job, settings.open_view), replies_(environment),
      touched_({discovery_.graph(), registry_, lives_, coordinator_, events_}),
      control_(settings.routes, {environment, beside_, discovery_, coordinator_},
               std::uint64_t{transaction_epoch(past)} << 32U, tell()),
      rdma_(settings.rdma, environment, discovery_, control_,
            std::uint64_t{transaction_epoch(past)} << 32U, tell()),
      planner_({stalls_, discovery_, control_}, settings.planner),
      admission_({clock_, graph(), switches_, registry_, coordinator_, lives_, engines_}),
      frames_({graph(), switches_, registry_, coordinator_, lives_, memory_, events_}),
      layout_({discovery_, control_, planner_, engines_, admission_, frames_}),
      trees_({settings.planner.algorithm, settings.timeout_ns, settings.repair_pause_ns},
             {clock_, stalls_, slice_, graph(), switches_, registry_, coordinator_, lives_,
              control_, events_, admission_, frames_, planner_, layout_}),
      rebalance_({environment, clock_, switches_, registry_, lives_, engines_, events_, replies_,
                  admission_, frames_, planner_, layout_, trees_},
                 settings.rebalance_quiet_ns),
      nodes_({clock_, registry_, access_, touched_, events_}),
      leases_(environment, clock_, registry_, events_),
      ports_({environment, clock_, stalls_, graph(), switches_, registry_, port_kind_, coordinator_,
              leases_},
             settings.job_ports, settings.repair_pause_ns,
             [this](Launch launch, const std::optional<api::Answer>& refusal) {
               allocations_.answer(std::move(launch), refusal);
             }),
      allocations_({clock_, graph(), registry_, events_, replies_, nodes_, leases_, ports_,
                    AllocationAnswer({graph(), registry_, rdma_, events_})},
                   std::move(random)),
      topology_(
          {clock_, slice_, discovery_, registry_, store_, events_, touched_, control_, ports_}),
      waiters_(clock_, registry_, sight_, replies_) {
  discovery_.remember([this](Nid nid) { return !registry_.groups_of(nid).empty(); });
  restore(past);
  rdma_.reconfigure(settings.rdma, clock_.started());
  rdma_.restore(past, clock_.started());
  control_.start(clock_.started());
  if (!settings_.open_job.empty() && registry_.find_job(settings_.open_job) == nullptr) {
    static_cast<void>(registry_.create_job(settings_.open_job, std::nullopt));
  }
  if (!settings_.store_failure.empty()) {
    store_.begin_failing(settings_.store_failure);
    registry_.put_something();
  }
  registry_.begin_requests();
  environment_.request_reconcile();
}

Manager::~Manager() = default;

Tell Manager::tell() {
  return {[this](std::string kind, std::string text, const About& about) {
    touched_.tell(std::move(kind), std::move(text), about);
  }};
}

void Manager::restore(const records::Snapshot& past) {
  for (const std::string& record : past.set_aside) {
    events_.tell("manager", fmt::format("a damaged record of the store is set aside: {}", record));
  }
  try {
    discovery_.restore(stored_graph(past), clock_.started());
  } catch (const std::exception& error) {
    events_.tell("manager", fmt::format("the stored topology cannot be used, and is found anew: {}",
                                        error.what()));
    store_.begin_topology_anew({});
  }
  topology::Touched restored = discovery_.take_touched();
  if (past.old_topology) { // brought up to the format of today
    store_.begin_topology_anew(std::move(restored));
  }
  switches_.resize(graph().switches().size());
  std::set<std::string> drained;
  for (const records::DrainRecord& record : past.drains) {
    drained.insert(record.at);
  }
  control_.restore_drained(std::move(drained));
  planner_.bring_up_to_date();
  std::vector<transaction::Target> wanted;
  for (const group::Group* group : registry_.groups()) {
    if (!group->routed() || group->state == group::GroupState::destroying) {
      continue;
    }
    trees_.restore(*group, wanted);
  }
  ports_.restore(wanted);
  coordinator_.restore(wanted);
}

// ---- time ----

void Manager::tell_pause() {
  if (const std::uint64_t pause = clock_.take_pause_ns(); pause != 0) {
    events_.tell("manager",
                 fmt::format("the manager did not run for {:.1f} s: it was stopped, or its disk "
                             "or processor was; leases and time limits are longer by that",
                             static_cast<double>(pause) / 1e9));
  }
}

// ---- the turn ----

void Manager::reconcile() {
  if (store_.is_writing()) {
    turn_wanted_ = true;
    return;
  }
  const Section section(stalls_, "the rest of a turn");
  begin_turn();
}

void Manager::begin_turn() {
  if (!registry_.changes().empty() && !store_.is_failing()) {
    store_.write_requests({registry_.changes().begin(), registry_.changes().end()});
    return;
  }
  keep_requests();
  run_turn();
}

void Manager::stored(const std::string& failure) {
  const Section section(stalls_, "the rest of a turn");
  if (store_.stored(failure) == StoreWriter::Written::waiting) {
    end_turn();
    return;
  }
  if (failure.empty()) {
    static_cast<void>(registry_.take_changes());
    keep_requests();
  } else {
    take_back_requests();
  }
  run_turn();
}

void Manager::worked(std::unique_ptr<Work> piece) { beside_.came_back(std::move(piece)); }

void Manager::run_turn() {
  slice_.begin();
  // Behind what was asked for since the last turn, which finds out by itself, and is taken back
  // then.
  if (store_.notice_away()) {
    registry_.put_something(); // so that there is something to try again with
  }
  const TimeNs at = now();
  tell_pause();
  discovery_.poll(at);
  coordinator_.poll(at);
  registry_.poll(at);
  store_.poll(at);
  static_cast<void>(beside_.finish(stalls_));
  trees_.compute_what_is_not_contested();
  move_trees();
  if (!store_.is_failing()) {
    for (const std::string& job : leases_.end()) {
      ports_.look_at(job);
    }
  }
  while (handle_topology() || handle_outcomes() || handle_actions() ||
         trees_.handle(waits_for_switches()) || ports_.handle(waits_for_switches()) ||
         handle_rdma() || handle_routes()) {
  }
  control_.settle(trees_.is_idle(now()), now());
  store_.add(registry_.take_changes());
  if (!store_.write_waiting(graph())) {
    end_turn();
  }
}

void Manager::end_turn() {
  if (!store_.is_failing()) { // later: nobody hears of what a crash could lose
    waiters_.wake();
  }
  waiters_.time_out(now());
  send_replies();
  tell_switches();
  ++turn_;
  clock_.wait_until(first_deadline());
  registry_.begin_requests();
  for (const auto& request : std::exchange(held_back_, {})) {
    request();
  }
  if (std::exchange(turn_wanted_, false)) {
    environment_.request_reconcile();
  }
}

void Manager::reconfigure(const group::Settings& groups) {
  settings_.groups = groups;
  registry_.reconfigure(groups);
}

void Manager::reconfigure(const RouteSettings& routes) {
  settings_.routes = routes;
  control_.reconfigure(routes, now());
  environment_.request_reconcile();
}

void Manager::reconfigure(job::PortPolicy policy) { ports_.reconfigure(policy); }

void Manager::reconfigure(const RdmaSettings& rdma) {
  settings_.rdma = rdma;
  rdma_.reconfigure(rdma, now());
  environment_.request_reconcile();
}

TimeNs Manager::next_deadline() const {
  if (store_.is_writing()) {
    return never; // the end of the write goes on
  }
  return clock_.call_at(first_deadline());
}

TimeNs Manager::first_deadline() const {
  TimeNs next =
      std::min({discovery_.next_deadline(), coordinator_.next_deadline(), registry_.next_deadline(),
                store_.next_deadline(), rebalance_.next_deadline(), waiters_.next_deadline()});
  next = std::min({next, rdma_.next_deadline(), ports_.next_deadline()});
  if (!store_.is_failing()) {
    next = std::min(next, leases_.next_deadline());
  }
  if (ports_.are_due()) { // switches are waited for
    next = std::min(next, clock_.started() + settings_.timeout_ns);
  }
  // While switches are waited for, nothing is done about trees.
  const TimeNs due = trees_.next_deadline();
  next = std::min(next, control_.next_deadline(waits_for_switches()
                                                   ? clock_.started() + settings_.timeout_ns
                                                   : TimeNs{}));
  return std::min(next, due == never || !waits_for_switches()
                            ? due
                            : std::max(due, clock_.started() + settings_.timeout_ns));
}

bool Manager::waits_for_switches() const {
  return elapsed_ns(time(), clock_.started()) < settings_.timeout_ns && !discovery_.all_connected();
}

void Manager::move_trees() {
  const Section section(stalls_, "moving trees");
  rebalance_.as_asked();
  rebalance_.by_itself(!store_.is_failing() && !waits_for_switches());
}

bool Manager::handle_topology() {
  const Section section(stalls_, "changes of the topology");
  if (topology_.take_notice()) {
    switches_.resize(graph().switches().size());
    rdma_.topology_changed();
    rebalance_.later();
    trees_.fabric_changed();
  }
  return topology_.tell();
}

bool Manager::handle_actions() {
  const Section section(stalls_, "actions of groups");
  const std::vector<group::Action> actions = registry_.take_actions();
  for (const group::Action& action : actions) {
    if (const auto* routes = std::get_if<group::ComputeRoutes>(&action)) {
      rebalance_.later();
      trees_.wanted(routes->group);
    } else if (const auto* to_install = std::get_if<group::Install>(&action)) {
      trees_.planned(to_install->group);
    } else if (const auto* to_remove = std::get_if<group::Remove>(&action)) {
      trees_.remove(to_remove->group);
    } else if (const auto* changed = std::get_if<group::Changed>(&action)) {
      if (const group::Group* group = registry_.find(changed->group)) {
        events_.tell_state(*group, now());
        waiters_.changed(group->id);
      }
    } else if (const auto* gone = std::get_if<group::Gone>(&action)) {
      rebalance_.later();
      trees_.forget(gone->group);
      events_.forget(gone->group.id);
      endings_.add(gone->group);
      events_.tell_jobs("group",
                        fmt::format("group {}/{} is gone: {}", gone->group.job, gone->group.name,
                                    gone->group.end_reason.message),
                        {{"job", gone->group.job}, {"group", gone->group.name}, {"state", "gone"}},
                        "group_destroyed", {gone->group.job});
      waiters_.ended(gone->group);
    }
  }
  return !actions.empty();
}

bool Manager::handle_outcomes() {
  const Section section(stalls_, "ended transactions");
  const std::vector<transaction::Outcome> outcomes = coordinator_.take_outcomes();
  for (const transaction::Outcome& outcome : outcomes) {
    control_.ended(outcome, trees_.group_that_tries_again(outcome), now());
    trees_.ended(outcome);
    ports_.ended(outcome);
  }
  const bool routes_in_force = control_.note_in_force();
  return trees_.note_in_force() || routes_in_force || !outcomes.empty();
}

bool Manager::handle_routes() {
  const Section section(stalls_, "unicast routes");
  const bool any = control_.handle(now(), !waits_for_switches());
  if (!control_.take_avoidance_changed()) {
    return any;
  }
  trees_.avoidance_changed();
  return true;
}

bool Manager::handle_rdma() {
  const Section section(stalls_, "retransmit handling");
  return rdma_.handle(now());
}

std::vector<records::Change> Manager::what_waits() {
  topology_.locate_all();
  store_.add(registry_.take_changes());
  return store_.take_waiting(graph());
}

void Manager::keep_requests() {
  registry_.keep_requests();
  events_.keep_announced();
}

void Manager::take_back_requests() {
  registry_.undo_requests();
  registry_.put_something();
  events_.drop_announced();
  ports_.take_back(turn_, [this](api::Reply reply) {
    replies_.give(std::move(reply), store_.error_answer(), false);
  });
  replies_.take_back(store_.error_answer());
  waiters_.take_back(turn_, store_.error_answer());
}

void Manager::store_is_away(std::string_view why) { store_.is_away(why); }

void Manager::send_replies() {
  const Section section(stalls_, "answers");
  replies_.send();
}

void Manager::tell_switches() {
  const Section section(stalls_, "messages to switches");
  for (const transaction::Addressed& message : coordinator_.take_messages()) {
    environment_.send(message.session, southbound::protocol::message_of(message.message));
  }
  for (const transaction::Closure& closure : coordinator_.take_closures()) {
    environment_.close(closure.session, closure.why);
    disconnect(closure.session);
    environment_.request_reconcile();
  }
}

// ---- switches ----

std::optional<std::string> Manager::connected(transaction::SessionNumber session,
                                              const control::SwitchHello& hello) {
  const Section section(stalls_, "a switch that connects");
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
  SwitchTable::SwitchReport& state = switches_.connected(*at, session);
  state.limits = hello.limits();
  state.software = hello.software();
  state.heard = now();
  coordinator_.connected(*at, session, southbound::protocol::hello_of(hello), now());
  control_.connected(*at, hello, now());
  touched_.counts_anew(*at);
  std::vector<std::pair<TreeNumber, records::WideFrames>> own;
  for (const control::Tree& tree : hello.in_force().trees()) {
    if (tree.from_file() && tree.number() < max_trees) {
      const TreeNumber number{static_cast<std::uint16_t>(tree.number())};
      registry_.reserve_tree(number);
      own.emplace_back(number, southbound::protocol::frames_of(tree));
    }
  }
  memory_.set_own(*at, own);
  events_.tell("switch", fmt::format("switch {} is connected", hello.name()),
               {{"switch", hello.name()}, {"change", "connected"}});
  topology_.reachability_changed(*at);
  environment_.request_reconcile();
  return std::nullopt;
}

void Manager::message(transaction::SessionNumber session, const control::SwitchMessage& message) {
  const Section section(stalls_, "a message of a switch");
  const auto found = switches_.of(session);
  if (!found) {
    return;
  }
  const topology::SwitchId at = *found;
  SwitchTable::SwitchReport& state = switches_[at];
  state.heard = now();
  if (message.has_ports()) {
    discovery_.report(graph()[at].name, message.ports(), now());
    control_.ports(at, message.ports());
  } else if (message.has_statistics()) {
    const std::uint64_t since = elapsed_ns(state.heard, state.counted);
    for (const control::PortStatistics& port : message.statistics().ports()) {
      touched_.reported(at, port);
      if (const auto before = state.ports.find(port.port()); before != state.ports.end()) {
        state.rates[port.port()] = southbound::protocol::rates_between(before->second, port, since);
      }
      state.ports[port.port()] = port;
    }
    state.counted = state.heard;
    for (const control::TreeStatistics& tree : message.statistics().trees()) {
      state.trees[tree.tree()] = tree;
    }
    state.descriptors_in_use = message.statistics().descriptors_in_use();
    return;
  } else if (const auto answer = southbound::protocol::answer_of(message)) {
    coordinator_.receive(at, session, *answer, now());
  }
  environment_.request_reconcile();
}

void Manager::lost(transaction::SessionNumber session, std::string_view why) {
  const Section section(stalls_, "a switch that is lost");
  const auto found = switches_.of(session);
  if (!found) {
    return;
  }
  const topology::SwitchId at = *found;
  coordinator_.lost(at, session, why, now());
  events_.tell("switch",
               fmt::format("switch {} has no channel any more: {}", graph()[at].name, why),
               {{"switch", graph()[at].name}, {"change", "disconnected"}});
  disconnect(session);
  environment_.request_reconcile();
}

void Manager::turning_away(std::string_view why) {
  turning_away_ = why;
  events_.tell("manager", why.empty() ? "switches are taken on again"
                                      : fmt::format("switches are turned away: {}", why));
}

void Manager::disconnect(transaction::SessionNumber session) {
  if (const auto at = switches_.disconnected(session)) {
    discovery_.disconnected(graph()[*at].name, now());
    topology_.reachability_changed(*at);
  }
}

} // namespace tributary::manager
