// The way of a transaction on one tree: checked, prepared everywhere, decided, committed stage by
// stage, ended.
#include "controlplane/install/coordinator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tributary::install {

void Coordinator::Impl::start(Running& t, TimeNs now) {
  const TreeNumber tree = *t.tree;
  if (t.target) {
    t.purpose = wanted(tree) == nullptr ? Purpose::install : Purpose::change;
    if (const auto objection = object_to(*t.target, inventory_, graph_)) {
      refuse(t, *objection);
      return;
    }
  }
  const auto order = order_moves(held_parts(t), wanted_parts(t));
  if (!order) {
    refuse(t, {std::nullopt, "its parts form a loop"});
    return;
  }
  make_steps(t, *order);
  if (t.target) {
    inventory_.need(*t.target);
  }
  t.decision_needs_parting = !t.target;
  t.state = TransactionState::preparing;
  for (std::size_t i = 0; i < t.steps.size(); ++i) {
    const RunningStep& step = t.steps[i];
    open_[step.at].emplace(step.number, StepKey{t.number, i});
    send(step.at, prepare_message(step.number, step.changes));
    t.unanswered += keeps_waiting(t, step);
  }
  set_deadline(t, now + static_cast<std::uint64_t>(settings_.prepare_limit.count()));
  decide_when_ready(t, now);
}

std::vector<HeldPart> Coordinator::Impl::held_parts(const Running& t) const {
  const TreeNumber tree = *t.tree;
  std::vector<HeldPart> held;
  const Inventory::Tree* found = inventory_.find(tree);
  if (found == nullptr) {
    return held;
  }
  std::map<SwitchId, std::uint32_t> depths;
  if (found->wanted) {
    for (const multicast::TreePart& part : found->wanted->parts) {
      depths.emplace(part.at, part.depth);
    }
  }
  for (const SwitchId at : found->holders) {
    const auto depth = depths.find(at);
    held.push_back({.at = at,
                    .up = inventory_.pointers(at, tree),
                    .depth = depth == depths.end() ? 0 : depth->second,
                    .reachable = is_connected(at)});
  }
  if (t.target) {
    add_unheard(*t.target, held);
  }
  return held;
}

void Coordinator::Impl::add_unheard(const TreeTarget& target, std::vector<HeldPart>& held) const {
  std::vector<SwitchId> anywhere;
  for (const multicast::TreePart& part : target.parts) {
    anywhere.push_back(part.at);
  }
  std::set<SwitchId> unheard;
  for (const HeldPart& part : held) {
    for (const SwitchId up : part.up) {
      const Inventory::Switch* s = inventory_.find(up);
      if (s == nullptr || !s->heard) {
        unheard.insert(up);
      }
    }
  }
  for (const SwitchId at : unheard) {
    held.push_back({.at = at, .up = anywhere, .reachable = false});
  }
}

std::vector<WantedPart> Coordinator::Impl::wanted_parts(const Running& t) const {
  std::vector<WantedPart> wanted;
  if (t.target) {
    for (const multicast::TreePart& part : t.target->parts) {
      wanted.push_back({.at = part.at,
                        .up = inventory_.neighbour(part.at, part.parent),
                        .depth = part.depth,
                        .changes = !inventory_.holds(part, *t.tree)});
    }
  }
  return wanted;
}

void Coordinator::Impl::make_steps(Running& t, const Order& order) {
  std::map<SwitchId, Entry> entries;
  std::map<SwitchId, std::set<GuardedPermission>> missing;
  if (t.target) {
    for (const multicast::TreePart& part : t.target->parts) {
      entries.emplace(part.at, entry_of(part));
    }
    for (const Edge& edge : t.target->edges) {
      const GuardedPermission wanted{permission_at(edge.at, t.target->vni), edge.nid};
      if (!Inventory::permits(inventory_.at(edge.at.at), wanted)) {
        missing[edge.at.at].insert(wanted);
      }
    }
  }

  const std::uint64_t second_number = order.remove_first ? next_wire_number() : 0;
  for (const Move& move : order.moves) {
    const bool second = order.remove_first && !move.removes;
    RunningStep step{.at = move.at,
                     .number = second ? second_number : t.number.value,
                     .stage = move.stage,
                     .parting = move.removes && !entries.contains(move.at),
                     .changes = {}};
    if (move.removes) {
      step.changes.trees.emplace_back(*t.tree, std::nullopt);
    } else {
      step.changes.trees.emplace_back(*t.tree, entries.at(move.at));
      if (const auto permissions = missing.extract(move.at)) {
        step.changes.permit.assign(permissions.mapped().begin(), permissions.mapped().end());
      }
    }
    t.steps.push_back(std::move(step));
  }

  // Where nothing but permissions is missing: with the first stage.
  std::vector<RunningStep> permitting;
  for (const auto& [at, permissions] : missing) {
    RunningStep step{.at = at, .number = t.number.value, .changes = {}};
    step.changes.permit.assign(permissions.begin(), permissions.end());
    permitting.push_back(std::move(step));
  }
  t.steps.insert(t.steps.begin(), std::make_move_iterator(permitting.begin()),
                 std::make_move_iterator(permitting.end()));
}

void Coordinator::Impl::decide_when_ready(Running& t, TimeNs now) {
  if (t.unanswered > 0) {
    return;
  }
  if (const TreeTarget* old = wanted(*t.tree)) {
    t.released = *old;
  }
  inventory_.want(*t.tree, std::exchange(t.target, std::nullopt));
  t.state = TransactionState::committing;
  begin_stage(t, 0, now);
}

void Coordinator::Impl::begin_stage(Running& t, unsigned stage, TimeNs now) {
  const unsigned stages = t.steps.empty() ? 0 : t.steps.back().stage + 1;
  for (; stage < stages; ++stage) {
    t.stage = stage;
    t.unanswered = 0;
    for (RunningStep& step : t.steps) {
      if (step.stage == stage && step.state == StepState::prepared) {
        commit(t, step);
      }
      t.unanswered += keeps_waiting(t, step);
    }
    if (t.unanswered > 0) {
      set_deadline(t, now + static_cast<std::uint64_t>(settings_.commit_limit.count()));
      return;
    }
  }
  finish(t, Result::committed, {}, {});
}

void Coordinator::Impl::commit(Running& t, RunningStep& step) {
  if (!is_connected(step.at)) {
    step.state = StepState::behind;
    t.some_behind = true;
    return;
  }
  const auto closes_loop = [&](const auto& change) {
    return change.second && inventory_.may_close_loop(step.at, change.first, *change.second);
  };
  // The order of the stages keeps loops away as long as every switch is told.
  if (t.some_behind &&
      std::any_of(step.changes.trees.begin(), step.changes.trees.end(), closes_loop)) {
    send(step.at, abort_message(step.number));
    open_[step.at].erase(step.number);
    step.state = StepState::behind;
    return;
  }
  send(step.at, commit_message(step.number));
  inventory_.telling(step.at, step.changes);
  step.state = StepState::committing;
}

void Coordinator::Impl::step_answered(Running& t, TimeNs now) {
  if (--t.unanswered > 0) {
    return;
  }
  if (t.state == TransactionState::preparing) {
    decide_when_ready(t, now);
  } else {
    begin_stage(t, t.stage + 1, now);
  }
}

void Coordinator::Impl::refuse(Running& t, const Objection& objection) {
  if (!objection.at) {
    finish(t, Result::refused, {}, objection.why);
    return;
  }
  const bool named = objection.at->value < graph_.switches().size();
  finish(t, Result::refused, {*objection.at},
         named ? fmt::format("{}: {}", name_of(*objection.at), objection.why) : objection.why);
}

void Coordinator::Impl::abort(Running& t, Result result, std::vector<SwitchId> blamed,
                              std::string_view why) {
  for (RunningStep& step : t.steps) {
    if (step.state == StepState::preparing || step.state == StepState::prepared) {
      if (is_connected(step.at)) {
        send(step.at, abort_message(step.number));
        open_[step.at].erase(step.number);
      }
      step.state = StepState::aborted;
    }
  }
  t.released = std::exchange(t.target, std::nullopt);
  finish(t, result, std::move(blamed), why);
}

std::string Coordinator::Impl::outcome_text(const Running& t, const Outcome& outcome,
                                            std::string_view why) const {
  const bool done = outcome.result == Result::committed;
  std::string text;
  if (t.purpose == Purpose::reconcile) {
    const RunningStep& step = t.steps.front();
    const std::size_t changes = step.changes.size();
    text = fmt::format("{} {} {} change{} towards what is wanted", name_of(step.at),
                       done ? "has got" : "has not got", changes, changes == 1 ? "" : "s");
  } else {
    const char* what = t.purpose == Purpose::install  ? "installed"
                       : t.purpose == Purpose::change ? "changed"
                                                      : "removed";
    text = fmt::format("tree {} is {}{}", t.tree->value, done ? "" : "not ", what);
  }
  if (!why.empty()) {
    text += fmt::format(": {}", why);
  }
  if (done && !outcome.behind.empty()) {
    text += fmt::format("; still behind: {}", names_of(outcome.behind));
  }
  return text;
}

void Coordinator::Impl::finish(Running& t, Result result, std::vector<SwitchId> blamed,
                               std::string_view why) {
  clear_deadline(t);
  t.state = result == Result::committed ? TransactionState::committed
            : result == Result::refused ? TransactionState::refused
                                        : TransactionState::timed_out;
  Outcome outcome{.transaction = t.number,
                  .purpose = t.purpose,
                  .tree = t.tree,
                  .result = result,
                  .blamed = std::move(blamed),
                  .behind = t.tree ? behind(*t.tree) : std::vector<SwitchId>{},
                  .text = {}};
  outcome.text = outcome_text(t, outcome, why);
  remember(t, outcome.text);
  outcomes.push_back(std::move(outcome));

  if (t.purpose == Purpose::reconcile) {
    reconciliation_ended(t);
  } else {
    if (t.released) {
      inventory_.release(*t.released);
      for (const Edge& edge : t.released->edges) {
        switches_due_.insert(edge.at.at);
      }
    }
    for (const RunningStep& step : t.steps) {
      if (step.state == StepState::behind) {
        for (const GuardedPermission& given : step.changes.permit) {
          inventory_.at(step.at).unreconciled_permissions.insert(given.permission);
        }
        switches_due_.insert(step.at);
      }
    }
    tree_queues_.at(*t.tree).queue.pop_front();
    trees_due_.insert(*t.tree);
    note_behind(*t.tree);
  }
  running_.erase(t.number);
}

void Coordinator::Impl::remember(const Running& t, const std::string& text) {
  if (settings_.history == 0) {
    return;
  }
  if (history_.size() >= settings_.history) {
    history_.pop_back();
  }
  history_.push_front(view_of(t));
  history_.front().text = text;
}

} // namespace tributary::install
