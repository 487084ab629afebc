// The events that one reader of the event stream has yet to be sent, as text/event-stream. Bounded:
// who is too far behind is cut off, and may come again with the number of the last event it saw.
// Pure.
#pragma once

#include "controlplane/api/service.hpp"

#include <cstddef>
#include <deque>
#include <string>

namespace tributary::rest {

/// id, event and data lines, and the empty line that ends it.
[[nodiscard]] std::string event_text(const api::Event& event);

class EventQueue {
public:
  /// `most`: events that may wait, those not counted that came before `live`.
  explicit EventQueue(std::size_t most) : most_(most) {}

  void add(const api::Event& event);
  /// The events kept from before have been added: from now on the reader has to keep up.
  void live();
  /// Those waiting, oldest first, until there are `bytes`, or all.
  [[nodiscard]] std::string take(std::size_t bytes);
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// Whether the reader was too far behind once: it must not go on, for it missed something.
  [[nodiscard]] bool overrun() const { return overrun_; }

private:
  std::deque<std::string> waiting_;
  std::size_t most_;
  bool is_live_ = false;
  bool overrun_ = false;
};

} // namespace tributary::rest
