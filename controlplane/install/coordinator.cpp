#include "controlplane/install/coordinator_impl.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tributary::install {

// ---- requests ----

void Coordinator::Impl::restore(std::span<const TreeTarget> wanted) {
  for (const TreeTarget& target : wanted) {
    inventory_.need(target);
    inventory_.want(target.number, target);
  }
}

TransactionNumber Coordinator::Impl::request(TreeNumber tree, std::optional<TreeTarget> target,
                                             TimeNs now) {
  const TransactionNumber number{next_wire_number()};
  Running& t = running_[number];
  t.number = number;
  t.tree = tree;
  t.purpose = target ? Purpose::install : Purpose::remove;
  t.target = std::move(target);
  t.since = now;
  tree_queues_[tree].queue.push_back(number);
  trees_due_.insert(tree);
  pump(now);
  return number;
}

// ---- the switches ----

void Coordinator::Impl::connected(SwitchId at, SessionNumber session,
                                  const control::SwitchHello& hello, TimeNs now) {
  if (inventory_.at(at).session) {
    lose(at, "it has dialled again", now);
  }
  std::set<TreeNumber> concerned = inventory_.at(at).unreconciled;
  inventory_.hello(at, session, hello);
  one_by_one_.erase(at);
  switches_due_.insert(at);
  // Entries elsewhere may have waited for what this switch holds.
  const Inventory::Switch& s = inventory_.at(at);
  concerned.insert(s.unreconciled.begin(), s.unreconciled.end());
  for (const auto& [tree, entry] : s.wanted) {
    concerned.insert(tree);
  }
  for (const TreeNumber tree : concerned) {
    note_behind(tree);
  }
  pump(now);
}

void Coordinator::Impl::lost(SwitchId at, SessionNumber session, std::string_view why, TimeNs now) {
  if (is_current(at, session)) {
    lose(at, why, now);
    pump(now);
  }
}

void Coordinator::Impl::receive(SwitchId at, SessionNumber session,
                                const control::SwitchMessage& message, TimeNs now) {
  if (!is_current(at, session)) {
    return;
  }
  switch (message.kind_case()) {
  case control::SwitchMessage::kPrepared:
    prepared(at, message.prepared().transaction(), now);
    break;
  case control::SwitchMessage::kRefused:
    refused(at, message.refused().transaction(), message.refused().reason(), now);
    break;
  case control::SwitchMessage::kCommitted:
    committed(at, message.committed().transaction(), now);
    break;
  default: return;
  }
  pump(now);
}

// ---- time ----

void Coordinator::Impl::poll(TimeNs now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    out_of_time(running_.at(deadlines_.begin()->second), now);
  }
  pump(now);
}

TimeNs Coordinator::Impl::next_deadline() const {
  return deadlines_.empty() ? never : deadlines_.begin()->first;
}

// ---- how it stands ----

const TreeTarget* Coordinator::Impl::wanted(TreeNumber tree) const {
  const Inventory::Tree* found = inventory_.find(tree);
  return found != nullptr && found->wanted ? &*found->wanted : nullptr;
}

std::vector<SwitchId> Coordinator::Impl::behind(TreeNumber tree) const {
  const Inventory::Tree* found = inventory_.find(tree);
  return found == nullptr ? std::vector<SwitchId>{}
                          : std::vector<SwitchId>(found->behind.begin(), found->behind.end());
}

bool Coordinator::Impl::is_connected(SwitchId at) const {
  const Inventory::Switch* s = inventory_.find(at);
  return s != nullptr && s->session.has_value();
}

std::set<TreeNumber> Coordinator::Impl::reserved_trees() const {
  std::set<TreeNumber> reserved;
  for (const Inventory::Switch& s : inventory_.switches()) {
    reserved.insert(s.from_file.begin(), s.from_file.end());
  }
  return reserved;
}

std::vector<TransactionView> Coordinator::Impl::transactions() const {
  std::vector<TransactionView> views;
  views.reserve(running_.size() + history_.size());
  for (const auto& [number, t] : running_) {
    views.push_back(view_of(t));
  }
  views.insert(views.end(), history_.begin(), history_.end());
  return views;
}

// ---- what all share ----

std::uint64_t Coordinator::Impl::next_wire_number() {
  return std::uint64_t{settings_.epoch} << 32U | ++counter_;
}

bool Coordinator::Impl::is_current(SwitchId at, SessionNumber session) const {
  const Inventory::Switch* s = inventory_.find(at);
  return s != nullptr && s->session == session;
}

std::string Coordinator::Impl::names_of(const std::vector<SwitchId>& switches) const {
  std::vector<std::string_view> names;
  names.reserve(switches.size());
  for (const SwitchId at : switches) {
    names.push_back(name_of(at));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void Coordinator::Impl::send(SwitchId at, control::ManagerMessage message) {
  messages.push_back({at, *inventory_.at(at).session, std::move(message)});
}

void Coordinator::Impl::set_deadline(Running& t, TimeNs deadline) {
  clear_deadline(t);
  t.deadline = deadline;
  deadlines_.emplace(deadline, t.number);
}

void Coordinator::Impl::clear_deadline(Running& t) {
  deadlines_.erase({t.deadline, t.number});
  t.deadline = never;
}

void Coordinator::Impl::note_behind(TreeNumber tree) {
  if (const Inventory::Tree* found = inventory_.find(tree)) {
    for (const SwitchId at : found->behind) {
      to_reconcile_[at].insert(tree);
      switches_due_.insert(at);
    }
  }
}

void Coordinator::Impl::pump(TimeNs now) {
  while (!trees_due_.empty() || !switches_due_.empty()) {
    // Trees first: what they need is not revoked then.
    while (!trees_due_.empty()) {
      advance_lane(trees_due_.extract(trees_due_.begin()).value(), now);
    }
    if (!switches_due_.empty()) {
      reconcile(switches_due_.extract(switches_due_.begin()).value(), now);
    }
  }
}

void Coordinator::Impl::advance_lane(TreeNumber tree, TimeNs now) {
  const auto queue = tree_queues_.find(tree);
  if (queue == tree_queues_.end() || queue->second.reconciling > 0) {
    return;
  }
  if (queue->second.queue.empty()) {
    tree_queues_.erase(queue);
    return;
  }
  Running& first = running_.at(queue->second.queue.front());
  if (first.state == TransactionState::queued) {
    start(first, now);
  }
}

// ---- the public face ----

Coordinator::Coordinator(const topology::Graph& graph, const CoordinatorSettings& settings)
    : impl_(std::make_unique<Impl>(graph, settings)) {}
Coordinator::~Coordinator() = default;
Coordinator::Coordinator(Coordinator&&) noexcept = default;
Coordinator& Coordinator::operator=(Coordinator&&) noexcept = default;

void Coordinator::restore(std::span<const TreeTarget> wanted) { impl_->restore(wanted); }
TransactionNumber Coordinator::set_tree(TreeTarget target, TimeNs now) {
  const TreeNumber tree = target.number;
  return impl_->request(tree, std::move(target), now);
}
TransactionNumber Coordinator::remove_tree(TreeNumber tree, TimeNs now) {
  return impl_->request(tree, std::nullopt, now);
}
void Coordinator::connected(SwitchId at, SessionNumber session, const control::SwitchHello& hello,
                            TimeNs now) {
  impl_->connected(at, session, hello, now);
}
void Coordinator::lost(SwitchId at, SessionNumber session, std::string_view why, TimeNs now) {
  impl_->lost(at, session, why, now);
}
void Coordinator::receive(SwitchId at, SessionNumber session, const control::SwitchMessage& message,
                          TimeNs now) {
  impl_->receive(at, session, message, now);
}
void Coordinator::poll(TimeNs now) { impl_->poll(now); }
TimeNs Coordinator::next_deadline() const { return impl_->next_deadline(); }
std::vector<Addressed> Coordinator::take_messages() { return std::exchange(impl_->messages, {}); }
std::vector<Closure> Coordinator::take_closures() { return std::exchange(impl_->closures, {}); }
std::vector<Outcome> Coordinator::take_outcomes() { return std::exchange(impl_->outcomes, {}); }
std::vector<TransactionView> Coordinator::transactions() const { return impl_->transactions(); }
bool Coordinator::is_connected(SwitchId at) const { return impl_->is_connected(at); }
const TreeTarget* Coordinator::wanted(TreeNumber tree) const { return impl_->wanted(tree); }
std::vector<SwitchId> Coordinator::behind(TreeNumber tree) const { return impl_->behind(tree); }
std::vector<TreeNumber> Coordinator::wanted_at(SwitchId at) const {
  std::vector<TreeNumber> numbers;
  if (const Inventory::Switch* s = impl_->find(at)) {
    numbers.reserve(s->wanted.size());
    for (const auto& [number, entry] : s->wanted) {
      numbers.push_back(number);
    }
  }
  return numbers;
}
std::size_t Coordinator::wanted_count_at(SwitchId at) const {
  const Inventory::Switch* s = impl_->find(at);
  return s != nullptr ? s->wanted.size() : 0;
}
std::set<TreeNumber> Coordinator::reserved_trees() const { return impl_->reserved_trees(); }

} // namespace tributary::install
