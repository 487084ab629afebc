#include "controlplane/transaction/coordinator_impl.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::transaction {

// ---- requests ----

Coordinator::Impl::Impl(const topology::Graph& graph, const std::vector<const Kind*>& kinds,
                        const CoordinatorSettings& settings)
    : graph_(graph), settings_(settings) {
  for (const Kind* kind : kinds) {
    if (!kinds_.emplace(kind->number(), kind).second) {
      throw std::invalid_argument(
          fmt::format("two kinds of subjects have number {}", kind->number().value));
    }
  }
}

void Coordinator::Impl::restore(std::span<const Target> wanted) {
  for (const Target& target : wanted) {
    inventory_.need(target);
    inventory_.want(target.subject, target);
  }
}

TransactionNumber Coordinator::Impl::request(const Subject& subject, std::optional<Target> target,
                                             TimeNs now) {
  const TransactionNumber number{next_wire_number()};
  Running& t = running_[number];
  t.number = number;
  t.subject = subject;
  t.purpose = target ? Purpose::install : Purpose::remove;
  t.target = std::move(target);
  t.since = now;
  queues_[subject].queue.push_back(number);
  subjects_due_.insert(subject);
  pump(now);
  return number;
}

// ---- the switches ----

void Coordinator::Impl::connected(SwitchId at, SessionNumber session, const Hello& hello,
                                  TimeNs now) {
  if (inventory_.at(at).session) {
    lose(at, "it has dialled again", now);
  }
  std::set<Subject> concerned = inventory_.at(at).unreconciled;
  inventory_.hello(at, session, hello);
  one_by_one_.erase(at);
  switches_due_.insert(at);
  // Contents elsewhere may have waited for the contents of this switch.
  const Inventory::Switch& s = inventory_.at(at);
  concerned.insert(s.unreconciled.begin(), s.unreconciled.end());
  for (const auto& [subject, content] : s.wanted) {
    concerned.insert(subject);
  }
  for (const Subject& subject : concerned) {
    note_out_of_sync(subject);
  }
  pump(now);
}

void Coordinator::Impl::lost(SwitchId at, SessionNumber session, std::string_view why, TimeNs now) {
  if (is_current(at, session)) {
    lose(at, why, now);
    pump(now);
  }
}

void Coordinator::Impl::receive(SwitchId at, SessionNumber session, const Answer& answer,
                                TimeNs now) {
  if (!is_current(at, session)) {
    return;
  }
  const auto steps = open_.find(at);
  if (steps == open_.end()) {
    return;
  }
  const auto found = steps->second.find(answer.number);
  if (found == steps->second.end()) {
    return; // too late, or not requested
  }
  Running& t = running_.at(found->second.transaction);
  RunningStep& step = t.steps[found->second.step];
  switch (answer.verb) {
  case Answer::Verb::prepared: prepared(t, step, now); break;
  case Answer::Verb::refused: refused(t, step, answer, now); break;
  case Answer::Verb::committed: committed(t, step, now); break;
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

// ---- state ----

const Target* Coordinator::Impl::wanted(const Subject& subject) const {
  const Inventory::Placement* found = inventory_.find(subject);
  return found != nullptr && found->wanted ? &*found->wanted : nullptr;
}

std::vector<SwitchId> Coordinator::Impl::out_of_sync(const Subject& subject) const {
  const Inventory::Placement* found = inventory_.find(subject);
  return found == nullptr
             ? std::vector<SwitchId>{}
             : std::vector<SwitchId>(found->out_of_sync.begin(), found->out_of_sync.end());
}

bool Coordinator::Impl::is_under_way(const Subject& subject) const {
  return queues_.contains(subject) || std::ranges::any_of(out_of_sync(subject), [&](SwitchId at) {
           return reconciling_.contains(at);
         });
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

// ---- shared ----

std::uint64_t Coordinator::Impl::next_wire_number() {
  return std::uint64_t{settings_.epoch} << 32U | ++counter_;
}

bool Coordinator::Impl::is_current(SwitchId at, SessionNumber session) const {
  const Inventory::Switch* s = inventory_.find(at);
  return s != nullptr && s->session == session;
}

const Kind& Coordinator::Impl::kind_of(const Subject& subject) const {
  return *kinds_.at(subject.kind);
}

std::string Coordinator::Impl::describe(const Subject& subject) const {
  return kind_of(subject).describe(subject);
}

std::string Coordinator::Impl::names_of(const std::vector<SwitchId>& switches) const {
  std::vector<std::string_view> names;
  names.reserve(switches.size());
  for (const SwitchId at : switches) {
    names.push_back(name_of(at));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void Coordinator::Impl::send(SwitchId at, Message::Verb verb, std::uint64_t number,
                             Changes changes) {
  messages.push_back({at,
                      *inventory_.at(at).session,
                      {.verb = verb, .number = number, .changes = std::move(changes)}});
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

void Coordinator::Impl::note_out_of_sync(const Subject& subject) {
  if (const Inventory::Placement* found = inventory_.find(subject)) {
    for (const SwitchId at : found->out_of_sync) {
      to_reconcile_[at].insert(subject);
      switches_due_.insert(at);
    }
  }
}

void Coordinator::Impl::pump(TimeNs now) {
  while (!subjects_due_.empty() || !switches_due_.empty()) {
    // Subjects first, so that permissions they need are not revoked.
    while (!subjects_due_.empty()) {
      advance_queue(subjects_due_.extract(subjects_due_.begin()).value(), now);
    }
    if (!switches_due_.empty()) {
      reconcile(switches_due_.extract(switches_due_.begin()).value(), now);
    }
  }
}

void Coordinator::Impl::advance_queue(const Subject& subject, TimeNs now) {
  const auto queue = queues_.find(subject);
  if (queue == queues_.end() || queue->second.reconciling > 0) {
    return;
  }
  if (queue->second.queue.empty()) {
    queues_.erase(queue);
    return;
  }
  Running& first = running_.at(queue->second.queue.front());
  if (first.state == TransactionState::queued) {
    start(first, now);
  }
}

// ---- public interface ----

Coordinator::Coordinator(const topology::Graph& graph, std::vector<const Kind*> kinds,
                         const CoordinatorSettings& settings)
    : impl_(std::make_unique<Impl>(graph, kinds, settings)) {}
Coordinator::~Coordinator() = default;
Coordinator::Coordinator(Coordinator&&) noexcept = default;
Coordinator& Coordinator::operator=(Coordinator&&) noexcept = default;

void Coordinator::restore(std::span<const Target> wanted) { impl_->restore(wanted); }
void Coordinator::leave_undecided(const Subject& subject) { impl_->leave_undecided(subject); }
TransactionNumber Coordinator::set(Target target, TimeNs now) {
  const Subject subject = target.subject;
  return impl_->request(subject, std::move(target), now);
}
TransactionNumber Coordinator::remove(const Subject& subject, TimeNs now) {
  return impl_->request(subject, std::nullopt, now);
}
void Coordinator::connected(SwitchId at, SessionNumber session, const Hello& hello, TimeNs now) {
  impl_->connected(at, session, hello, now);
}
void Coordinator::lost(SwitchId at, SessionNumber session, std::string_view why, TimeNs now) {
  impl_->lost(at, session, why, now);
}
void Coordinator::receive(SwitchId at, SessionNumber session, const Answer& answer, TimeNs now) {
  impl_->receive(at, session, answer, now);
}
void Coordinator::poll(TimeNs now) { impl_->poll(now); }
TimeNs Coordinator::next_deadline() const { return impl_->next_deadline(); }
std::vector<Addressed> Coordinator::take_messages() { return std::exchange(impl_->messages, {}); }
std::vector<Closure> Coordinator::take_closures() { return std::exchange(impl_->closures, {}); }
std::vector<Outcome> Coordinator::take_outcomes() { return std::exchange(impl_->outcomes, {}); }
std::vector<TransactionView> Coordinator::transactions() const { return impl_->transactions(); }
bool Coordinator::is_connected(SwitchId at) const { return impl_->inventory().is_connected(at); }
const Target* Coordinator::wanted(const Subject& subject) const { return impl_->wanted(subject); }
std::vector<SwitchId> Coordinator::out_of_sync(const Subject& subject) const {
  return impl_->out_of_sync(subject);
}
bool Coordinator::is_under_way(const Subject& subject) const {
  return impl_->is_under_way(subject);
}
std::vector<SwitchId> Coordinator::without_permission(const Subject& subject) const {
  std::set<SwitchId> without;
  if (const Target* target = wanted(subject)) {
    for (const Need& need : target->needs) {
      const Inventory::Switch* s = impl_->inventory().find(need.at.at);
      if (s == nullptr || !s->permissions.permits(permission_of(need))) {
        without.insert(need.at.at);
      }
    }
  }
  return {without.begin(), without.end()};
}

std::vector<Part> Coordinator::held(const Subject& subject) const {
  return impl_->inventory().held(subject);
}
const std::map<Subject, ContentPtr>& Coordinator::wanted_at(SwitchId at) const {
  static const std::map<Subject, ContentPtr> nothing;
  const Inventory::Switch* s = impl_->inventory().find(at);
  return s != nullptr ? s->wanted : nothing;
}

} // namespace tributary::transaction
