// Records as keys and JSON text: what a replicated store keeps, and what an export has in its
// lines.
//
//   group/0000000700000003              {"id":30064771075,"job":"cluster-17","name":"demo", ...}
//   group/0000000700000003/member/00000001  {"group":30064771075,"rank":1,"nid":17, ...}
//   group/0000000700000003/tree/0004        {"number":4,"group":30064771075,"index":0, ...}
//   topology/switch/00000002            {"number":2,"name":"leaf2", ...}
//
// A change puts one record, or erases it, or erases a key with all that is below it: a group with
// its members and trees, the whole topology. Numbers in keys are hexadecimal and as long as their
// type, so that keys are in the order of Snapshot, but for trees, which are below their groups.
//
// A tree's number is another group's only once its group is erased (records.hpp); otherwise two
// keys would hold one number.
//
// Each field is named once, for both directions. Every field is required: a text without one, or
// with another type, is unreadable. Unknown fields are ignored. Pure.
#pragma once

#include "controlplane/records/records.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tributary::record_text {

struct Put {
  std::string key;
  std::string text;
  friend bool operator==(const Put&, const Put&) = default;
};
struct Erase {
  std::string key;
  friend bool operator==(const Erase&, const Erase&) = default;
};
/// The key itself, and all that begin with "KEY/".
struct EraseAll {
  std::string key;
  friend bool operator==(const EraseAll&, const EraseAll&) = default;
};
using Operation = std::variant<Put, Erase, EraseAll>;

[[nodiscard]] Operation operation_of(const records::Change& change);

/// The record of a key and its text. Throws std::exception, which says what is wrong, when they
/// were not made by `operation_of`.
[[nodiscard]] records::Change record_of(std::string_view key, std::string_view text);

/// The smallest key behind all that begin with "KEY/".
[[nodiscard]] std::string end_of(std::string_view key);

/// All records of a store by key, as a standby follows them: decoded when they arrive, so that a
/// snapshot is only a copy.
class RecordMap {
public:
  /// An unreadable text is kept as such, and named in snapshots.
  void put(std::string_view key, std::string_view text);
  void erase(std::string_view key);
  void apply(const Operation& operation);
  void clear() { records_.clear(); }
  [[nodiscard]] std::size_t size() const { return records_.size(); }
  /// With `set_aside` and `topology_is_damaged`. The epoch is the LeadRecord's, 0 without one,
  /// and the caller's to set, as the fabric is.
  [[nodiscard]] records::Snapshot snapshot() const;
  [[nodiscard]] std::vector<std::string> keys() const;
  /// Keys of unreadable records.
  [[nodiscard]] std::vector<std::string> unreadable() const;

private:
  struct Unreadable {
    std::string why;
  };
  std::map<std::string, std::variant<records::Change, Unreadable>, std::less<>> records_;
};

/// The key of the LeadRecord.
inline constexpr std::string_view lead_key = "lead";

/// Changes that make an empty store hold the records of the snapshot, but for its epoch and fabric.
[[nodiscard]] std::vector<records::Change> changes_of(const records::Snapshot& all);

} // namespace tributary::record_text
