// Who may have what of this node's fabric interface: jobs, the sockets that their programs hold,
// and the marks of both.
//
//   Registry registry(settings, highest_mark);
//   registry.adopt(record, now);                   what the agent knew before it was restarted
//   const Added added = registry.add(peer, request, now);     then the guard learns its mark
//   const Job& job = registry.choose(peer, open_request, now);
//   const std::uint16_t end_point = registry.new_end_point();
//   registry.opened({.inode = ..., .uid = peer.uid, .mark = job.mark, .end_point = end_point});
//   for (const Job& over : registry.expire(now)) ...          then the guard forgets its mark
//
// Who may declare a job:
//
//   root, and the administrators' group   any job of any user; a job that a user declared, and that
//                                         is in the way, ends
//   a user                                jobs of his own whose VNI a service gives to him, unless
//                                         another job has that VNI or that name; and, without any
//                                         effect, those that an administrator declared for him
//
// Who gets a socket: a process of the job's user that is in the job's cgroup, where it has one.
// Jobs with a cgroup go before those without one.
//
// Each socket has an end point of its own on the node: unicast frames of others do not reach it. It
// is given to no other socket while the first one lives, and as late as possible after that, so
// that frames on their way to a program that has ended do not reach the next one.
//
// A job that ends takes its mark with it: the guard drops whatever its sockets still send. The mark
// is given to no other job while one of these sockets lives. Such a socket still receives its VNI,
// for its filter is locked: another user gets no socket of that VNI before it is closed.
//
// Requests that are refused throw AgentError, and are counted. Pure: the caller has the clock.
#pragma once

#include "endpoint/agent/agent_error.hpp"
#include "endpoint/agent/job.hpp"
#include "endpoint/agent/marks.hpp"
#include "tributary/types.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tributary::host_agent {

struct Limits {
  std::size_t jobs = 4096; ///< that administrators have declared, and as many that users have
  std::size_t jobs_per_user = 64; ///< that users declare themselves
  std::size_t sockets_per_user = 1024;
  /// Each user declares at most `jobs_per_user` new ones within it: each costs the agent a change
  /// of the guard's rules, and it makes one at a time.
  std::uint64_t declaring_ns = 10 * ns_per_second;
  std::uint64_t longest_own_job_ns = 7 * 86'400 * ns_per_second; ///< that users declare themselves
  /// How long a job outlives the connection that it is attached to.
  std::uint64_t reattach_ns = 10 * ns_per_second;
};

struct Settings {
  std::vector<Service> services{};
  std::optional<std::uint32_t> administrators{}; ///< group id
  std::uint8_t mark_prefix = 0x54;
  Limits limits{};
};

/// A packet socket that was handed to a program.
struct Socket {
  std::uint64_t inode = 0; ///< names it in the kernel's lists
  std::uint32_t uid = 0;   ///< whose it was at first
  Mark mark{};
  Vni vni{};                   ///< of the frames that it receives
  std::uint16_t end_point = 0; ///< of unicast frames; 0: it receives none

  friend bool operator==(const Socket&, const Socket&) = default;
};

/// What must survive a restart of the agent.
struct Record {
  std::vector<Job> jobs{};
  std::vector<Socket> sockets{};
  std::uint32_t highest_mark = 0;
  std::uint16_t last_end_point = 0; ///< the one given last

  friend bool operator==(const Record&, const Record&) = default;
};

struct RegistryCounts {
  std::uint64_t sockets_opened = 0;
  std::uint64_t jobs_added = 0;
  std::uint64_t jobs_ended = 0;
  std::array<std::uint64_t, reason_count> refused{};
};

class Registry {
public:
  /// `highest_mark`: the one given last, or any number for a new series.
  Registry(Settings settings, std::uint32_t highest_mark);

  /// Takes over what was known before. Jobs that were attached end unless they are attached again.
  void adopt(const Record& record, TimeNs now);
  [[nodiscard]] Record record() const;
  /// From now on these; jobs that they would no longer allow stay.
  void reconfigure(Settings settings);

  struct Added {
    Job job{};
    bool is_new = false;          ///< otherwise it was known, and its mark is the same
    bool is_unchanged = false;    ///< it stays as an administrator declared it
    std::vector<Job> displaced{}; ///< these have ended
  };
  [[nodiscard]] Added add(const Peer& peer, const AddJobRequest& request, TimeNs now);
  /// Ends a job, and returns it.
  [[nodiscard]] Job end(const Peer& peer, const EndJobRequest& request, TimeNs now);
  /// The connection that an attached job belongs to has ended.
  void detach(const std::string& job, TimeNs now);
  /// Jobs whose time is over; they have ended.
  [[nodiscard]] std::vector<Job> expire(TimeNs now);
  /// When `expire` has something to do.
  [[nodiscard]] TimeNs next_deadline() const;

  /// The job that a request is for. Valid until the next change.
  [[nodiscard]] const Job& choose(const Peer& peer, const OpenRequest& request, TimeNs now);
  /// Whether the user holds as many sockets as allowed, as far as is known. `keep_only` may show
  /// that some are gone.
  [[nodiscard]] bool is_at_socket_limit(const Peer& peer) const;
  [[nodiscard]] AgentError socket_limit_error(const Peer& peer) const;
  /// A socket of another user by which a job that has ended would overhear this one, as far as is
  /// known; nullptr if there is none. Valid until the next change.
  [[nodiscard]] const Socket* overhearing(const Job& job) const;
  [[nodiscard]] AgentError overheard_error(const Job& job, const Socket& by) const;
  /// An end point that no socket has. `keep_only` may free some.
  [[nodiscard]] std::uint16_t new_end_point();
  /// Whether `new_end_point` has one.
  [[nodiscard]] bool has_end_point() const;
  void opened(const Socket& socket);
  /// Forgets the sockets that are not among these.
  void keep_only(const std::unordered_set<std::uint64_t>& inodes);
  /// Counts a refusal that others have decided.
  void count(Reason reason) { ++counts_.refused[static_cast<std::size_t>(reason)]; }

  /// Root, or a member of the administrators' group.
  [[nodiscard]] bool is_administrator(const Peer& peer) const;
  [[nodiscard]] const std::map<std::string, Job>& jobs() const { return jobs_; }
  [[nodiscard]] std::size_t sockets_of(Mark mark) const;
  [[nodiscard]] std::size_t socket_count() const { return sockets_.size(); }
  [[nodiscard]] Mark highest_mark() const { return marks_.highest(); }
  [[nodiscard]] const RegistryCounts& counts() const { return counts_; }

private:
  using Jobs = std::map<std::string, Job>;
  /// New jobs that a user has declared since then.
  struct Declared {
    TimeNs since{};
    std::size_t jobs = 0;
  };

  [[noreturn]] void refuse(Reason reason, const std::string& message);
  void check_own(const Peer& peer, const AddJobRequest& request, TimeNs now);
  [[nodiscard]] std::vector<std::string> in_the_way(const Peer& peer, const AddJobRequest& request);
  [[nodiscard]] TimeNs end_of(const AddJobRequest& request, bool is_own, TimeNs now) const;
  Job remove(Jobs::iterator job, TimeNs now);
  [[nodiscard]] Mark new_mark();
  [[noreturn]] void refuse_unknown(const Peer& peer, const std::string& id, TimeNs now);
  [[noreturn]] void refuse_without_job(const Peer& peer, const OpenRequest& request);

  Settings settings_;
  Marks marks_;
  Jobs jobs_;
  std::unordered_map<std::uint64_t, Socket> sockets_; ///< by inode
  std::bitset<end_points_per_host> end_points_;       ///< of sockets
  std::uint16_t last_end_point_ = end_points_per_host - 1;
  /// The newest jobs that have ended, for messages.
  std::deque<std::pair<std::string, TimeNs>> ended_;
  std::map<std::uint32_t, Declared> declared_; ///< by user id
  RegistryCounts counts_;
};

} // namespace tributary::host_agent
