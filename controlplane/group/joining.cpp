// Groups come to be, and members come and go.
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

std::optional<Refusal> disagreement(const Group& group, const GroupWish& wish) {
  if (wish.size != group.size) {
    return Refusal{409, fmt::format("{} has {}, not {}: all must name the same number",
                                    title(group), counted(group.size, "member"), wish.size)};
  }
  if (wish.trees != group.trees) {
    return Refusal{409, fmt::format("{} has {}, not {}: all must ask for the same number",
                                    title(group), counted(group.trees, "tree"), wish.trees)};
  }
  if (wish.root_rank && wish.root_rank != group.wanted_root) {
    return Refusal{409,
                   fmt::format("{} was asked to have {} as its root, not rank {}: all must ask "
                               "for the same one",
                               title(group), rank_or_any(group.wanted_root), *wish.root_rank)};
  }
  return std::nullopt;
}

} // namespace

// ---- groups ----

std::optional<Refusal> Registry::fault_of(const GroupWish& wish) const {
  const std::uint32_t largest = std::min(settings_.max_group_size, max_contributions + 1);
  if (wish.size == 0 || wish.size > largest) {
    return Refusal{400, fmt::format("group '{}' of {}: a group has 1 to {} members; more are not "
                                    "configured, and no wait count goes beyond 20 bits",
                                    wish.name, counted(wish.size, "member"), largest)};
  }
  if (wish.trees != 1 && wish.trees != 2) {
    return Refusal{
        400, fmt::format("group '{}' asks for {} trees: 1 or 2 can be had", wish.name, wish.trees)};
  }
  if (wish.root_rank && *wish.root_rank >= wish.size) {
    return Refusal{400,
                   fmt::format("group '{}' has no rank {} to be its root: its ranks are 0 to {}",
                               wish.name, *wish.root_rank, wish.size - 1)};
  }
  return std::nullopt;
}

Result<Group*> Registry::make_group(const GroupWish& wish, Job& job, TimeNs now) {
  if (auto fault = fault_of(wish)) {
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
      return Refusal{507, fmt::format("02: no VNI is left for job {}: all of {} to {} belong to "
                                      "other jobs; one is free when one of them ends",
                                      job.id, settings_.first_vni.value, settings_.last_vni.value)};
    }
    put(job);
    put_address("vnis", vnis_.pool());
  }
  Group group;
  group.job = job.id;
  group.name = wish.name;
  group.size = wish.size;
  group.trees = wish.trees;
  group.wanted_root = wish.root_rank;
  group.vni = *job.vni;
  return &add_group(job, std::move(group), now);
}

std::optional<Refusal> Registry::not_among_hosts(const Job& job, std::span<const Nid> members) {
  if (!job.hosts) {
    return std::nullopt;
  }
  for (const Nid nid : members) {
    if (!std::ranges::binary_search(*job.hosts, nid)) {
      return Refusal{403, fmt::format("NID {} is not one of the {} that job {} may use; the "
                                      "administrator names them when the job is made",
                                      nid.value, counted(job.hosts->size(), "host"), job.id)};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> Registry::over_quota(const Job& job, TimeNs now) const {
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

Result<const Group*> Registry::create_group(const GroupWish& wish, TimeNs now) {
  const auto job = job_in_use(wish.job);
  if (!job) {
    return job.refusal();
  }
  const auto known = (*job)->groups.find(wish.name);
  if (known == (*job)->groups.end()) {
    const auto made = make_group(wish, **job, now);
    return made ? Result<const Group*>(*made) : made.refusal();
  }
  const Group& group = groups_.at(known->second);
  const auto& verdict = reaction(group.state, Event::join_again);
  if (verdict.kind == Reaction::Kind::refused) {
    return refusal_of(group, verdict);
  }
  if (auto fault = disagreement(group, wish)) {
    fault->contradicts = group.state != GroupState::receiving_leave_req;
    return *std::move(fault);
  }
  return &group;
}

// ---- joining ----

std::optional<Refusal> Registry::contradiction(const Group& group, const JoinWish& wish,
                                               TimeNs now) const {
  if (auto fault = disagreement(group, wish.group)) {
    return fault;
  }
  if (wish.rank >= group.size) {
    return Refusal{400, fmt::format("{} has no rank {}: its ranks are 0 to {}", title(group),
                                    wish.rank, group.size - 1)};
  }
  const auto elsewhere = rank_at_.find({wish.nid, group.id});
  if (elsewhere != rank_at_.end() && elsewhere->second != wish.rank) {
    return Refusal{409, fmt::format("NID {} is rank {} of {} already and cannot be rank {} too",
                                    wish.nid.value, elsewhere->second, title(group), wish.rank)};
  }
  if (group.multicast && elsewhere == rank_at_.end()) {
    return Refusal{404, fmt::format("NID {} is not in {}: its {} were named when it was made",
                                    wish.nid.value, title(group), counted(group.size, "member"))};
  }
  const auto holder = group.members.find(wish.rank);
  if (holder != group.members.end() && holder->second.nid != wish.nid) {
    return Refusal{409,
                   fmt::format("{} of {} has this rank, so that NID {} cannot have it; {}",
                               who(wish.rank, holder->second), title(group), wish.nid.value,
                               holder->second.state == MemberState::joined
                                   ? fmt::format("its lease runs for {} unless renewed",
                                                 seconds(elapsed_ns(holder->second.lease_end, now)))
                                   : "it has left, and the group ends with the others")};
  }
  return std::nullopt;
}

Result<const Group*> Registry::join(const JoinWish& wish, TimeNs now) {
  const auto job = job_in_use(wish.group.job);
  if (!job) {
    return job.refusal();
  }
  const auto known = (*job)->groups.find(wish.group.name);
  if (known == (*job)->groups.end() && wish.rank >= wish.group.size) {
    return Refusal{400, fmt::format("group '{}' of {} has no rank {}", wish.group.name,
                                    counted(wish.group.size, "member"), wish.rank)};
  }
  if (wish.nid.value > max_nid) {
    return Refusal{400, fmt::format("NID {} does not fit 20 bits", wish.nid.value)};
  }
  if (auto fault = not_among_hosts(**job, {&wish.nid, 1})) {
    return *std::move(fault);
  }
  if (known == (*job)->groups.end()) {
    const auto made = make_group(wish.group, **job, now);
    if (!made) {
      return made.refusal();
    }
  }
  Group& group = groups_.at((*job)->groups.find(wish.group.name)->second);

  const auto member = group.members.find(wish.rank);
  const Event event = member == group.members.end()                 ? Event::join
                      : member->second.state == MemberState::joined ? Event::join_again
                                                                    : Event::join_after_leaving;
  if (group.state != GroupState::destroying) {
    if (auto fault = contradiction(group, wish, now)) {
      fault->contradicts = group.state != GroupState::receiving_leave_req;
      return *std::move(fault);
    }
  }
  const auto accepted = happen(group, event, now);
  if (!accepted) {
    return accepted.refusal();
  }
  if (event == Event::join) {
    add_member(group, wish.rank, wish.nid, wish.host, now);
    if (auto fault = complete_if_all_there(group, now)) { // and the group is gone
      return *std::move(fault);
    }
  } else {
    extend_lease(group, wish.rank, now);
  }
  return &group;
}

void Registry::add_member(Group& group, std::uint32_t rank, Nid nid, const std::string& host,
                          TimeNs now) {
  journal_.note(group);
  journal_.note(group, rank);
  group.members.emplace(rank, Member{.nid = nid, .host = host});
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
    // It renews by what it was told: a shorter lease would end before it comes again.
    member.lease_ns = std::max(member.lease_ns, settings_.lease_ns);
    member.lease_end = now + member.lease_ns;
    leases_.set({group.id, rank}, member.lease_end);
  }
}

Result<const Group*> Registry::renew(std::string_view job, std::string_view name,
                                     std::uint32_t rank, TimeNs now) {
  const auto member = member_of(job, name, rank);
  if (!member) {
    return member.refusal();
  }
  Group& group = **member;
  const bool in = group.members.at(rank).state == MemberState::joined;
  const auto& verdict = reaction(group.state, in ? Event::renew : Event::renew_after_leaving);
  if (verdict.kind == Reaction::Kind::refused) {
    return refusal_of(group, verdict);
  }
  extend_lease(group, rank, now);
  return &group;
}

Result<const Group*> Registry::leave(std::string_view job, std::string_view name,
                                     std::uint32_t rank, TimeNs now) {
  const auto member = member_of(job, name, rank);
  if (!member) {
    return member.refusal();
  }
  Group& group = **member;
  const GroupId id = group.id;
  const bool in = group.members.at(rank).state == MemberState::joined;
  const auto accepted = depart(group, rank, in ? Event::leave : Event::leave_again, now);
  if (!accepted) {
    return accepted.refusal();
  }
  return find(id);
}

Result<Group*> Registry::member_of(std::string_view job, std::string_view name,
                                   std::uint32_t rank) {
  const auto group = group_of(job, name);
  if (group && !(*group)->members.contains(rank)) {
    return Refusal{404, rank < (*group)->size
                            ? fmt::format("rank {} has not joined {}", rank, title(**group))
                            : fmt::format("{} has no rank {}: its ranks are 0 to {}",
                                          title(**group), rank, (*group)->size - 1)};
  }
  return group;
}

Result<bool> Registry::depart(Group& group, std::uint32_t rank, Event how, TimeNs now) {
  const GroupId id = group.id;
  journal_.note(group);
  journal_.note(group, rank);
  const bool collecting = group.state == GroupState::receiving_join_req;
  const auto accepted = happen(group, how, now);
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
        {409, fmt::format("{} ended: {}", title(group),
                          collecting ? "all who had joined are away again before it was complete"
                                     : "all its members have left")},
        now);
  }
  return true;
}

Result<const Group*> Registry::destroy(std::string_view job, std::string_view name, TimeNs now) {
  const auto group = group_of(job, name);
  if (!group) {
    return group.refusal();
  }
  const GroupId id = (*group)->id;
  end(**group, Event::destroy, {409, fmt::format("{} was destroyed on request", title(**group))},
      now);
  return find(id);
}

} // namespace tributary::group
