// Jobs of this node, who asks for something, and what is asked for: plain data.
#pragma once

#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::host_agent {

/// The mark of a packet socket (SO_MARK). The guard's rules know the VNI of each mark.
using Mark = Strong<struct MarkTag, std::uint32_t>;

// Longest texts of requests, in bytes.
inline constexpr std::size_t longest_name = 128;
inline constexpr std::size_t longest_path = 4095;
inline constexpr std::size_t longest_token = 4096;

/// A process that asks, as the kernel describes it: nothing here is the process's own word.
struct Peer {
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups{}; ///< supplementary ones
  std::string cgroup{};                ///< "/system.slice/job_5"; empty if unknown
  /// Root of a container: user 0, who may not administer the node's network.
  bool is_confined = false;

  [[nodiscard]] bool is_root() const { return uid == 0 && !is_confined; }
  [[nodiscard]] bool is_in_group(std::uint32_t group) const {
    if (gid == group) {
      return true;
    }
    for (const std::uint32_t each : groups) {
      if (each == group) {
        return true;
      }
    }
    return false;
  }
};

/// Whether a cgroup is `ancestor` or below it.
[[nodiscard]] constexpr bool is_within(std::string_view cgroup, std::string_view ancestor) {
  return cgroup == ancestor || (cgroup.starts_with(ancestor) && cgroup.size() > ancestor.size() &&
                                (ancestor.ends_with('/') || cgroup[ancestor.size()] == '/'));
}

/// How programs of a job reach the fabric manager. Empty texts: they have it from elsewhere.
struct ManagerAccess {
  std::string url{};
  std::string token{};
  std::string certificate_authority{};

  friend bool operator==(const ManagerAccess&, const ManagerAccess&) = default;
};

/// One job on this node. Its processes are those of one user, or those of that user within a
/// cgroup.
struct Job {
  std::string id{};
  Vni vni{};
  std::uint32_t uid = 0;
  std::string cgroup{};      ///< empty: every process of the user
  std::uint32_t told_by = 0; ///< user id of who declared it
  bool is_own = false;       ///< declared by its user, by leave of a service
  bool is_attached = false;  ///< ends a while after the connection that declared it
  TimeNs until = never;      ///< ends by itself
  Mark mark{};               ///< of all its sockets
  ManagerAccess manager{};

  friend bool operator==(const Job&, const Job&) = default;
};

/// Leave for users to declare jobs of their own with certain VNIs.
struct Service {
  std::string name{};
  std::vector<std::uint32_t> users{};  ///< user ids
  std::vector<std::uint32_t> groups{}; ///< group ids; without users and groups: every user
  Vni first{};
  Vni last{};

  [[nodiscard]] bool covers(const Peer& peer, Vni vni) const {
    if (vni < first || vni > last) {
      return false;
    }
    for (const std::uint32_t user : users) {
      if (peer.uid == user) {
        return true;
      }
    }
    for (const std::uint32_t group : groups) {
      if (peer.is_in_group(group)) {
        return true;
      }
    }
    return users.empty() && groups.empty();
  }
};

// Requests.

/// A packet socket for a job.
struct OpenRequest {
  std::optional<std::string> job{}; ///< absent: the only one of the caller
  std::optional<Vni> vni{};         ///< absent: the job's
  std::string interface {};         ///< empty: the agent's
  std::optional<std::uint16_t> ethertype{};
  /// For received frames that wait; 0: the socket receives nothing; absent: the agent's largest.
  std::optional<std::uint32_t> receive_buffer_bytes{};
};

/// A job is on this node from now on; or its details have changed.
struct AddJobRequest {
  std::string job{};
  Vni vni{};
  std::optional<std::uint32_t> uid{}; ///< absent: the caller's
  std::string cgroup{};
  std::optional<std::uint64_t> lifetime_ns{};
  bool is_attached = false;
  ManagerAccess manager{};
};

struct EndJobRequest {
  std::string job{};
};

/// What is on this node.
struct ShowRequest {};

/// The node's interface, and the name by which it is announced: cheap, for every program that
/// starts.
struct NodeRequest {};

} // namespace tributary::host_agent
