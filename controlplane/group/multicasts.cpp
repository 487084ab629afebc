// Groups of the Slingshot-shaped contract: all members together, no joins, no leases.
#include "controlplane/group/registry.hpp"
#include "controlplane/group/root_choice.hpp"
#include "controlplane/group/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::group {

std::optional<Error> Registry::fault_of(const MulticastRequest& request) const {
  const std::size_t largest = std::min(settings_.max_group_size, max_contributions + 1);
  if (request.members.empty() || request.members.size() > largest) {
    return Error{ErrorKind::invalid,
                 fmt::format("macs names {}: a multicast has 1 to {}; more are not "
                             "configured, and no wait count goes beyond 20 bits",
                             counted(request.members.size(), "host"), largest)};
  }
  std::vector<Nid> sorted = request.members;
  std::ranges::sort(sorted);
  if (sorted.back().value > max_nid) {
    return Error{ErrorKind::invalid,
                 fmt::format("macs names NID {}, which does not fit 20 bits", sorted.back().value)};
  }
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    return Error{ErrorKind::invalid, fmt::format("macs names NID {} twice", twice->value)};
  }
  return std::nullopt;
}

std::optional<Error> Registry::no_resources(const MulticastRequest& request, const Job& job,
                                            TimeNs now) const {
  const std::string_view holder = vnis_.holder(request.vni);
  if (!holder.empty() && holder != job.id) {
    return Error{ErrorKind::forbidden,
                 fmt::format("VNI {} belongs to job {}; job {} has to bring one of its own",
                             request.vni.value, holder, job.id)};
  }
  if (const auto end = vnis_.quarantined(request.vni, job.id)) {
    return Error{ErrorKind::forbidden,
                 fmt::format("VNI {} was another job's until a short time ago, whose processes may "
                             "still run; it is free in {}; job {} has to bring another, or its own",
                             request.vni.value, seconds(elapsed_ns(*end, now)), job.id)};
  }
  if (job.vnis && !std::ranges::binary_search(*job.vnis, request.vni)) {
    return Error{ErrorKind::forbidden,
                 fmt::format("VNI {} is not one of those that job {} may use; the "
                             "administrator names them when the job is made",
                             request.vni.value, job.id)};
  }
  if (auto fault = not_among_hosts(job, request.members)) {
    return fault;
  }
  std::vector<std::string> unknown;
  for (const Nid nid : request.members) {
    if (!located_.contains(nid)) {
      unknown.push_back(std::to_string(nid.value));
    }
  }
  if (!unknown.empty()) {
    constexpr std::size_t named = 8;
    const std::size_t more = unknown.size() - std::min(named, unknown.size());
    unknown.resize(unknown.size() - more);
    return Error{ErrorKind::unreachable,
                 fmt::format("no switch has learned of the hosts with NID {}{}",
                             fmt::join(unknown, ", "),
                             more > 0 ? fmt::format(" and {} more", more) : "")};
  }
  if (auto fault = over_quota(job, now)) {
    return fault;
  }
  if (tree_numbers_.in_use() == max_trees) {
    return no_number_left(max_trees, now);
  }
  if (!choose_root_of_multicast(request.members, roots_) &&
      gives_root_up(request.members) == nullptr) {
    return no_root(fmt::format("the multicast of job {}", job.id), request.members, now);
  }
  return std::nullopt;
}

Result<const Group*> Registry::create_multicast(const MulticastRequest& request, TimeNs now) {
  const auto found = job_in_use(request.job);
  if (!found) {
    return found.error();
  }
  Job& job = **found;
  if (auto fault = fault_of(request)) {
    return *std::move(fault);
  }
  if (const Group* const same = unanswered(request)) {
    return same;
  }
  if (auto fault = no_resources(request, job, now)) {
    return *std::move(fault);
  }
  vnis_.claim(request.vni, job.id);

  Group wanted;
  for (std::uint64_t n = next_group_ & 0xFFFF'FFFF;
       wanted.name.empty() || job.groups.contains(wanted.name); ++n) {
    wanted.name = fmt::format("multicast-{}", n);
  }
  wanted.job = job.id;
  wanted.step = request.step;
  wanted.multicast = true;
  wanted.size = static_cast<std::uint32_t>(request.members.size());
  wanted.vni = request.vni;
  wanted.timeout_us = request.timeout_us;
  wanted.unanswered = true;
  Group& group = add_group(job, std::move(wanted), now);
  unanswered_.insert(group.id);
  for (std::uint32_t rank = 0; rank < group.size; ++rank) {
    add_member(group,
               {.group = {}, .rank = rank, .nid = request.members[rank], .host = {}, .takes = {}},
               now);
  }
  if (auto fault = complete_if_all_there(group, now)) { // and the group is gone
    return *std::move(fault);
  }
  return &group;
}

const Group* Registry::unanswered(const MulticastRequest& request) const {
  for (const GroupId id : unanswered_) {
    const Group& group = groups_.at(id);
    const auto is_member = [](const auto& entry, Nid nid) { return entry.second.nid == nid; };
    if (group.state != GroupState::destroying && group.job == request.job &&
        group.step == request.step && group.vni == request.vni &&
        std::ranges::equal(group.members, request.members, is_member)) {
      return &group;
    }
  }
  return nullptr;
}

void Registry::answered(GroupId id) {
  if (unanswered_.erase(id) == 0) {
    return;
  }
  Group& group = groups_.at(id);
  group.unanswered = false;
  if (group.state == GroupState::ready) {
    group.deadline = never;
    limits_.drop(id);
  }
}

} // namespace tributary::group
