// State transitions: what entering a state entails, and how groups end.
#include "controlplane/group/registry.hpp"
#include "controlplane/group/words.hpp"

#include <fmt/format.h>

namespace tributary::group {
namespace {

std::string why_not_complete(const Group& group) {
  if (group.all_there() && !group.waits_for_root_of.empty()) {
    return fmt::format("all members joined, but {}, which has its root, was not removed in time",
                       group.waits_for_root_of);
  }
  constexpr std::size_t named = 8;
  const std::size_t absent = group.size - group.members.size() + group.not_located.size();
  std::string list;
  for (const Missing& m : missing(group, named)) {
    list += fmt::format("{}rank {}{} {}", list.empty() ? "" : "; ", m.rank,
                        m.nid ? fmt::format(" (NID {})", m.nid->value) : "", m.why);
  }
  return fmt::format("{} of {} were not there in time: {}{}", absent, counted(group.size, "member"),
                     list, absent > named ? fmt::format("; and {} more", absent - named) : "");
}

} // namespace

Result<bool> Registry::apply(Group& group, Event event, TimeNs now) {
  const Transition& result = transition(group.state, event);
  if (result.kind == Transition::Kind::refused) {
    return error_of(group, result);
  }
  if (result.accepted() && result.next != group.state) {
    enter(group, result.next, now);
  }
  return result.accepted();
}

Error Registry::error_of(const Group& group, const Transition& result) {
  return {result.error, fmt::format("{} {}", title(group), result.message)};
}

void Registry::enter(Group& group, GroupState state, TimeNs now) {
  if (state == GroupState::gone) {
    const auto root = group.multicast && group.root
                          ? std::optional(group.members.at(*group.root).nid)
                          : std::nullopt;
    forget(group, now);
    if (root) {
      root_is_free(*root, now);
    }
    return;
  }
  journal_.note(group);
  group.state = state;
  group.state_since = now;
  group.deadline = state == GroupState::receiving_join_req          ? now + settings_.join_limit_ns
                   : state == GroupState::receiving_leave_req       ? now + settings_.leave_limit_ns
                   : state == GroupState::ready && group.unanswered ? now + settings_.join_limit_ns
                                                                    : never;
  limits_.set(group.id, group.deadline);
  put(group);
  changed(group);
  if (state == GroupState::computing_routes) {
    actions_.emplace_back(ComputeRoutes{group.id});
  } else if (state == GroupState::destroying) {
    journal_.note_members(group);
    for (auto& [rank, member] : group.members) {
      member.lease_end = never;
      leases_.drop({group.id, rank});
    }
    if (group.routed()) {
      actions_.emplace_back(Remove{group.id});
    } else {
      apply(group, Event::removed, now);
    }
  }
}

void Registry::end(Group& group, Event event, Error why, TimeNs now) {
  journal_.note(group);
  const Transition& result = transition(group.state, event);
  if (result.accepted() && group.state != GroupState::destroying) {
    group.end_reason = std::move(why);
    apply(group, event, now);
  }
}

void Registry::release_vni(Vni vni, TimeNs now) {
  if (const auto release = vnis_.release(vni, now)) {
    keep(records::VniReleaseRecord{vni, release->number, true});
  }
}

void Registry::forget(Group& group, TimeNs now) {
  group.state = GroupState::gone;
  limits_.drop(group.id);
  unanswered_.erase(group.id);
  for (const auto& [rank, member] : group.members) {
    rank_at_.erase({member.nid, group.id});
  }
  if (group.root) {
    roots_.remove(group.members.at(*group.root).nid, group);
  }
  for (const records::TreeRecord& tree : group.routes) {
    owner_.erase(tree.number);
    if (!reserved_.contains(tree.number)) {
      tree_numbers_.give_back(tree.number.value);
    }
  }
  if (group.multicast) {
    release_vni(group.vni, now);
  }
  keep(records::EraseGroup{group.id});
  Job& job = jobs_.find(group.job)->second;
  job.groups.erase(group.name);
  auto node = groups_.extract(group.id);
  actions_.emplace_back(Gone{std::move(node.mapped())});
  forget_job_if_over(job, now);
}

void Registry::forget_job_if_over(const Job& job, TimeNs now) {
  if (!job.deleting || !job.groups.empty()) {
    return;
  }
  if (job.vni) {
    release_vni(*job.vni, now);
  }
  for (const Vni vni : job.vnis.value_or(std::vector<Vni>())) {
    release_vni(vni, now);
  }
  vnis_.forget(job.id);
  journal_.note(job);
  keep(records::EraseJob{job.id});
  jobs_.erase(jobs_.find(job.id));
}

// ---- time ----

void Registry::poll(TimeNs now) {
  for (const VniTable::Release& release : vnis_.poll(now)) {
    keep(records::VniReleaseRecord{release.vni, release.number, false});
  }
  while (const auto due = leases_.take_due(now)) {
    depart(groups_.at(due->first), due->second, Event::lease_ended, now);
  }
  while (const auto due = limits_.take_due(now)) {
    Group& group = groups_.at(*due);
    const std::string why =
        group.state == GroupState::receiving_join_req ? why_not_complete(group)
        : group.state == GroupState::ready
            ? fmt::format(
                  "the caller that asked for it did not ask again within {} after it was ready",
                  seconds(settings_.join_limit_ns))
            : fmt::format("{} of {} did not leave within {} of the first that did", group.present,
                          counted(group.size, "member"), seconds(settings_.leave_limit_ns));
    end(group, Event::time_limit,
        {ErrorKind::conflict, fmt::format("{} ended: {}", title(group), why)}, now);
  }
}

TimeNs Registry::next_deadline() const {
  return std::min({leases_.next(), limits_.next(), vnis_.next_deadline()});
}

// ---- changes to store, and notifications ----

void Registry::put(const Group& group) {
  keep(records::GroupRecord{.id = group.id,
                            .job = group.job,
                            .name = group.name,
                            .step = group.step,
                            .multicast = group.multicast,
                            .size = group.size,
                            .trees = group.trees,
                            .wanted_root = group.wanted_root,
                            .root = group.root,
                            .vni = group.vni,
                            .cookie = group.cookie,
                            .timeout_us = group.timeout_us,
                            .state = group.state,
                            .wanted_frames = group.wanted_frames,
                            .frames = group.frames,
                            .frames_note = group.frames_note,
                            .in_switch_results = group.in_switch_results});
}

void Registry::put(const Job& job) {
  keep(records::JobRecord{job.id, job.multicast_limit, job.token, job.vni, job.deleting, job.hosts,
                          job.vnis, job.allocation});
}

void Registry::put_member(const Group& group, std::uint32_t rank) {
  const Member& member = group.members.at(rank);
  keep(records::MemberRecord{group.id, rank, member.nid, member.host, member.state, member.takes});
}

void Registry::put_address(const std::string& space, const NumberPool& pool) {
  keep(records::AddressRecord{space, pool.next()});
}

void Registry::changed(const Group& group) { actions_.emplace_back(Changed{group.id}); }

} // namespace tributary::group
