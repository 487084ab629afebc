// Changes that are not on disk yet, while the disk has no room.
//
//   backlog.add(registry.take_changes());
//   store.apply(backlog.changes());               may throw
//   backlog.clear();
//
// Of several changes of one record only the last is kept, so a manager that runs for hours on a
// full disk holds no more than one change for each record. Applying the backlog leads to the same
// as applying everything added, in order. Pure.
#pragma once

#include "controlplane/records/records.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace tributary::records {

class Backlog {
public:
  void add(std::vector<Change> changes);
  /// In an order that may be applied.
  [[nodiscard]] std::vector<Change> changes() const;
  void clear();
  [[nodiscard]] bool empty() const { return latest_.empty(); }
  [[nodiscard]] std::size_t size() const { return latest_.size(); }

private:
  /// Which table, and which record of it: by number or by name.
  using Key = std::tuple<int, std::uint64_t, std::uint32_t, std::string>;
  [[nodiscard]] static Key key_of(const Change& change);
  void drop_parts_of(GroupId group);

  std::map<Key, Change> latest_;
};

} // namespace tributary::records
