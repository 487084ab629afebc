// Requests that could not be stored are taken back: records are restored from the journal, and data
// derived from records (who is whose root, which numbers are taken, deadlines) is rebuilt from all
// of them. That visits every member, but is needed only when a disk is full.
#include "controlplane/group/registry.hpp"

namespace tributary::group {

void Registry::begin_requests() {
  changes_kept_ = changes_.size();
  actions_kept_ = actions_.size();
  journal_.begin();
  vnis_.begin_requests(true);
}

void Registry::keep_requests() {
  journal_.end();
  vnis_.begin_requests(false);
}

void Registry::undo_requests() {
  undo_jobs();
  undo_groups();
  journal_.end();
  derive_again();
  changes_.resize(std::min(changes_.size(), changes_kept_));
  actions_.resize(std::min(actions_.size(), actions_kept_));
}

void Registry::undo_jobs() {
  for (const auto& [id, before] : journal_.jobs()) {
    if (const auto now = jobs_.find(id); now != jobs_.end()) {
      tokens_.forget(now->second.token);
      jobs_.erase(now);
    }
    if (before) {
      jobs_.emplace(id, *before);
      tokens_.forget(before->token);
      tokens_.add(before->token, id);
      if (before->deleting) {
        tokens_.end(before->token);
      }
    }
  }
}

void Registry::undo_groups() {
  for (const auto& [id, before] : journal_.groups()) {
    if (!before) {
      groups_.erase(id);
      continue;
    }
    Group& group = groups_[id];
    Group again = *before;
    again.members = std::move(group.members);
    again.not_located = std::move(group.not_located);
    again.routes = std::move(group.routes);
    group = std::move(again);
  }
  for (const auto& [key, before] : journal_.members()) {
    const auto found = groups_.find(key.first);
    if (found == groups_.end()) {
      continue;
    }
    Group& group = found->second;
    group.members.erase(key.second);
    group.not_located.erase(key.second);
    if (before) {
      group.members.emplace(key.second, before->member);
      if (before->not_located) {
        group.not_located.insert(key.second);
      }
    }
  }
}

void Registry::derive_again() {
  rank_at_.clear();
  roots_.clear();
  unanswered_.clear();
  limits_ = {};
  leases_ = {};
  vnis_.begin_again();
  for (auto& [id, job] : jobs_) {
    job.groups.clear();
    if (job.vni) {
      vnis_.claim(*job.vni, id);
    }
    for (const Vni vni : job.vnis.value_or(std::vector<Vni>())) {
      vnis_.claim(vni, id);
    }
  }
  for (const auto& [id, group] : groups_) {
    jobs_.find(group.job)->second.groups.emplace(group.name, id);
    if (group.multicast) {
      vnis_.claim(group.vni, group.job);
    }
    if (group.unanswered) {
      unanswered_.insert(id);
    }
    if (group.root) {
      roots_.add(group.members.at(*group.root).nid, group);
    }
    limits_.set(id, group.deadline);
    for (const auto& [rank, member] : group.members) {
      rank_at_.emplace(std::pair{member.nid, id}, rank);
      leases_.set({id, rank}, member.lease_end);
    }
  }
  vnis_.end_again();
}

} // namespace tributary::group
