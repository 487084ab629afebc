#include "controlplane/faults/fault_log.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::faults {

std::string_view name_of(FaultState state) {
  constexpr std::array<std::string_view, 4> names{"open", "installing", "installed", "failed"};
  return names[static_cast<std::size_t>(state)];
}

void FaultLog::happened(std::string text, std::string time, TimeNs now) {
  if (!open_) {
    faults_.push_front({.number = ++last_number_, .time = std::move(time), .detected = now});
    if (faults_.size() > settings_.history) {
      const std::uint64_t oldest = faults_.back().number;
      std::erase_if(owners_, [&](const auto& owner) { return owner.second == oldest; });
      again_.erase(oldest);
      faults_.pop_back();
    }
    open_ = true;
  }
  answering_ = true;
  Fault& fault = faults_.front();
  fault.latest = now;
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

void FaultLog::failed(const std::string& why, TimeNs now) {
  if (Fault* fault = unfinished()) {
    fault->failures.push_back(why);
    again_.erase(fault->number);
  }
  for (const std::uint64_t number : std::exchange(again_, {})) {
    if (Fault* fault = find(number)) {
      fault->failures.push_back(why);
      finish_if_over(*fault, now);
    }
  }
}

void FaultLog::waits_for(std::uint64_t transaction, TimeNs now) {
  Fault* fault = unfinished();
  if (fault == nullptr) {
    return;
  }
  open_ = false;
  fault->state = FaultState::installing;
  fault->told = fault->told.value_or(now);
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

void FaultLog::again(std::uint64_t transaction) {
  for (const Fault* fault : take_owners(transaction)) {
    again_.insert(fault->number);
  }
}

void FaultLog::follows(std::uint64_t transaction) {
  for (const std::uint64_t number : std::exchange(again_, {})) {
    Fault* fault = find(number);
    if (fault != nullptr && fault->waiting.insert(transaction).second) {
      ++fault->transactions;
      owners_.emplace(transaction, number);
    }
  }
}

void FaultLog::finish_if_over(Fault& fault, TimeNs now) {
  const bool is_answered = !answering_ || &fault != &faults_.front();
  if (is_answered && fault.waiting.empty() && !again_.contains(fault.number)) {
    fault.state = fault.failures.empty() ? FaultState::installed : FaultState::failed;
    if (fault.failures.empty()) {
      fault.installed = now;
    }
  }
}

} // namespace tributary::faults
