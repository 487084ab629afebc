#include "controlplane/faults/fault_log.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::faults {

std::string_view name_of(FaultState state) {
  constexpr std::array<std::string_view, 4> names{"open", "installing", "installed", "failed"};
  return names[static_cast<std::size_t>(state)];
}

std::string_view name_of(Cause cause) {
  constexpr std::array<std::string_view, 3> names{"recovery", "request", "fault"};
  return names[static_cast<std::size_t>(cause)];
}

void FaultLog::record(Cause cause, std::string text, std::string time, TimeNs now) {
  if (!open_) {
    faults_.push_front({.number = ++last_number_, .time = std::move(time), .detected = now});
    if (faults_.size() > settings_.history) {
      const std::uint64_t oldest = faults_.back().number;
      std::erase_if(owners_, [&](const auto& owner) { return owner.second == oldest; });
      for (auto& [what, waiting] : again_) {
        waiting.erase(oldest);
      }
      faults_.pop_back();
    }
    open_ = true;
    // What is still in progress also answers this fault, and counts here from now on.
    if (faults_.size() > 1 && faults_[1].state == FaultState::installing) {
      finish_if_over(faults_[1], now);
    }
  }
  answering_ = true;
  Fault& fault = faults_.front();
  fault.latest = now;
  fault.cause = std::max(fault.cause, cause);
  if (fault.events.size() < settings_.events) {
    fault.events.push_back(std::move(text));
  } else {
    ++fault.more_events;
  }
  due_ = std::min(now + settings_.quiet_ns, fault.detected + settings_.longest_ns);
}

TimeNs FaultLog::due() const { return due_; }

Fault* FaultLog::unfinished() {
  return !faults_.empty() && answering_ ? &faults_.front() : nullptr;
}

void FaultLog::computed(TimeNs at) {
  if (Fault* fault = unfinished()) {
    fault->computed = at;
  }
}

void FaultLog::verified(TimeNs at) {
  if (Fault* fault = unfinished()) {
    fault->verified = at;
  }
}

void FaultLog::destinations(std::size_t count) {
  if (Fault* fault = unfinished()) {
    fault->destinations = count;
  }
}

void FaultLog::tree(std::string group) {
  Fault* fault = unfinished();
  if (fault != nullptr && std::ranges::find(fault->trees, group) == fault->trees.end()) {
    fault->trees.push_back(std::move(group));
  }
}

void FaultLog::failed(const std::string& why) {
  if (Fault* fault = unfinished()) {
    fault->failures.push_back(why);
  }
}

void FaultLog::waits_for(std::uint64_t transaction, TimeNs now) {
  Fault* fault = unfinished();
  if (fault == nullptr) {
    return;
  }
  open_ = false;
  fault->state = FaultState::installing;
  fault->sent = fault->sent.value_or(now);
  ++fault->transactions;
  fault->waiting.insert(transaction);
  owners_.emplace(transaction, fault->number);
}

void FaultLog::answered(TimeNs now) {
  if (Fault* fault = unfinished(); fault != nullptr && due_ == never) {
    open_ = false;
    answering_ = false;
    finish_if_over(*fault, now);
  }
}

Fault* FaultLog::find(std::uint64_t number) {
  const auto fault = std::ranges::find(faults_, number, &Fault::number);
  return fault == faults_.end() ? nullptr : &*fault;
}

std::vector<Fault*> FaultLog::take_owners(std::uint64_t transaction) {
  std::vector<Fault*> owners;
  const auto [first, last] = owners_.equal_range(transaction);
  for (auto owner = first; owner != last; ++owner) {
    if (Fault* fault = find(owner->second)) {
      fault->waiting.erase(transaction);
      owners.push_back(fault);
    }
  }
  owners_.erase(first, last);
  return owners;
}

bool FaultLog::ended(std::uint64_t transaction, const std::string& failure, TimeNs now) {
  const std::vector<Fault*> owners = take_owners(transaction);
  for (Fault* fault : owners) {
    if (!failure.empty()) {
      fault->failures.push_back(failure);
    }
    finish_if_over(*fault, now);
  }
  return !owners.empty();
}

void FaultLog::again(std::uint64_t transaction, const std::string& what) {
  for (const Fault* fault : take_owners(transaction)) {
    again_[what].insert(fault->number);
  }
}

std::set<std::uint64_t> FaultLog::take_again(const std::string& what) {
  auto waiting = again_.extract(what);
  return waiting ? std::move(waiting.mapped()) : std::set<std::uint64_t>{};
}

bool FaultLog::is_recomputed_for(std::uint64_t number) const {
  return std::ranges::any_of(again_,
                             [&](const auto& waiting) { return waiting.second.contains(number); });
}

void FaultLog::follows(const std::string& what, std::span<const std::uint64_t> transactions) {
  for (const std::uint64_t number : take_again(what)) {
    Fault* fault = find(number);
    for (const std::uint64_t transaction : transactions) {
      if (fault != nullptr && fault->waiting.insert(transaction).second) {
        ++fault->transactions;
        owners_.emplace(transaction, number);
      }
    }
  }
}

void FaultLog::given_up(const std::string& what, const std::string& why, TimeNs now) {
  for (const std::uint64_t number : take_again(what)) {
    Fault* fault = find(number);
    if (fault == nullptr) {
      continue;
    }
    const bool is_known = std::ranges::find(fault->failures, why) != fault->failures.end();
    if (!why.empty() && !is_known) {
      fault->failures.push_back(why);
    }
    finish_if_over(*fault, now);
  }
}

void FaultLog::finish_if_over(Fault& fault, TimeNs now) {
  const bool is_answered = !answering_ || &fault != &faults_.front();
  if (is_answered && fault.waiting.empty() && !is_recomputed_for(fault.number)) {
    fault.state = fault.failures.empty() ? FaultState::installed : FaultState::failed;
    if (fault.failures.empty()) {
      fault.installed = now;
    }
  }
}

} // namespace tributary::faults
