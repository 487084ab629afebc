// Continues after a restart. Leases and time limits start again, because no member could renew
// while the manager was down. A group whose routes were being computed waits for its members' hosts
// again and is computed again. Installations and removals that were in progress are requested
// again; repeating them does no harm.
#include "controlplane/group/registry.hpp"
#include "controlplane/group/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::group {

Registry::Registry(const Settings& settings, RandomSource random, const records::Snapshot& past,
                   TimeNs now)
    : settings_(settings), random_(std::move(random)), next_group_(past.epoch << 32 | 1),
      tree_numbers_(0, max_trees - 1), vnis_(settings.first_vni, settings.last_vni) {
  vnis_.set_quarantine(settings_.vni_quarantine_ns);
  restore_jobs(past);
  restore_groups(past, now);
  restore_vnis(past, now);
  std::vector<GroupId> all;
  for (const auto& [id, group] : groups_) {
    all.push_back(id);
  }
  for (const GroupId id : all) {
    resume(groups_.at(id), now);
  }
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    forget_job_if_over((it++)->second, now);
  }
}

void Registry::restore_jobs(const records::Snapshot& past) {
  for (const auto& record : past.jobs) {
    jobs_.emplace(record.id, Job{.id = record.id,
                                 .multicast_limit = record.multicast_limit,
                                 .token = record.token,
                                 .vni = record.vni,
                                 .deleting = record.deleting,
                                 .hosts = record.hosts,
                                 .vnis = record.vnis,
                                 .allocation = record.allocation,
                                 .groups = {}});
    tokens_.add(record.token, record.id);
    if (record.deleting) {
      tokens_.end(record.token);
    }
    if (record.vni) {
      vnis_.claim(*record.vni, record.id);
    }
    for (const Vni vni : record.vnis.value_or(std::vector<Vni>())) {
      vnis_.claim(vni, record.id);
    }
  }
  for (const auto& address : past.addresses) {
    (address.space == "trees" ? tree_numbers_ : vnis_.pool()).go_on_at(address.next);
  }
}

void Registry::restore_vnis(const records::Snapshot& past, TimeNs now) {
  std::vector<records::VniReleaseRecord> releases = past.vni_releases;
  std::ranges::sort(releases, {}, &records::VniReleaseRecord::number);
  for (const records::VniReleaseRecord& release : releases) {
    if (vnis_.holder(release.vni).empty()) {
      vnis_.restore({release.vni, release.number}, release.in_quarantine, now);
    }
  }
}

void Registry::restore_groups(const records::Snapshot& past, TimeNs now) {
  for (const auto& record : past.groups) {
    Group group;
    group.id = record.id;
    group.job = record.job;
    group.name = record.name;
    group.step = record.step;
    group.multicast = record.multicast;
    group.size = record.size;
    group.trees = record.trees;
    group.wanted_root = record.wanted_root;
    group.root = record.root;
    group.vni = record.vni;
    group.cookie = record.cookie;
    group.timeout_us = record.timeout_us;
    group.wanted_frames = record.wanted_frames;
    group.frames = record.frames;
    group.frames_note = record.frames_note;
    group.in_switch_results = record.in_switch_results;
    group.state = record.state;
    group.created = now;
    const auto job = jobs_.find(record.job);
    if (job == jobs_.end()) {
      throw std::invalid_argument(fmt::format("{} is stored, but its job is not", title(group)));
    }
    job->second.groups.emplace(group.name, group.id);
    if (group.multicast) {
      vnis_.claim(group.vni, group.job);
    }
    groups_.emplace(group.id, std::move(group));
  }
  const auto group_at = [&](GroupId id, std::string_view what) -> Group& {
    const auto it = groups_.find(id);
    if (it == groups_.end()) {
      throw std::invalid_argument(
          fmt::format("a {} of group {} is stored, but the group is not", what, id.value));
    }
    return it->second;
  };
  for (const auto& record : past.members) {
    Group& group = group_at(record.group, "member");
    group.members.emplace(record.rank, Member{.nid = record.nid,
                                              .host = record.host,
                                              .state = record.state,
                                              .takes = record.takes});
    group.present += record.state == MemberState::joined ? 1 : 0;
    rank_at_.emplace(std::pair{record.nid, group.id}, record.rank);
  }
  for (const auto& record : past.trees) {
    Group& group = group_at(record.group, "tree");
    group.routes.resize(group.trees);
    group.routes.at(record.index) = record;
    owner_.emplace(record.number, group.id);
    tree_numbers_.take_exactly(record.number.value);
  }
}

void Registry::compute_again(Group& group) {
  group.state = GroupState::receiving_join_req;
  group.root.reset();
  std::erase_if(group.members, [&](const auto& entry) {
    const auto& [rank, member] = entry;
    const bool away = member.state != MemberState::joined;
    if (away) {
      rank_at_.erase({member.nid, group.id});
      keep(records::EraseMember{group.id, rank});
    }
    return away;
  });
}

void Registry::resume(Group& group, TimeNs now) {
  if (group.state == GroupState::computing_routes && !group.routed()) {
    compute_again(group);
  }
  if (group.root) {
    roots_.add(group.members.at(*group.root).nid, group);
  }
  for (const auto& [rank, member] : group.members) {
    extend_lease(group, rank, now);
  }
  if (group.multicast && (group.state == GroupState::receiving_join_req ||
                          group.state == GroupState::computing_routes)) {
    group.unanswered = true;
    unanswered_.insert(group.id);
  }
  group.state_since = now;
  switch (group.state) {
  case GroupState::receiving_join_req:
    for (const auto& [rank, member] : group.members) {
      group.not_located.insert(rank);
    }
    enter(group, group.state, now);
    break;
  case GroupState::computing_routes: actions_.emplace_back(Install{group.id}); break;
  case GroupState::destroying:
    group.end_reason = {ErrorKind::conflict,
                        fmt::format("{} was being removed when the manager started", title(group))};
    enter(group, group.state, now);
    break;
  case GroupState::receiving_leave_req: enter(group, group.state, now); break;
  case GroupState::ready:
  case GroupState::gone: break;
  }
}

} // namespace tributary::group
