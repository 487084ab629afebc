#include "controlplane/group/registry.hpp"

#include "controlplane/group/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::group {
namespace {

template <typename T> std::optional<std::vector<T>> sorted_set(std::optional<std::vector<T>> list) {
  if (list) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  return list;
}

} // namespace

void Registry::reconfigure(const Settings& settings) {
  const Settings before = std::exchange(settings_, settings);
  settings_.first_vni = before.first_vni;
  settings_.last_vni = before.last_vni;
  vnis_.set_quarantine(settings_.vni_quarantine_ns);
}

// ---- jobs ----

Result<const Job*> Registry::create_job(const std::string& id,
                                        std::optional<std::uint32_t> multicast_limit,
                                        JobBounds bounds, TimeNs now) {
  for (const Vni vni : bounds.vnis.value_or(std::vector<Vni>())) {
    if (const std::string_view holder = vnis_.holder(vni); !holder.empty() && holder != id) {
      return Error{ErrorKind::conflict,
                   fmt::format("VNI {} belongs to job {}; it is free when that job, or the "
                               "groups that brought it, have ended",
                               vni.value, holder)};
    }
  }
  std::optional<Vni> given;
  if (bounds.give_out_vni && !bounds.vnis && !jobs_.contains(id)) {
    given = vnis_.give_out(id);
    if (!given) {
      return no_vni_left(id, now);
    }
  }
  const auto [it, fresh] = jobs_.try_emplace(id);
  Job& job = it->second;
  if (fresh) {
    journal_.note_new_job(id);
  }
  if (!fresh) {
    return Error{
        ErrorKind::conflict,
        job.deleting
            ? fmt::format("job {} is being deleted: {} still to be removed from the switches; "
                          "ask again",
                          id, counted(job.groups.size(), "group"))
            : fmt::format("job {} exists already; delete it first", id)};
  }
  job.id = id;
  job.multicast_limit = multicast_limit.value_or(settings_.default_multicast_limit);
  job.token = make_token(random_);
  job.hosts = sorted_set(std::move(bounds.hosts));
  job.vnis = sorted_set(std::move(bounds.vnis));
  for (const Vni vni : job.vnis.value_or(std::vector<Vni>())) {
    vnis_.claim(vni, id);
  }
  tokens_.add(job.token, id);
  job.vni = given;
  put(job);
  if (given) {
    put_address("vnis", vnis_.pool());
  }
  return &job;
}

Result<const Job*> Registry::set_limit(std::string_view id, std::uint32_t multicast_limit) {
  const auto job = job_in_use(id);
  if (!job) {
    return job.error();
  }
  journal_.note(**job);
  (*job)->multicast_limit = multicast_limit;
  put(**job);
  return *job;
}

Result<const Job*> Registry::set_allocation(std::string_view id,
                                            std::optional<records::Allocation> allocation) {
  const auto job = job_in_use(id);
  if (!job) {
    return job.error();
  }
  journal_.note(**job);
  (*job)->allocation = std::move(allocation);
  put(**job);
  return *job;
}

Result<std::size_t> Registry::end_steps(std::string_view id, std::span<const std::string> steps,
                                        TimeNs now) {
  const auto job = job_in_use(id);
  if (!job) {
    return job.error();
  }
  const auto ends = [&](const Group& group) {
    return !group.step.empty() && std::ranges::find(steps, group.step) != steps.end();
  };
  return end_groups(**job, ends, "its job step ended", now);
}

Result<std::size_t> Registry::delete_job(std::string_view id, TimeNs now) {
  const auto found = job_in_use(id);
  if (!found) {
    return found.error();
  }
  Job& job = **found;
  journal_.note(job);
  job.deleting = true;
  tokens_.end(job.token);
  put(job);
  if (job.groups.empty()) {
    forget_job_if_over(job, now);
    return std::size_t{0};
  }
  return end_groups(
      job, [](const Group&) { return true; }, "its job ended", now);
}

std::size_t Registry::end_groups(const Job& job, const std::function<bool(const Group&)>& which,
                                 const std::string& why, TimeNs now) {
  std::vector<GroupId> affected;
  for (const auto& [name, id] : job.groups) {
    if (which(groups_.at(id))) {
      affected.push_back(id);
    }
  }
  for (const GroupId id : affected) { // the job itself may be gone with its last group
    // Removing a group may also end the one that waited for its root.
    if (const auto found = groups_.find(id); found != groups_.end()) {
      Group& group = found->second;
      end(group, Event::destroy,
          {ErrorKind::not_found, fmt::format("{} ended: {}", title(group), why)}, now);
    }
  }
  return affected.size();
}

Result<Job*> Registry::job_in_use(std::string_view id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) {
    return Error{ErrorKind::not_found, fmt::format("no job {}", id)};
  }
  if (it->second.deleting) {
    return Error{ErrorKind::not_found, fmt::format("job {} has ended", id)};
  }
  return &it->second;
}

const Job* Registry::find_job(std::string_view id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() || it->second.deleting ? nullptr : &it->second;
}

const records::Allocation* Registry::find_allocation(std::string_view job) const {
  const Job* const found = find_job(job);
  return found != nullptr && found->allocation ? &*found->allocation : nullptr;
}

Result<const Job*> Registry::job_of_token(std::string_view token) const {
  if (const std::string* const job = tokens_.job_of(token)) {
    return &jobs_.find(*job)->second;
  }
  if (const std::string* const job = tokens_.ended_job_of(token)) {
    return Error{ErrorKind::unknown_token,
                 fmt::format("the token has expired: job {}, whose it was, has ended", *job)};
  }
  return Error{ErrorKind::unknown_token, "the token is unknown: no job has this session token"};
}

std::string Registry::refuse_report(std::string_view id, Nid nid, std::span<const Vni> vnis) const {
  const Job* const job = find_job(id);
  if (job == nullptr) {
    return fmt::format("no job \"{}\"", id);
  }
  if (!may_speak_of(id, nid)) {
    return fmt::format("job \"{}\" does not have the host of NID {}", id, nid.value);
  }
  for (const Vni vni : vnis) {
    const std::string_view holder = vnis_.holder(vni);
    if (!holder.empty() && holder != id) {
      return fmt::format("VNI {} belongs to another job than \"{}\"", vni.value, id);
    }
    if (job->vnis && !std::ranges::binary_search(*job->vnis, vni)) {
      return fmt::format("job \"{}\" does not have VNI {}", id, vni.value);
    }
  }
  return {};
}

bool Registry::may_speak_of(std::string_view id, Nid nid) const {
  const Job* const job = find_job(id);
  return job != nullptr && (!job->hosts || std::ranges::binary_search(*job->hosts, nid));
}

bool Registry::has_ended(std::string_view token, std::string_view job) const {
  const std::string* const ended = tokens_.ended_job_of(token);
  return ended != nullptr && *ended == job;
}

// ---- queries ----

Result<Group*> Registry::group_of(std::string_view job, std::string_view name) {
  const auto found = job_in_use(job);
  if (!found) {
    return found.error();
  }
  const auto it = (*found)->groups.find(name);
  if (it == (*found)->groups.end()) {
    return Error{ErrorKind::not_found, fmt::format("job {} has no group '{}'", job, name)};
  }
  return &groups_.at(it->second);
}

const Group* Registry::find(GroupId id) const {
  const auto it = groups_.find(id);
  return it == groups_.end() ? nullptr : &it->second;
}

const Group* Registry::find(std::string_view job, std::string_view name) const {
  const auto j = jobs_.find(job);
  if (j == jobs_.end()) {
    return nullptr;
  }
  const auto g = j->second.groups.find(name);
  return g == j->second.groups.end() ? nullptr : find(g->second);
}

const Group* Registry::find(TreeNumber tree) const {
  const auto it = owner_.find(tree);
  return it == owner_.end() ? nullptr : find(it->second);
}

Result<const Group*> Registry::find_multicast(TreeNumber tree) const {
  const Group* const group = find(tree);
  if (group == nullptr || !group->multicast) {
    return Error{ErrorKind::not_found, fmt::format("no multicast {}", tree.value)};
  }
  if (group->state == GroupState::computing_routes) {
    return Error{ErrorKind::conflict,
                 fmt::format("multicast {} is still being built; ask again", tree.value)};
  }
  return group;
}

std::vector<const Job*> Registry::jobs() const {
  std::vector<const Job*> all;
  for (const auto& [id, job] : jobs_) {
    all.push_back(&job);
  }
  return all;
}

std::vector<const Group*> Registry::groups() const {
  std::vector<const Group*> all;
  all.reserve(groups_.size());
  for (const auto& [id, group] : groups_) {
    all.push_back(&group);
  }
  return all;
}

const Group* Registry::first_from(GroupId id) const {
  const auto found = groups_.lower_bound(id);
  return found == groups_.end() ? nullptr : &found->second;
}

std::vector<const Group*> Registry::groups_of(Nid nid) const {
  std::vector<const Group*> all;
  for (auto it = rank_at_.lower_bound({nid, GroupId{}});
       it != rank_at_.end() && it->first.first == nid; ++it) {
    all.push_back(&groups_.at(it->first.second));
  }
  return all;
}

std::vector<records::Change> Registry::take_changes() { return std::exchange(changes_, {}); }
std::vector<Action> Registry::take_actions() { return std::exchange(actions_, {}); }

} // namespace tributary::group
