// What a job needs of the fabric manager: an allocation before it starts, answers to its ranks'
// requests while it runs, and to be forgotten afterwards. Blocking; one thread.
//
// The allocation is a job of the manager (docs/protocol/manager-api.md) with the nodes' hosts: one
// that exists, where the caller names it and has its token, or a new one, which needs the
// administrator's rights. What it gives, as values that nodes and ranks read:
//
//   fm.job, fm.vni       the job and its VNI                               JOB
//   fm.mcast             groups that it may have at a time                 JOB
//   fm.cookie            128 random bits, the same for all ranks           JOB
//   fm.routetime         number of links between nodes, relative to the    JOB
//                        shortest; by node, row after row; 0 to itself
//   TRIBUTARY_...        what the host library reads: manager, job, token  ENVIRONMENT
//
// and, of each node, its fabric interface and address, of which PMIX_FABRIC_ENDPT of every rank is
// made.
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"
#include "endpoint/manager_client/manager_client.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::launch::fabric {

struct FabricSettings {
  manager_client::ClientSettings manager;
  std::string job{};        ///< one that exists; "": a new one
  std::string new_job{};    ///< the name of a new one
  std::string interface {}; ///< of all nodes; "": the one whose host the manager knows
  std::uint32_t multicast_limit = 4;
};

struct NodeFacts {
  std::string name;
  std::vector<std::uint32_t> ranks;
  messages::Hello hello; ///< with what it has
};

struct Allocation {
  std::vector<messages::Value> values;
  /// Only interface, fabric address, end points and values of each.
  std::vector<messages::Node> nodes;
  std::vector<std::string> notes; ///< lines for a person: nodes that the manager does not know
  std::string job;
  std::string token; ///< the job's
  /// The manager's number of the last event before the job.
  std::uint64_t events_after = 0;
};

/// A rank's request, and the manager's answer.
struct Request {
  std::string method; ///< "GET", "POST", "PUT", "PATCH", "DELETE"
  std::string path;
  std::string body; ///< JSON, or ""
};
struct Reply {
  std::uint32_t status = 0; ///< of HTTP
  std::string body;
};

class FabricClient {
public:
  explicit FabricClient(FabricSettings settings);

  /// Throws ManagerError.
  [[nodiscard]] Allocation allocate(const std::vector<NodeFacts>& nodes);
  /// What a node has now. Throws ManagerError.
  void report(const std::string& node, const messages::Hello& hello);
  /// Says that the launcher lives, so that the manager keeps the allocation. Nothing where the job
  /// was there before. Throws ManagerError.
  void renew();
  /// How often that is to be done; nothing where it is not.
  [[nodiscard]] std::optional<std::chrono::seconds> renewed_every() const;
  /// With the job's token, whoever the launcher is. Throws ManagerError, std::invalid_argument.
  [[nodiscard]] Reply request(const Request& request);
  /// Deletes the job that `allocate` has made, if it has. Throws ManagerError.
  void release();
  /// Any thread: ends what is going on.
  void cancel();

private:
  FabricSettings settings_;
  manager_client::ManagerClient manager_;
  std::optional<manager_client::ManagerClient> as_job_;
  bool made_ = false;
};

} // namespace tributary::launch::fabric
