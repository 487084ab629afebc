// What differs at one switch is sent as a transaction of its own: Prepare and Commit in one go,
// since there is nobody to agree with, and the channel keeps their order. So nothing that is asked
// for later can come between the two; and a permission that is revoked here is asked for anew by
// whoever needs it from now on.
#include "controlplane/install/coordinator_impl.hpp"

#include <fmt/format.h>

namespace tributary::install {
namespace {

void add_permissions(Inventory::Switch& s, Changes& changes) {
  for (const Permission& permission : std::exchange(s.unreconciled_permissions, {})) {
    const auto need = s.needed.find(permission);
    if (need == s.needed.end()) {
      if (s.permitted.contains(permission)) {
        changes.revoke.push_back(permission);
      }
    } else if (const GuardedPermission wanted{permission, need->second.nid};
               !Inventory::permits(s, wanted)) {
      changes.permit.push_back(wanted);
    }
  }
}

} // namespace

void Coordinator::Impl::reconcile(SwitchId at, TimeNs now) {
  Inventory::Switch& s = inventory_.at(at);
  if (!s.session || reconciling_.contains(at)) {
    return;
  }
  const bool one_by_one = one_by_one_.contains(at);
  Changes changes;
  std::set<TreeNumber>& trees = to_reconcile_[at];
  while (!trees.empty() && !(one_by_one && changes.size() > 0)) {
    add_difference(at, trees.extract(trees.begin()).value(), changes);
  }
  if (!one_by_one || changes.size() == 0) {
    add_permissions(s, changes);
  }
  if (changes.size() == 0) {
    one_by_one_.erase(at);
    return;
  }

  const TransactionNumber number{next_wire_number()};
  Running& t = running_[number];
  t.number = number;
  t.purpose = Purpose::reconcile;
  t.state = TransactionState::committing;
  t.since = now;
  if (changes.size() == 1 && !changes.trees.empty()) {
    t.tree = changes.trees.front().first;
  }
  for (const auto& [tree, entry] : changes.trees) {
    ++tree_queues_[tree].reconciling;
  }
  reconciling_.insert(at);
  open_[at].emplace(number.value, StepKey{number, 0});
  send(at, prepare_message(number.value, changes));
  send(at, commit_message(number.value));
  inventory_.telling(at, changes);
  t.steps.push_back({.at = at,
                     .number = number.value,
                     .state = StepState::committing,
                     .changes = std::move(changes)});
  t.unanswered = 1;
  set_deadline(t, now + static_cast<std::uint64_t>(settings_.commit_limit.count()));
}

void Coordinator::Impl::add_difference(SwitchId at, TreeNumber tree, Changes& changes) {
  const Inventory::Switch& s = inventory_.at(at);
  const auto queue = tree_queues_.find(tree);
  if (!s.unreconciled.contains(tree) || s.stuck.contains(tree) ||
      (queue != tree_queues_.end() && !queue->second.queue.empty())) {
    return; // the end of the transaction that is under way brings us back here
  }
  const auto wanted = s.wanted.find(tree);
  if (wanted == s.wanted.end()) {
    changes.trees.emplace_back(tree, std::nullopt);
  } else if (s.from_file.contains(tree)) {
    refuse_file_tree(at, tree);
  } else if (!inventory_.may_close_loop(at, tree, wanted->second)) {
    changes.trees.emplace_back(tree, wanted->second);
  }
}

void Coordinator::Impl::refuse_file_tree(SwitchId at, TreeNumber tree) {
  inventory_.at(at).stuck.insert(tree);
  outcomes.push_back({.transaction = TransactionNumber{next_wire_number()},
                      .purpose = Purpose::reconcile,
                      .tree = tree,
                      .result = Result::refused,
                      .blamed = {at},
                      .behind = behind(tree),
                      .text = fmt::format("{} does not get tree {}: its own file has one of this "
                                          "number; the group needs another",
                                          name_of(at), tree.value)});
}

void Coordinator::Impl::reconciliation_refused(Running& t, const std::string& reason) {
  RunningStep& step = t.steps.front();
  step.state = StepState::aborted;
  inventory_.not_applied(step.at, step.changes);
  Inventory::Switch& s = inventory_.at(step.at);
  if (step.changes.trees.empty()) {
    // Only permissions: the next hello brings them up again.
  } else if (step.changes.size() > 1) {
    one_by_one_.insert(step.at); // so that one that cannot be does not keep the others away
    for (const GuardedPermission& given : step.changes.permit) {
      s.unreconciled_permissions.insert(given.permission);
    }
    s.unreconciled_permissions.insert(step.changes.revoke.begin(), step.changes.revoke.end());
  } else {
    s.stuck.insert(step.changes.trees.front().first);
  }
  finish(t, Result::refused, {step.at}, fmt::format("{}: {}", name_of(step.at), reason));
}

void Coordinator::Impl::reconciliation_ended(const Running& t) {
  const RunningStep& step = t.steps.front();
  reconciling_.erase(step.at);
  switches_due_.insert(step.at);
  for (const auto& [tree, entry] : step.changes.trees) {
    --tree_queues_.at(tree).reconciling;
    trees_due_.insert(tree);
    note_behind(tree);
  }
}

} // namespace tributary::install
