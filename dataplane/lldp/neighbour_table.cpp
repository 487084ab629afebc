#include "dataplane/lldp/neighbour_table.hpp"

#include <algorithm>
#include <utility>

namespace tributary::lldp {

ReportOutcome NeighbourTable::heard(Announcement announcement, TimeNs now) {
  const auto it = std::ranges::find_if(neighbours_, [&](const Neighbour& n) {
    return n.announcement.chassis == announcement.chassis &&
           n.announcement.port == announcement.port;
  });
  const bool is_known = it != neighbours_.end();
  if (announcement.ttl_seconds == 0) {
    if (is_known) {
      neighbours_.erase(it);
    }
    return is_known ? ReportOutcome::left : ReportOutcome::unknown;
  }
  const TimeNs forget_at = now + announcement.ttl_seconds * ns_per_second;
  if (is_known) {
    it->announcement = std::move(announcement);
    it->heard = now;
    it->forget_at = forget_at;
    return ReportOutcome::known;
  }
  if (neighbours_.size() >= capacity_) {
    return ReportOutcome::refused;
  }
  neighbours_.push_back({std::move(announcement), now, now, forget_at});
  return ReportOutcome::added;
}

std::size_t NeighbourTable::age(TimeNs now) {
  return std::erase_if(neighbours_, [&](const Neighbour& n) { return now >= n.forget_at; });
}

TimeNs NeighbourTable::next_deadline() const {
  TimeNs next = never;
  for (const Neighbour& n : neighbours_) {
    next = std::min(next, n.forget_at);
  }
  return next;
}

} // namespace tributary::lldp
