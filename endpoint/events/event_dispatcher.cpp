#include "endpoint/events/event_dispatcher.hpp"

#include <algorithm>
#include <variant>

namespace tributary::events {

Handlers::Added EventDispatcher::add(HandlerOptions options) {
  const std::string name = options.name;
  const bool past = options.past;
  Handlers::Added added = handlers_.add(std::move(options));
  if (const auto* const id = std::get_if<HandlerId>(&added)) {
    std::uint64_t from = past ? 0 : begun_;
    if (const auto left = left_at_.extract(name); !name.empty() && left) {
      from = left.mapped();
    }
    position_[*id] = from;
    if (from < begun_) {
      behind_.push_back(*id);
    }
  }
  return added;
}

bool EventDispatcher::remove(HandlerId id) {
  const HandlerOptions* const options = handlers_.find(id);
  if (options == nullptr) {
    return false;
  }
  if (!options->name.empty()) {
    left_at_[options->name] = position_[id];
  }
  position_.erase(id);
  std::erase(behind_, id);
  return handlers_.remove(id);
}

std::optional<EventDispatcher::Call> EventDispatcher::next() {
  while (true) {
    if (chain_) {
      if (auto call = next_of_chain()) {
        return call;
      }
      end_chain({});
    }
    if (auto call = next_of_past()) {
      return call;
    }
    if (!begin_chain()) {
      return std::nullopt;
    }
  }
}

std::optional<EventDispatcher::Call> EventDispatcher::next_of_chain() {
  while (chain_->next < chain_->handlers.size()) {
    const HandlerId id = chain_->handlers[chain_->next++];
    if (handlers_.find(id) == nullptr) {
      continue; // deregistered since the chain began
    }
    position_[id] = chain_->event->sequence;
    out_ = id;
    out_is_past_ = false;
    ++chain_->called;
    return Call{id, chain_->event, chain_->results, false};
  }
  return std::nullopt;
}

std::optional<EventDispatcher::Call> EventDispatcher::next_of_past() {
  while (!behind_.empty()) {
    const HandlerId id = behind_.front();
    const HandlerOptions& options = *handlers_.find(id);
    std::uint64_t& position = position_[id];
    if (!kept_.empty() && position + 1 < kept_.front()->sequence) {
      const auto lost = std::make_shared<const Event>(
          events_lost(position + 1, kept_.front()->sequence - 1, kept_.front()->epoch));
      position = lost->sequence;
      if (Handlers::wants(options, *lost)) {
        out_ = id;
        out_is_past_ = true;
        return Call{id, lost, {}, true};
      }
    }
    const auto found = std::ranges::find_if(kept_, [&](const EventPtr& event) {
      return event->sequence > position && Handlers::wants(options, *event);
    });
    if (found == kept_.end()) {
      position = begun_;
      behind_.pop_front();
      continue;
    }
    position = (*found)->sequence;
    out_ = id;
    out_is_past_ = true;
    return Call{id, *found, {}, true};
  }
  return std::nullopt;
}

bool EventDispatcher::begin_chain() {
  std::optional<Event> event = sequencer_.take();
  if (!event) {
    return false;
  }
  begun_ = event->sequence;
  kept_.push_back(std::make_shared<const Event>(*std::move(event)));
  if (kept_.size() > most_kept) {
    kept_.pop_front();
  }
  chain_.emplace(Chain{kept_.back(), handlers_.chain_of(*kept_.back()), 0, {}, 0});
  // Handlers that do not want it have passed it; others have when they are called or the chain
  // ends.
  for (auto& [id, position] : position_) {
    if (std::ranges::find(chain_->handlers, id) == chain_->handlers.end()) {
      position = begun_;
    }
  }
  return true;
}

void EventDispatcher::returned(Outcome outcome, std::vector<HandlerResult> added) {
  out_ = 0;
  if (out_is_past_ || !chain_) {
    return; // alone with it: no handler follows
  }
  const HandlerOptions* const handler = handlers_.find(chain_->handlers[chain_->next - 1]);
  const std::string name = handler == nullptr ? std::string() : handler->name;
  for (HandlerResult& result : added) {
    result.handler = name;
    chain_->results.push_back(std::move(result));
  }
  if (outcome == Outcome::complete) {
    end_chain(name.empty() ? "(no name)" : name);
  }
}

void EventDispatcher::end_chain(std::string ended_by) {
  for (const HandlerId id : chain_->handlers) {
    if (const auto position = position_.find(id); position != position_.end()) {
      position->second = std::max(position->second, chain_->event->sequence);
    }
  }
  ends_.push_back({chain_->event, std::move(chain_->results), std::move(ended_by), chain_->called});
  if (ends_.size() > most_kept) {
    ends_.erase(ends_.begin());
  }
  chain_.reset();
}

} // namespace tributary::events
