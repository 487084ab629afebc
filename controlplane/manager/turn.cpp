// The manager's turn: requests are stored, the actions of rooms are carried out, the resulting
// changes are stored, and then clients and switches are notified.
#include "controlplane/manager/manager.hpp"
#include "controlplane/southbound/protocol/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {

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
  // After the requests since the last turn, which fail on their own, and are taken back then.
  if (store_.notice_away()) {
    registry_.put_something(); // so that the next turn has a write to try
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
  if (!store_.is_failing()) { // later: no client may learn what a crash could lose
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

TimeNs Manager::next_deadline() const {
  if (store_.is_writing()) {
    return never; // the end of the write continues the turn
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
  // No tree is handled while switches are waited for.
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
  const bool routes_in_force = control_.note_in_force(now());
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

// ---- time ----

void Manager::tell_pause() {
  if (const std::uint64_t pause = clock_.take_pause_ns(); pause != 0) {
    events_.tell("manager",
                 fmt::format("the manager did not run for {:.1f} s: it was stopped, or its disk "
                             "or processor was; leases and time limits are longer by that",
                             seconds_of(pause)),
                 {}, Severity::warning);
  }
}

} // namespace tributary::manager
