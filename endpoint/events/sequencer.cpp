#include "endpoint/events/sequencer.hpp"

#include <algorithm>
#include <utility>

namespace tributary::events {

void Sequencer::arrived(Event event) {
  const std::uint64_t sequence = event.sequence;
  if (sequence <= taken_ || held_.contains(sequence)) {
    ++repeated_;
    return;
  }
  if (held_.size() >= most_untaken) {
    refused_ = std::max(refused_, sequence);
    return;
  }
  held_.emplace(sequence, std::move(event));
  if (held_.size() > most_held) {
    give_up_before(held_.begin()->first);
  }
}

std::optional<Event> Sequencer::take() {
  const auto first = held_.begin();
  if (first == held_.end() || first->first != taken_ + 1) {
    return std::nullopt;
  }
  Event event = std::move(first->second);
  held_.erase(first);
  ++taken_;
  return event;
}

std::uint64_t Sequencer::newest() const {
  std::uint64_t newest = taken_;
  for (auto next = held_.begin(); next != held_.end() && next->first == newest + 1; ++next) {
    ++newest;
  }
  return newest;
}

std::optional<Sequencer::Gap> Sequencer::gap() const {
  const std::uint64_t there = newest();
  const auto ahead = held_.upper_bound(there);
  if (ahead != held_.end()) {
    return Gap{there, ahead->first};
  }
  return refused_ > there && held_.size() < most_held ? std::optional(Gap{there, refused_})
                                                      : std::nullopt;
}

void Sequencer::give_up_before(std::uint64_t first) {
  if (first <= taken_ + 1) {
    return;
  }
  // Held events are kept: the substitute for the others takes the place of the last of them.
  std::uint64_t last_missing = first - 1;
  while (last_missing > taken_ && held_.contains(last_missing)) {
    --last_missing;
  }
  if (last_missing == taken_) {
    return;
  }
  const auto behind = held_.upper_bound(last_missing);
  Event lost =
      events_lost(taken_ + 1, last_missing, behind == held_.end() ? 0 : behind->second.epoch);
  held_.erase(held_.begin(), behind);
  held_.emplace(last_missing, std::move(lost));
  taken_ = last_missing - 1;
}

} // namespace tributary::events
