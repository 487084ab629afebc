#include "endpoint/messages/matching.hpp"

namespace tributary::messages {

Matching::Matching(std::size_t receives, std::size_t messages)
    : receives_(std::make_unique_for_overwrite<Receive[]>(receives)),
      messages_(std::make_unique_for_overwrite<Envelope[]>(messages)), receive_links_(receives),
      bucket_links_(messages), all_links_(messages) {}

void Matching::post(std::uint32_t receive, const Pattern& pattern) {
  receives_[receive] = {pattern, ++orders_};
  receive_links_.append(list_of(pattern), receive);
  ++posted_;
}

void Matching::withdraw(std::uint32_t receive) {
  receive_links_.remove(list_of(receives_[receive].pattern), receive);
  --posted_;
}

std::uint32_t Matching::first_in(const Lists::List& list, const Envelope& envelope) const {
  std::uint32_t i = list.first;
  while (i != none && !receives_[i].pattern.matches(envelope)) {
    i = receive_links_.next(i);
  }
  return i;
}

std::uint32_t Matching::take_receive(const Envelope& envelope) {
  const std::uint32_t by_source = first_in(of_source_[bucket_of(envelope.source)], envelope);
  const std::uint32_t by_any = first_in(of_any_, envelope);
  const std::uint32_t found =
      by_source == none || (by_any != none && receives_[by_any].order < receives_[by_source].order)
          ? by_any
          : by_source;
  if (found != none) {
    withdraw(found);
  }
  return found;
}

void Matching::store(std::uint32_t message, const Envelope& envelope) {
  messages_[message] = envelope;
  bucket_links_.append(from_source_[bucket_of(envelope.source)], message);
  all_links_.append(all_, message);
  ++stored_;
}

void Matching::remove(std::uint32_t message) {
  bucket_links_.remove(from_source_[bucket_of(messages_[message].source)], message);
  all_links_.remove(all_, message);
  --stored_;
}

std::uint32_t Matching::find(const Pattern& pattern) const {
  const bool any = pattern.source == any_source;
  const Lists& links = any ? all_links_ : bucket_links_;
  std::uint32_t i = any ? all_.first : from_source_[bucket_of(pattern.source)].first;
  while (i != none && !pattern.matches(messages_[i])) {
    i = links.next(i);
  }
  return i;
}

} // namespace tributary::messages
