#include "controlplane/group/journal.hpp"

namespace tributary::group {
namespace {

Group without_parts(const Group& g) {
  Group header;
  header.id = g.id;
  header.job = g.job;
  header.name = g.name;
  header.step = g.step;
  header.multicast = g.multicast;
  header.size = g.size;
  header.trees = g.trees;
  header.wanted_root = g.wanted_root;
  header.vni = g.vni;
  header.timeout_us = g.timeout_us;
  header.wanted_frames = g.wanted_frames;
  header.frames = g.frames;
  header.frames_note = g.frames_note;
  header.in_switch_results = g.in_switch_results;
  header.unanswered = g.unanswered;
  header.state = g.state;
  header.present = g.present;
  header.root = g.root;
  header.cookie = g.cookie;
  header.created = g.created;
  header.state_since = g.state_since;
  header.deadline = g.deadline;
  header.end_reason = g.end_reason;
  header.error = g.error;
  return header;
}

} // namespace

void Journal::begin() {
  end();
  open_ = true;
}

void Journal::end() {
  open_ = false;
  jobs_.clear();
  groups_.clear();
  members_.clear();
}

void Journal::note_new_job(const std::string& id) {
  if (open_) {
    jobs_.try_emplace(id);
  }
}

void Journal::note(const Job& job) {
  if (open_ && !jobs_.contains(job.id)) {
    jobs_.emplace(job.id, Job{.id = job.id,
                              .multicast_limit = job.multicast_limit,
                              .token = job.token,
                              .vni = job.vni,
                              .deleting = job.deleting,
                              .hosts = job.hosts,
                              .vnis = job.vnis,
                              .allocation = job.allocation,
                              .groups = {}});
  }
}

void Journal::note_new(GroupId group) {
  if (open_) {
    groups_.try_emplace(group);
  }
}

void Journal::note(const Group& group) {
  if (open_ && !groups_.contains(group.id)) {
    groups_.emplace(group.id, without_parts(group));
  }
}

void Journal::note(const Group& group, std::uint32_t rank) {
  const Key key{group.id, rank};
  if (!open_ || members_.contains(key)) {
    return;
  }
  const auto found = group.members.find(rank);
  members_.emplace(
      key, found == group.members.end()
               ? std::nullopt
               : std::optional(MemberBefore{found->second, group.not_located.contains(rank)}));
}

void Journal::note_members(const Group& group) {
  if (open_) {
    for (const auto& [rank, member] : group.members) {
      note(group, rank);
    }
  }
}

} // namespace tributary::group
