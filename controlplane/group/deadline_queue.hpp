// Deadlines of many things, in order: set, changed and dropped in O(log n).
//
//   DeadlineQueue<GroupId> limits;
//   limits.set(group, now + limit);
//   while (const auto due = limits.take_due(now)) ...
//
// Each key has at most one deadline. Equal deadlines are ordered by key, so that runs can be
// repeated. Pure.
#pragma once

#include "tributary/types.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tributary::group {

template <typename Key> class DeadlineQueue {
public:
  /// Replaces an earlier deadline; `never` drops it.
  void set(const Key& key, TimeNs at) {
    drop(key);
    if (at != never) {
      by_key_.emplace(key, at);
      by_time_.emplace(at, key);
    }
  }
  void drop(const Key& key) {
    const auto it = by_key_.find(key);
    if (it != by_key_.end()) {
      by_time_.erase({it->second, key});
      by_key_.erase(it);
    }
  }
  /// The first key whose deadline has passed; the deadline is dropped.
  std::optional<Key> take_due(TimeNs now) {
    if (by_time_.empty() || by_time_.begin()->first > now) {
      return std::nullopt;
    }
    const Key key = by_time_.begin()->second;
    drop(key);
    return key;
  }
  [[nodiscard]] TimeNs next() const { return by_time_.empty() ? never : by_time_.begin()->first; }
  [[nodiscard]] std::size_t size() const { return by_key_.size(); }

private:
  std::map<Key, TimeNs> by_key_;
  std::set<std::pair<TimeNs, Key>> by_time_;
};

} // namespace tributary::group
