#include "endpoint/agent/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::host_agent {

namespace {

constexpr std::size_t most_ended_remembered = 64;

TimeNs after(TimeNs now, std::uint64_t ns) {
  return ns >= never.value - now.value ? never : now + ns;
}

std::string names_of(const std::vector<const Job*>& jobs) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(jobs.size(), most); ++i) {
    text += fmt::format("{}\"{}\" (VNI {})", i == 0 ? "" : ", ", jobs[i]->id, jobs[i]->vni.value);
  }
  return jobs.size() <= most ? text : text + fmt::format(" and {} more", jobs.size() - most);
}

std::string name_of(const Peer& peer) {
  return peer.is_confined ? "user 0, who lacks CAP_NET_ADMIN on this node,"
                          : fmt::format("user {}", peer.uid);
}

} // namespace

Registry::Registry(Settings settings, std::uint32_t highest_mark)
    : settings_(std::move(settings)), marks_(settings_.mark_prefix, highest_mark) {}

void Registry::reconfigure(Settings settings) {
  settings.mark_prefix = settings_.mark_prefix;
  settings_ = std::move(settings);
}

void Registry::adopt(const Record& record, TimeNs now) {
  for (const Job& known : record.jobs) {
    Job job = known;
    if (job.is_attached) {
      job.until = std::min(job.until, after(now, settings_.limits.reattach_ns));
    }
    jobs_.insert_or_assign(job.id, job);
  }
  for (const Socket& socket : record.sockets) {
    sockets_.insert_or_assign(socket.inode, socket);
    end_points_.set(socket.end_point);
  }
  if (record.last_end_point >= first_given_end_point) {
    last_end_point_ = record.last_end_point;
  }
}

Record Registry::record() const {
  Record record;
  record.highest_mark = marks_.highest().value;
  record.last_end_point = last_end_point_;
  for (const auto& [id, job] : jobs_) {
    record.jobs.push_back(job);
  }
  for (const auto& [inode, socket] : sockets_) {
    record.sockets.push_back(socket);
  }
  return record;
}

void Registry::refuse(Reason reason, const std::string& message) {
  count(reason);
  throw AgentError(reason, message);
}

bool Registry::is_administrator(const Peer& peer) const {
  return peer.is_root() ||
         (settings_.administrators && peer.is_in_group(*settings_.administrators));
}

void Registry::check_own(const Peer& peer, const AddJobRequest& request, TimeNs now) {
  if (request.uid.value_or(peer.uid) != peer.uid) {
    refuse(Reason::not_permitted,
           fmt::format("{} may not declare a job of user {}: only root and the group of "
                       "`agent.administrators` may; declare it as that user, or let the resource "
                       "manager's prolog do it",
                       name_of(peer), *request.uid));
  }
  const bool covered = std::ranges::any_of(
      settings_.services, [&](const Service& each) { return each.covers(peer, request.vni); });
  if (!covered) {
    refuse(Reason::not_permitted,
           fmt::format("{} may not declare a job with VNI {}: no [[service]] of this node's "
                       "hostd.toml gives it to this user; ask the administrator, or start the job "
                       "through the resource manager",
                       name_of(peer), request.vni.value));
  }
  if (jobs_.contains(request.job)) {
    return;
  }
  const auto own = static_cast<std::size_t>(std::ranges::count_if(
      jobs_, [&](const auto& each) { return each.second.is_own && each.second.uid == peer.uid; }));
  if (own >= settings_.limits.jobs_per_user) {
    refuse(Reason::limit,
           fmt::format("user {} has declared {} jobs on this node, which is the limit; end one "
                       "with `tributaryctl host job end NAME`",
                       peer.uid, own));
  }
  Declared& declared = declared_[peer.uid];
  if (elapsed_ns(now, declared.since) >= settings_.limits.declaring_ns) {
    declared = {.since = now};
  }
  if (++declared.jobs > settings_.limits.jobs_per_user) {
    refuse(Reason::limit,
           fmt::format("user {} has declared {} jobs within {} s on this node, which "
                       "is the limit (`limits.jobs_per_user`); try again later",
                       peer.uid, settings_.limits.jobs_per_user,
                       settings_.limits.declaring_ns / ns_per_second));
  }
}

std::vector<std::string> Registry::in_the_way(const Peer& peer, const AddJobRequest& request) {
  const std::uint32_t uid = request.uid.value_or(peer.uid);
  const bool rules = is_administrator(peer);
  std::vector<std::string> ids;
  for (const auto& [id, job] : jobs_) {
    const bool same = id == request.job;
    const bool changed = same && (job.uid != uid || job.vni != request.vni);
    if (!changed && (same || job.vni != request.vni || job.uid == uid)) {
      continue;
    }
    if (rules && job.is_own) {
      ids.push_back(id);
      continue;
    }
    if (same && (rules || job.uid == peer.uid)) {
      refuse(
          Reason::taken,
          fmt::format("job \"{}\" is on this node with VNI {} and user {}, and cannot become one "
                      "with VNI {} and user {}; end it first",
                      id, job.vni.value, job.uid, request.vni.value, uid));
    }
    refuse(Reason::taken,
           same ? fmt::format("job \"{}\" on this node is another user's; give it another name", id)
                : fmt::format("VNI {} is that of job \"{}\" of user {} on this node; end that job "
                              "first, or take another VNI",
                              request.vni.value, id, job.uid));
  }
  return ids;
}

TimeNs Registry::end_of(const AddJobRequest& request, bool is_own, TimeNs now) const {
  const TimeNs wanted = request.lifetime_ns ? after(now, *request.lifetime_ns) : never;
  return is_own ? std::min(wanted, after(now, settings_.limits.longest_own_job_ns)) : wanted;
}

Mark Registry::new_mark() {
  std::unordered_set<std::uint32_t> used;
  for (const auto& [id, job] : jobs_) {
    used.insert(job.mark.value);
  }
  for (const auto& [inode, socket] : sockets_) {
    used.insert(socket.mark.value);
  }
  const auto mark = marks_.next([&](Mark each) { return used.contains(each.value); });
  if (!mark) {
    refuse(Reason::limit, "every mark for packet sockets is in use; end some programs");
  }
  return *mark;
}

Registry::Added Registry::add(const Peer& peer, const AddJobRequest& request, TimeNs now) {
  const bool is_own = !is_administrator(peer);
  if (is_own) {
    // A launcher within a resource manager's job need not know who declared it.
    const auto theirs = jobs_.find(request.job);
    if (theirs != jobs_.end() && !theirs->second.is_own && theirs->second.uid == peer.uid &&
        theirs->second.vni == request.vni && request.uid.value_or(peer.uid) == peer.uid) {
      return {.job = theirs->second, .is_unchanged = true};
    }
    check_own(peer, request, now);
  }
  Added added;
  const std::vector<std::string> displaced = in_the_way(peer, request);
  auto known = jobs_.find(request.job);
  // Jobs of users' own do not count for administrators: no user keeps a prolog from its job.
  const auto alike = static_cast<std::size_t>(
      std::ranges::count_if(jobs_, [&](const auto& each) { return each.second.is_own == is_own; }));
  if (known == jobs_.end() && alike >= settings_.limits.jobs) {
    refuse(Reason::limit,
           fmt::format("{} jobs that {} declared are on this node, which is the limit "
                       "(`limits.jobs`); end some with `tributaryctl host job end NAME`",
                       alike, is_own ? "users" : "administrators"));
  }
  for (const std::string& id : displaced) {
    added.displaced.push_back(remove(jobs_.find(id), now));
  }
  known = jobs_.find(request.job);
  added.is_new = known == jobs_.end();
  Job job{.id = request.job,
          .vni = request.vni,
          .uid = request.uid.value_or(peer.uid),
          .cgroup = request.cgroup,
          .told_by = peer.uid,
          .is_own = is_own,
          .is_attached = request.is_attached,
          .until = end_of(request, is_own, now),
          .mark = added.is_new ? new_mark() : known->second.mark,
          .manager = request.manager};
  counts_.jobs_added += added.is_new ? 1 : 0;
  added.job = job;
  jobs_.insert_or_assign(request.job, std::move(job));
  return added;
}

Job Registry::remove(Jobs::iterator job, TimeNs now) {
  Job over = std::move(job->second);
  jobs_.erase(job);
  ++counts_.jobs_ended;
  ended_.emplace_back(over.id, now);
  if (ended_.size() > most_ended_remembered) {
    ended_.pop_front();
  }
  return over;
}

Job Registry::end(const Peer& peer, const EndJobRequest& request, TimeNs now) {
  const auto job = jobs_.find(request.job);
  if (job == jobs_.end()) {
    refuse_unknown(peer, request.job, now);
  }
  if (!is_administrator(peer) && !(job->second.is_own && job->second.uid == peer.uid)) {
    refuse(Reason::not_permitted,
           fmt::format("{} may not end job \"{}\": only root, the group of "
                       "`agent.administrators` and the user who declared it may",
                       name_of(peer), request.job));
  }
  return remove(job, now);
}

void Registry::detach(const std::string& id, TimeNs now) {
  const auto job = jobs_.find(id);
  if (job != jobs_.end() && job->second.is_attached) {
    job->second.until = std::min(job->second.until, after(now, settings_.limits.reattach_ns));
  }
}

std::vector<Job> Registry::expire(TimeNs now) {
  std::erase_if(declared_, [&](const auto& each) {
    return elapsed_ns(now, each.second.since) >= settings_.limits.declaring_ns;
  });
  std::vector<Job> over;
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    const auto next = std::next(job);
    if (job->second.until <= now) {
      over.push_back(remove(job, now));
    }
    job = next;
  }
  return over;
}

TimeNs Registry::next_deadline() const {
  TimeNs next = never;
  for (const auto& [id, job] : jobs_) {
    next = std::min(next, job.until);
  }
  return next;
}

void Registry::refuse_unknown(const Peer& peer, const std::string& id, TimeNs now) {
  const auto ended = std::ranges::find_if(ended_.rbegin(), ended_.rend(),
                                          [&](const auto& each) { return each.first == id; });
  if (ended != ended_.rend()) {
    refuse(Reason::no_job, fmt::format("job \"{}\" ended on this node {} s ago; start a new one",
                                       id, elapsed_ns(now, ended->second) / ns_per_second));
  }
  refuse(
      Reason::no_job,
      fmt::format("no job \"{}\" of user {} is on this node; start programs with tributary-run or "
                  "through the resource manager, or declare the job with `tributaryctl host job "
                  "add {} --vni VNI`",
                  id, peer.uid, id));
}

void Registry::refuse_without_job(const Peer& peer, const OpenRequest& request) {
  std::vector<const Job*> elsewhere;
  for (const auto& [id, job] : jobs_) {
    if (job.uid == peer.uid) {
      elsewhere.push_back(&job);
    }
  }
  if (!elsewhere.empty()) {
    const std::string where =
        request.vni ? fmt::format("with VNI {} ", request.vni->value) : std::string();
    refuse(Reason::no_job,
           fmt::format("no job {}is open to this process, in cgroup \"{}\"; the user has {}: run "
                       "within the job, or name the right one in TRIBUTARY_JOB_ID",
                       where, peer.cgroup, names_of(elsewhere)));
  }
  refuse(Reason::no_job,
         fmt::format("no job of user {} is on this node; start programs with tributary-run or "
                     "through the resource manager, or declare a job with `tributaryctl host job "
                     "add NAME --vni VNI`",
                     peer.uid));
}

const Job& Registry::choose(const Peer& peer, const OpenRequest& request, TimeNs now) {
  std::vector<const Job*> open_to_all;
  std::vector<const Job*> by_cgroup;
  if (request.job) {
    const auto named = jobs_.find(*request.job);
    const bool theirs = named != jobs_.end() && named->second.until > now &&
                        (named->second.uid == peer.uid || is_administrator(peer));
    if (!theirs) {
      refuse_unknown(peer, *request.job, now);
    }
  }
  for (const auto& [id, job] : jobs_) {
    const bool right_job = request.job ? id == *request.job : job.uid == peer.uid;
    const bool right_vni = !request.vni || job.vni == *request.vni;
    const bool inside = job.cgroup.empty() || is_within(peer.cgroup, job.cgroup) ||
                        (request.job && is_administrator(peer));
    if (right_job && right_vni && inside && job.until > now) {
      (job.cgroup.empty() ? open_to_all : by_cgroup).push_back(&job);
    }
  }
  const std::vector<const Job*>& found = by_cgroup.empty() ? open_to_all : by_cgroup;
  if (found.empty()) {
    if (request.job && request.vni && jobs_.at(*request.job).vni != *request.vni) {
      refuse(
          Reason::not_permitted,
          fmt::format("job \"{}\" has VNI {}, not {}; leave out TRIBUTARY_VNI, or name the right "
                      "job in TRIBUTARY_JOB_ID",
                      *request.job, jobs_.at(*request.job).vni.value, request.vni->value));
    }
    refuse_without_job(peer, request);
  }
  if (found.size() > 1) {
    refuse(Reason::several_jobs,
           fmt::format("several jobs of user {} are on this node: {}; name one in TRIBUTARY_JOB_ID",
                       peer.uid, names_of(found)));
  }
  return *found.front();
}

bool Registry::is_at_socket_limit(const Peer& peer) const {
  // Root can open as many of its own as it likes.
  return !peer.is_root() &&
         static_cast<std::size_t>(std::ranges::count_if(sockets_, [&](const auto& each) {
           return each.second.uid == peer.uid;
         })) >= settings_.limits.sockets_per_user;
}

AgentError Registry::socket_limit_error(const Peer& peer) const {
  return {Reason::limit,
          fmt::format("user {} holds {} sockets of the fabric on this node, which is the limit "
                      "(`limits.sockets_per_user`); end some programs",
                      peer.uid, settings_.limits.sockets_per_user)};
}

const Socket* Registry::overhearing(const Job& job) const {
  const auto found = std::ranges::find_if(sockets_, [&](const auto& each) {
    const Socket& socket = each.second;
    // What root has opened is not a user's.
    return socket.vni == job.vni && socket.mark != job.mark && socket.uid != job.uid &&
           socket.uid != 0;
  });
  return found == sockets_.end() ? nullptr : &found->second;
}

AgentError Registry::overheard_error(const Job& job, const Socket& by) const {
  return {
      Reason::unavailable,
      fmt::format("a program of user {} still holds a socket of VNI {}, from a job that has "
                  "ended, and would receive what job \"{}\" does; root finds it with `ss -0 -p` "
                  "(socket {}) and ends it",
                  by.uid, job.vni.value, job.id, by.inode)};
}

bool Registry::has_end_point() const {
  for (std::size_t number = first_given_end_point; number < end_points_per_host; ++number) {
    if (!end_points_[number]) {
      return true;
    }
  }
  return false;
}

std::uint16_t Registry::new_end_point() {
  if (!has_end_point()) {
    refuse(Reason::limit, "every end point of this node is in use by a socket; end some programs");
  }
  do {
    last_end_point_ = last_end_point_ + 1 < end_points_per_host
                          ? static_cast<std::uint16_t>(last_end_point_ + 1)
                          : first_given_end_point;
  } while (end_points_[last_end_point_]);
  return last_end_point_;
}

void Registry::opened(const Socket& socket) {
  sockets_.insert_or_assign(socket.inode, socket);
  end_points_.set(socket.end_point);
  ++counts_.sockets_opened;
}

void Registry::keep_only(const std::unordered_set<std::uint64_t>& inodes) {
  std::erase_if(sockets_, [&](const auto& each) { return !inodes.contains(each.first); });
  end_points_.reset();
  for (const auto& [inode, socket] : sockets_) {
    end_points_.set(socket.end_point);
  }
}

std::size_t Registry::sockets_of(Mark mark) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(sockets_, [&](const auto& each) { return each.second.mark == mark; }));
}

} // namespace tributary::host_agent
