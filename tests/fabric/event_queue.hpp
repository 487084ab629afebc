// A queue of events in order of virtual time, and for equal times in order of insertion. Nothing
// else determines the order, so a run depends on its seed alone.
#pragma once

#include "tributary/types.hpp"

#include <cstdint>
#include <queue>
#include <vector>

namespace tributary::fabric {

enum class EventKind : std::uint8_t {
  frame_arrival, ///< subject: link * 2 + direction, detail: frame
  link_free,     ///< subject: link * 2 + direction
  worker_poll,   ///< subject: switch, detail: worker
  host_wake,     ///< subject: host
  script,        ///< subject: index of a scheduled action
  held_behind,   ///< subject: link * 2 + direction; one may have waited for too long
};

struct Event {
  TimeNs at;
  std::uint64_t order = 0; ///< of insertion; breaks ties
  EventKind kind = EventKind::script;
  std::uint32_t subject = 0;
  std::uint32_t detail = 0;
};

class EventQueue {
public:
  void push(TimeNs at, EventKind kind, std::uint32_t subject, std::uint32_t detail = 0) {
    heap_.push({at, next_order_++, kind, subject, detail});
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] TimeNs next_time() const { return heap_.empty() ? never : heap_.top().at; }
  Event pop() {
    const Event e = heap_.top();
    heap_.pop();
    return e;
  }

private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> heap_;
  std::uint64_t next_order_ = 0;
};

} // namespace tributary::fabric
