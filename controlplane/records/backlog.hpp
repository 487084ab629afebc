// Changes that are not on disk yet, while the disk has no room.
//
//   backlog.add(registry.take_changes());
//   store.apply(backlog.changes());               may throw
//   backlog.clear();
//
// Only the last of several changes to a record is kept, so a manager that runs for hours on a full
// disk holds at most one change for each record. Applying the backlog has the same result as
// applying all added changes in order. Pure.
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
  /// In an order in which they can be applied.
  [[nodiscard]] std::vector<Change> changes() const;
  void clear();
  [[nodiscard]] bool empty() const { return latest_.empty(); }
  [[nodiscard]] std::size_t size() const { return latest_.size(); }

private:
  /// Table and record, by number or by name.
  using Key = std::tuple<int, std::uint64_t, std::uint32_t, std::string>;
  [[nodiscard]] static Key key_of(const Change& change);
  void drop_parts_of(GroupId group);

  std::map<Key, Change> latest_;
};

} // namespace tributary::records
