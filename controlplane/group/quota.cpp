#include "controlplane/group/quota.hpp"

#include "controlplane/group/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::group {

Error quota_used_up(const Job& job, std::span<const Group* const> holders, TimeNs now) {
  if (job.multicast_limit == 0) {
    return {ErrorKind::exhausted, "01: " + no_groups(job.id)};
  }
  constexpr std::size_t named = 8;
  std::string list;
  for (const Group* const group : holders.first(std::min(named, holders.size()))) {
    list += fmt::format("{}'{}' ({}, {}, {})", list.empty() ? "" : ", ", group->name,
                        records::name_of(group->state), counted(group->size, "member"),
                        expiry(*group, now));
  }
  if (holders.size() > named) {
    list += fmt::format(" and {} more", holders.size() - named);
  }
  return {ErrorKind::exhausted, fmt::format("01: job {} may have {} at a time and has {}: {}",
                                            job.id, counted(job.multicast_limit, "group"),
                                            holders.size(), list.empty() ? "none" : list)};
}

std::string no_groups(std::string_view job) {
  return fmt::format("job {} may have no groups: its limit is 0; leave mcastLimit out for the "
                     "default, or raise it",
                     job);
}

} // namespace tributary::group
