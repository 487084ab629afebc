// Previous versions of changed records, kept while the changes may have to be taken back.
//
//   journal.begin();
//   journal.note(group);            before each change; the first one of a record counts
//   journal.note(group, rank);
//   ... journal.groups() ...        the previous version; nothing: the record did not exist
//   journal.end();
//
// An entry costs the same however large the group is: members are noted one by one. Outside of
// begin and end, `note` costs nothing. Pure.
#pragma once

#include "controlplane/group/group.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace tributary::group {

class Journal {
public:
  struct MemberBefore {
    Member member;
    bool not_located = false;
  };
  using Key = std::pair<GroupId, std::uint32_t>;
  /// Groups without their members, routes, and ranks that are not located.
  using Groups = std::map<GroupId, std::optional<Group>>;
  using Members = std::map<Key, std::optional<MemberBefore>>;
  /// Jobs without their groups.
  using Jobs = std::map<std::string, std::optional<Job>>;

  void begin();
  void end();

  void note_new_job(const std::string& id);
  void note(const Job& job);
  void note_new(GroupId group);
  void note(const Group& group);
  void note(const Group& group, std::uint32_t rank);
  void note_members(const Group& group);

  [[nodiscard]] const Jobs& jobs() const { return jobs_; }
  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] const Members& members() const { return members_; }

private:
  bool open_ = false;
  Jobs jobs_;
  Groups groups_;
  Members members_;
};

} // namespace tributary::group
