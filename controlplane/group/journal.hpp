// What records were before they were changed, as long as the changes may have to be taken back.
//
//   journal.begin();
//   journal.note(group);            before each change; the first one of a record counts
//   journal.note(group, rank);
//   ... journal.groups() ...        what to go back to; nothing: it was not there
//   journal.end();
//
// An entry costs the same however large the group is: members are noted one by one. Outside of
// begin and end noting costs nothing. Pure.
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
  /// Groups without their members, their routes, and who is not located.
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
