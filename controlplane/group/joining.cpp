// Creates groups, and lets members join and leave.
#include "controlplane/group/quota.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/group/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::group {
namespace {

std::string who(std::uint32_t rank, const Member& member) {
  return member.host.empty()
             ? fmt::format("rank {} (NID {})", rank, member.nid.value)
             : fmt::format("rank {} (NID {}, host {})", rank, member.nid.value, member.host);
}

std::string rank_or_any(std::optional<std::uint32_t> rank) {
  return rank ? fmt::format("rank {}", *rank) : "any rank";
}

Error two_trees_in_switch(const std::string& name) {
  return {
      ErrorKind::invalid,
      fmt::format("group '{}' asks for in-switch results with two trees: the first result of two "
                  "trees wins at the root, so only one tree can be; ask for one tree, or leave "
                  "out \"in_switch_results\"",
                  name)};
}

std::optional<Error> disagreement(const Group& group, const GroupRequest& request) {
  if (request.size != group.size) {
    return Error{ErrorKind::conflict,
                 fmt::format("{} has {}, not {}: all must name the same number", title(group),
                             counted(group.size, "member"), request.size)};
  }
  if (request.trees != group.trees) {
    return Error{ErrorKind::conflict,
                 fmt::format("{} has {}, not {}: all must ask for the same number", title(group),
                             counted(group.trees, "tree"), request.trees)};
  }
  if (!request.step.empty() && !group.step.empty() && request.step != group.step) {
    return Error{ErrorKind::conflict,
                 fmt::format("{} belongs to step {} of its job, with which it ends, and not to "
                             "step {}: give groups of different steps different names",
                             title(group), group.step, request.step)};
  }
  if (request.root_rank && request.root_rank != group.wanted_root) {
    return Error{ErrorKind::conflict,
                 fmt::format("{} was asked to have {} as its root, not rank {}: all must ask "
                             "for the same one",
                             title(group), rank_or_any(group.wanted_root), *request.root_rank)};
  }
  if (request.in_switch_results.value_or(false) && group.trees == 2) {
    return two_trees_in_switch(request.name);
  }
  return std::nullopt;
}

} // namespace

// ---- groups ----

std::optional<Error> Registry::fault_of(const GroupRequest& request) const {
  const std::uint32_t largest = std::min(settings_.max_group_size, max_contributions + 1);
  if (request.size == 0 || request.size > largest) {
    return Error{ErrorKind::invalid,
                 fmt::format("group '{}' of {}: a group has 1 to {} members; more are not "
                             "configured, and no wait count goes beyond 20 bits",
                             request.name, counted(request.size, "member"), largest)};
  }
  if (request.trees != 1 && request.trees != 2) {
    return Error{ErrorKind::invalid,
                 fmt::format("group '{}' asks for {} trees: 1 or 2 are possible", request.name,
                             request.trees)};
  }
  if (request.in_switch_results.value_or(false) && request.trees == 2) {
    return two_trees_in_switch(request.name);
  }
  if (request.root_rank && *request.root_rank >= request.size) {
    return Error{ErrorKind::invalid,
                 fmt::format("group '{}' has no rank {} to be its root: its ranks are 0 to {}",
                             request.name, *request.root_rank, request.size - 1)};
  }
  return std::nullopt;
}

Error Registry::no_vni_left(const std::string& job, TimeNs now) const {
  const TimeNs next = vnis_.next_free();
  return {ErrorKind::exhausted,
          fmt::format("02: no VNI is left for job {}: all of {} to {} belong to other jobs, or did "
                      "until a short time ago and are in quarantine; {}",
                      job, settings_.first_vni.value, settings_.last_vni.value,
                      next == never
                          ? fmt::format("one is free {} after one of them has ended",
                                        seconds(settings_.vni_quarantine_ns))
                          : fmt::format("the next is free in {}", seconds(elapsed_ns(next, now))))};
}

Result<Group*> Registry::make_group(const GroupRequest& request, Job& job, TimeNs now) {
  if (auto fault = fault_of(request)) {
    return *std::move(fault);
  }
  if (auto fault = over_quota(job, now)) {
    return *std::move(fault);
  }
  journal_.note(job);
  if (!job.vni && job.vnis) {
    job.vni = job.vnis->front();
    vnis_.claim(*job.vni, job.id);
    put(job);
  }
  if (!job.vni) {
    job.vni = vnis_.give_out(job.id);
    if (!job.vni) {
      return no_vni_left(job.id, now);
    }
    put(job);
    put_address("vnis", vnis_.pool());
  }
  Group group;
  group.job = job.id;
  group.name = request.name;
  group.step = request.step;
  group.size = request.size;
  group.trees = request.trees;
  group.wanted_root = request.root_rank;
  group.vni = *job.vni;
  group.wanted_frames = request.frames;
  group.in_switch_results.wanted = request.in_switch_results;
  return &add_group(job, std::move(group), now);
}

std::optional<Error> Registry::not_among_hosts(const Job& job, std::span<const Nid> members) {
  if (!job.hosts) {
    return std::nullopt;
  }
  for (const Nid nid : members) {
    if (!std::ranges::binary_search(*job.hosts, nid)) {
      return Error{ErrorKind::forbidden,
                   fmt::format("NID {} is not one of the {} that job {} may use; the "
                               "administrator names them when the job is made",
                               nid.value, counted(job.hosts->size(), "host"), job.id)};
    }
  }
  return std::nullopt;
}

std::optional<Error> Registry::over_quota(const Job& job, TimeNs now) const {
  if (job.groups.size() < job.multicast_limit) {
    return std::nullopt;
  }
  std::vector<const Group*> holders;
  for (const auto& [name, id] : job.groups) {
    holders.push_back(&groups_.at(id));
  }
  std::ranges::sort(holders, {}, &Group::id);
  return quota_used_up(job, holders, now);
}

Group& Registry::add_group(Job& job, Group group, TimeNs now) {
  group.id = GroupId{next_group_++};
  journal_.note_new(group.id);
  group.created = now;
  job.groups.emplace(group.name, group.id);
  Group& added = groups_.emplace(group.id, std::move(group)).first->second;
  enter(added, GroupState::receiving_join_req, now);
  return added;
}

Result<const Group*> Registry::create_group(const GroupRequest& request, TimeNs now) {
  const auto job = job_in_use(request.job);
  if (!job) {
    return job.error();
  }
  const auto known = (*job)->groups.find(request.name);
  if (known == (*job)->groups.end()) {
    const auto made = make_group(request, **job, now);
    return made ? Result<const Group*>(*made) : made.error();
  }
  Group& group = groups_.at(known->second);
  const auto& result = transition(group.state, Event::join_again);
  if (result.kind == Transition::Kind::refused) {
    return error_of(group, result);
  }
  if (auto fault = disagreement(group, request)) {
    fault->contradicts = group.state != GroupState::receiving_leave_req;
    return *std::move(fault);
  }
  note_in_switch(group, request);
  return static_cast<const Group*>(&group);
}

// ---- joining ----

std::optional<Error> Registry::contradiction(const Group& group, const JoinRequest& request,
                                             TimeNs now) const {
  if (auto fault = disagreement(group, request.group)) {
    return fault;
  }
  if (request.rank >= group.size) {
    return Error{ErrorKind::invalid, fmt::format("{} has no rank {}: its ranks are 0 to {}",
                                                 title(group), request.rank, group.size - 1)};
  }
  const auto elsewhere = rank_at_.find({request.nid, group.id});
  if (elsewhere != rank_at_.end() && elsewhere->second != request.rank) {
    return Error{ErrorKind::conflict,
                 fmt::format("NID {} is rank {} of {} already and cannot be rank {} too",
                             request.nid.value, elsewhere->second, title(group), request.rank)};
  }
  if (group.multicast && elsewhere == rank_at_.end()) {
    return Error{ErrorKind::not_found,
                 fmt::format("NID {} is not in {}: its {} were named when it was made",
                             request.nid.value, title(group), counted(group.size, "member"))};
  }
  const auto holder = group.members.find(request.rank);
  if (holder != group.members.end() && holder->second.nid != request.nid) {
    return Error{ErrorKind::conflict,
                 fmt::format("{} of {} has this rank, so that NID {} cannot have it; {}",
                             who(request.rank, holder->second), title(group), request.nid.value,
                             holder->second.state == MemberState::joined
                                 ? fmt::format("its lease runs for {} unless renewed",
                                               seconds(elapsed_ns(holder->second.lease_end, now)))
                                 : "it has left, and the group ends with the others")};
  }
  return std::nullopt;
}

Result<const Group*> Registry::join(const JoinRequest& request, TimeNs now) {
  const auto job = job_in_use(request.group.job);
  if (!job) {
    return job.error();
  }
  const auto known = (*job)->groups.find(request.group.name);
  if (known == (*job)->groups.end() && request.rank >= request.group.size) {
    return Error{ErrorKind::invalid,
                 fmt::format("group '{}' of {} has no rank {}", request.group.name,
                             counted(request.group.size, "member"), request.rank)};
  }
  if (request.nid.value > max_nid) {
    return Error{ErrorKind::invalid, fmt::format("NID {} does not fit 20 bits", request.nid.value)};
  }
  if (auto fault = not_among_hosts(**job, {&request.nid, 1})) {
    return *std::move(fault);
  }
  if (known == (*job)->groups.end()) {
    const auto made = make_group(request.group, **job, now);
    if (!made) {
      return made.error();
    }
  }
  Group& group = groups_.at((*job)->groups.find(request.group.name)->second);

  const auto member = group.members.find(request.rank);
  const Event event = member == group.members.end()                 ? Event::join
                      : member->second.state == MemberState::joined ? Event::join_again
                                                                    : Event::join_after_leaving;
  if (group.state != GroupState::destroying) {
    if (auto fault = contradiction(group, request, now)) {
      fault->contradicts = group.state != GroupState::receiving_leave_req;
      return *std::move(fault);
    }
  }
  const auto accepted = apply(group, event, now);
  if (!accepted) {
    return accepted.error();
  }
  note_in_switch(group, request.group);
  if (event == Event::join) {
    add_member(group, request, now);
    if (auto fault = complete_if_all_there(group, now)) { // and the group is gone
      return *std::move(fault);
    }
  } else {
    note_what_it_takes(group, request);
    extend_lease(group, request.rank, now);
  }
  return &group;
}

void Registry::note_what_it_takes(Group& group, const JoinRequest& request) {
  Member& member = group.members.at(request.rank);
  if (group.state == GroupState::receiving_join_req && member.takes != request.takes) {
    journal_.note(group, request.rank);
    member.takes = request.takes;
    put_member(group, request.rank);
  }
}

void Registry::note_in_switch(Group& group, const GroupRequest& request) {
  const bool refused = group.in_switch_results.wanted && !*group.in_switch_results.wanted;
  if (request.in_switch_results && request.in_switch_results != group.in_switch_results.wanted &&
      !refused && group.state == GroupState::receiving_join_req) {
    journal_.note(group);
    group.in_switch_results.wanted = request.in_switch_results;
    put(group);
  }
}

void Registry::add_member(Group& group, const JoinRequest& request, TimeNs now) {
  const std::uint32_t rank = request.rank;
  const Nid nid = request.nid;
  journal_.note(group);
  journal_.note(group, rank);
  group.members.emplace(rank, Member{.nid = nid, .host = request.host, .takes = request.takes});
  rank_at_.emplace(std::pair{nid, group.id}, rank);
  ++group.present;
  if (!located_.contains(nid)) {
    group.not_located.insert(rank);
  }
  extend_lease(group, rank, now);
  put_member(group, rank);
  changed(group);
}

// ---- leaving ----

void Registry::extend_lease(Group& group, std::uint32_t rank, TimeNs now) {
  Member& member = group.members.at(rank);
  if (!group.multicast && member.state == MemberState::joined) {
    // The member renews by the lease that it was sent: a shorter one would end before it renews.
    member.lease_ns = std::max(member.lease_ns, settings_.lease_ns);
    member.lease_end = now + member.lease_ns;
    leases_.set({group.id, rank}, member.lease_end);
  }
}

Result<const Group*> Registry::renew(std::string_view job, std::string_view name,
                                     std::uint32_t rank, TimeNs now) {
  const auto member = member_of(job, name, rank);
  if (!member) {
    return member.error();
  }
  Group& group = **member;
  const bool in = group.members.at(rank).state == MemberState::joined;
  const auto& result = transition(group.state, in ? Event::renew : Event::renew_after_leaving);
  if (result.kind == Transition::Kind::refused) {
    return error_of(group, result);
  }
  extend_lease(group, rank, now);
  return &group;
}

Result<const Group*> Registry::leave(std::string_view job, std::string_view name,
                                     std::uint32_t rank, TimeNs now) {
  const auto member = member_of(job, name, rank);
  if (!member) {
    return member.error();
  }
  Group& group = **member;
  const GroupId id = group.id;
  const bool in = group.members.at(rank).state == MemberState::joined;
  const auto accepted = depart(group, rank, in ? Event::leave : Event::leave_again, now);
  if (!accepted) {
    return accepted.error();
  }
  return find(id);
}

Result<Group*> Registry::member_of(std::string_view job, std::string_view name,
                                   std::uint32_t rank) {
  const auto group = group_of(job, name);
  if (group && !(*group)->members.contains(rank)) {
    return Error{ErrorKind::not_found,
                 rank < (*group)->size
                     ? fmt::format("rank {} has not joined {}", rank, title(**group))
                     : fmt::format("{} has no rank {}: its ranks are 0 to {}", title(**group), rank,
                                   (*group)->size - 1)};
  }
  return group;
}

Result<bool> Registry::depart(Group& group, std::uint32_t rank, Event how, TimeNs now) {
  const GroupId id = group.id;
  journal_.note(group);
  journal_.note(group, rank);
  const bool collecting = group.state == GroupState::receiving_join_req;
  const auto accepted = apply(group, how, now);
  if (!accepted || !*accepted) {
    return accepted;
  }
  --group.present;
  leases_.drop({id, rank});
  if (collecting) { // as if it had never joined
    rank_at_.erase({group.members.at(rank).nid, id});
    group.members.erase(rank);
    group.not_located.erase(rank);
    keep(records::EraseMember{id, rank});
  } else {
    Member& member = group.members.at(rank);
    member.state = how == Event::lease_ended ? MemberState::expired : MemberState::left;
    member.lease_end = never;
    put_member(group, rank);
  }
  changed(group);
  if (group.present == 0) {
    end(group, Event::emptied,
        {ErrorKind::conflict,
         fmt::format("{} ended: {}", title(group),
                     collecting ? "every member left or timed out before the group was complete"
                                : "all its members have left")},
        now);
  }
  return true;
}

Result<const Group*> Registry::destroy(std::string_view job, std::string_view name, TimeNs now) {
  const auto group = group_of(job, name);
  if (!group) {
    return group.error();
  }
  const GroupId id = (*group)->id;
  end(**group, Event::destroy,
      {ErrorKind::conflict, fmt::format("{} was destroyed on request", title(**group))}, now);
  return find(id);
}

} // namespace tributary::group
