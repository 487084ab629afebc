#include "controlplane/rest/event_queue.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

namespace tributary::rest {

std::string event_text(const api::Event& event) {
  // Serialized JSON has no line breaks, so that it is one data line.
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.number, event.kind,
                     boost::json::serialize(event.body));
}

void EventQueue::add(const api::Event& event) {
  if (overrun_) {
    return;
  }
  if (is_live_ && waiting_.size() >= most_) {
    overrun_ = true;
    waiting_.clear();
    return;
  }
  waiting_.push_back(event_text(event));
}

void EventQueue::live() {
  is_live_ = true;
  most_ += waiting_.size();
}

std::string EventQueue::take(std::size_t bytes) {
  std::string text;
  while (!waiting_.empty() && text.size() < bytes) {
    text += waiting_.front();
    waiting_.pop_front();
  }
  return text;
}

} // namespace tributary::rest
