// What Discovery keeps up to date, computed from its whole state. Slow: tests compare both.
#pragma once

#include "controlplane/topology/discovery.hpp"

#include <algorithm>
#include <vector>

namespace tributary::topology {

struct FullSearch {
  static std::vector<Problem> problems(Discovery copy) {
    copy.problems_.clear();
    copy.problem_count_ = 0;
    for (std::uint32_t s = 0; s < copy.stations_.size(); ++s) {
      for (const auto& [port, word] : copy.stations_[s].ports) {
        copy.suspects_.insert({Discovery::At::port, s, port});
      }
    }
    for (const auto& [nid, claims] : copy.claims_) {
      copy.suspects_.insert({Discovery::At::nid, nid, 0});
    }
    for (const auto& [guid, switches] : copy.by_guid_) {
      copy.suspects_.insert({Discovery::At::guid, guid, 0});
    }
    copy.examine();
    return copy.problems();
  }

  static TimeNs next_deadline(const Discovery& discovery) {
    TimeNs next = never;
    for (const auto& [at, port] : discovery.excused_) {
      next = std::min(next, at);
    }
    for (const auto& [at, port] : discovery.ripening_) {
      next = std::min(next, at);
    }
    for (const SwitchId s : discovery.silent_) {
      next = std::min(next, discovery.down_at(s));
    }
    for (const auto& [nid, memory] : discovery.memories_) {
      next = std::min(next, memory.until);
    }
    return next;
  }
};

} // namespace tributary::topology
