#include "controlplane/group/group.hpp"

#include "controlplane/group/words.hpp"

#include <fmt/format.h>

namespace tributary::group {
namespace {

std::string waiting(const Group& group, TimeNs now) {
  if (group.all_there() && !group.waits_for_root_of.empty()) {
    return fmt::format("waits for {}, which is being removed and has its root, for at most {}",
                       group.waits_for_root_of, seconds(elapsed_ns(group.deadline, now)));
  }
  const auto absent = group.size - group.members.size();
  std::string text = "waits for";
  if (absent > 0) {
    text += fmt::format(" {} of {}", absent, counted(group.size, "member"));
  }
  if (!group.not_located.empty()) {
    text += fmt::format("{} the {} of {}", absent > 0 ? " and for switches to learn of" : "",
                        group.not_located.size() == 1 ? "host" : "hosts",
                        counted(group.not_located.size(), "member"));
    text += absent > 0 ? "" : ", which no switch has learned of,";
  }
  return fmt::format("{} for at most {}", text, seconds(elapsed_ns(group.deadline, now)));
}

} // namespace

std::vector<Missing> missing(const Group& group, std::size_t limit) {
  std::vector<Missing> found;
  if (group.state != GroupState::receiving_join_req) {
    return found;
  }
  auto member = group.members.begin();
  for (std::uint32_t rank = 0; rank < group.size && found.size() < limit; ++rank) {
    if (member == group.members.end() || member->first != rank) {
      found.push_back({rank, std::nullopt, "has not joined"});
      continue;
    }
    if (group.not_located.contains(rank)) {
      found.push_back({rank, member->second.nid, "joined, but no switch has learned of its host"});
    }
    ++member;
  }
  return found;
}

std::vector<Absent> absent(const Group& group, std::size_t limit) {
  std::vector<Absent> found;
  if (group.state == GroupState::receiving_join_req) {
    return found;
  }
  const auto add = [&](std::uint32_t rank, const Member& member, const char* why) {
    found.push_back({.rank = rank,
                     .nid = member.nid,
                     .host = member.host,
                     .why = why,
                     .gone = member.state != MemberState::joined,
                     .left = member.state == MemberState::left});
  };
  for (auto member = group.members.begin();
       group.departed() && member != group.members.end() && found.size() < limit; ++member) {
    if (member->second.state == MemberState::expired) {
      add(member->first, member->second, "its lease ended");
    } else if (member->second.state == MemberState::left) {
      add(member->first, member->second, "it has left");
    }
  }
  for (const std::uint32_t rank : group.silent) {
    const Member& member = group.members.at(rank);
    if (found.size() < limit && member.state == MemberState::joined) {
      add(rank, member, "no switch has seen its host");
    }
  }
  return found;
}

std::string describe(const Group& group, TimeNs now) {
  std::string text;
  switch (group.state) {
  case GroupState::receiving_join_req: text = waiting(group, now); break;
  case GroupState::computing_routes:
    text = group.routed() ? "its routes are being installed" : "its routes are being computed";
    break;
  case GroupState::ready:
    text = group.unanswered
               ? fmt::format("is ready, and the caller that asked for it has {} to ask again",
                             seconds(elapsed_ns(group.deadline, now)))
               : fmt::format("{} reduce", counted(group.size, "member"));
    break;
  case GroupState::receiving_leave_req:
    text = fmt::format("waits for {} of {} to leave for at most {}", group.present,
                       counted(group.size, "member"), seconds(elapsed_ns(group.deadline, now)));
    break;
  case GroupState::destroying:
    text = fmt::format("is being removed from the switches: {}", group.end_reason.message);
    break;
  case GroupState::gone: text = fmt::format("is gone: {}", group.end_reason.message); break;
  }
  return group.error.empty() ? text : fmt::format("{}; {}", text, group.error);
}

} // namespace tributary::group
