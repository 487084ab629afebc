#include "endpoint/library/failure_text.hpp"

#include "tributary/tributary.h"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::library {

using collective::Call;
using collective::Failure;
using collective::MissingRanks;

namespace {

const manager_client::Absent* absent_rank(const tributary_group* group, std::uint32_t rank) {
  if (group == nullptr || group->named() == nullptr) {
    return nullptr;
  }
  const auto& absent = group->named()->news.absent;
  const auto found = std::ranges::find(absent, rank, &manager_client::Absent::rank);
  return found == absent.end() ? nullptr : &*found;
}

std::string call_text(const Call& call) {
  return call.leaving ? fmt::format("rank {} leaves the group", call.rank)
         : call.elements == 0
             ? fmt::format("rank {} called a barrier", call.rank)
             : fmt::format("rank {} called with {} elements", call.rank, call.elements);
}

std::string unequal_text(const Failure& failure) {
  const bool alike = failure.one.elements == failure.other.elements &&
                     failure.one.leaving == failure.other.leaving;
  return fmt::format("{} while {}{}; all members must call the same operations with the same "
                     "counts in the same order",
                     call_text(failure.other), call_text(failure.one),
                     alike ? ", but one of them made more calls before" : "");
}

} // namespace

std::string ranks_text(const MissingRanks& missing, const tributary_group* group) {
  std::string text = missing.count == 1 ? "rank " : "ranks ";
  bool first = true;
  for (const std::uint32_t rank : missing.named()) {
    text += fmt::format("{}{}", first ? "" : ", ", rank);
    if (const auto* absent = absent_rank(group, rank)) {
      text += fmt::format(" ({}{}{})", absent->host.empty() ? "NID " : "host ",
                          absent->host.empty() ? std::to_string(absent->nid) : absent->host,
                          absent->why.empty() ? "" : ": " + absent->why);
    }
    first = false;
  }
  const std::size_t more = missing.count - missing.named().size();
  return more > 0 ? fmt::format("{} and {} more", text, more) : text;
}

int failure_code(const tributary_group& group) {
  const Failure& failure = *group.member.failure();
  switch (failure.reason) {
  case Failure::Reason::unequal_counts: return TRIBUTARY_ERR_COUNT_MISMATCH;
  case Failure::Reason::members_missing: return TRIBUTARY_ERR_MEMBER_MISSING;
  case Failure::Reason::result_lost: return TRIBUTARY_ERR_GROUP_ENDED;
  case Failure::Reason::ended: break;
  }
  return failure.missing.empty() ? TRIBUTARY_ERR_GROUP_ENDED : TRIBUTARY_ERR_MEMBER_MISSING;
}

std::string failure_text(const tributary_group& group) {
  const Failure& failure = *group.member.failure();
  switch (failure.reason) {
  case Failure::Reason::unequal_counts: return unequal_text(failure);
  case Failure::Reason::members_missing:
    return fmt::format("{} did not contribute within the member time-out of {:.1f} s",
                       ranks_text(failure.missing, &group),
                       seconds_of(group.member.parameters().member_timeout_ns));
  case Failure::Reason::result_lost:
    return fmt::format(
        "rank {} has a result that rank {}, the root, did not get, and the switch next "
        "to the root lost it: it restarted, or its part of the tree changed; start the "
        "group again",
        failure.other.rank, failure.one.rank);
  case Failure::Reason::ended: break;
  }
  if (group.is_abandoned) {
    return "this program abandoned the group; leave it";
  }
  const NamedGroup* const named = group.named();
  if (named != nullptr && named->news.lease_ended) {
    return fmt::format("this member's lease at the fabric manager ended before it was renewed, and "
                       "the others do not wait for it: {}",
                       named->news.over_because);
  }
  if (!failure.missing.empty()) {
    return fmt::format("the fabric manager reports that {} {} gone",
                       ranks_text(failure.missing, &group),
                       failure.missing.count == 1 ? "is" : "are");
  }
  const bool has_reason = named != nullptr && !named->news.over_because.empty();
  return has_reason ? fmt::format("the fabric manager reports: {}", named->news.over_because)
                    : "the root reported it: the fabric manager ended the group, or the root's "
                      "program abandoned it";
}

std::string absent_text(const tributary_group& group) {
  std::string text;
  if (group.named() != nullptr) {
    for (const auto& absent : group.named()->news.absent) {
      MissingRanks one;
      one.add(absent.rank);
      text += fmt::format("  the fabric manager misses {}\n", ranks_text(one, &group));
    }
  }
  return text;
}

std::string who_did_not_leave(const tributary_group& group) {
  if (group.member.failure() && !group.member.failure()->missing.empty()) {
    return fmt::format(": {} {} missing", ranks_text(group.member.failure()->missing, &group),
                       group.member.failure()->missing.count == 1 ? "is" : "are");
  }
  for (const collective::ReductionStatus& s : group.member.status()) {
    if (!s.missing.empty()) {
      return fmt::format(": {} did not answer", ranks_text(s.missing, &group));
    }
  }
  return "";
}

} // namespace tributary::library
