// A job's client of the fabric manager: an allocation before it starts, answers to its ranks'
// requests while it runs, and its release afterwards. Blocking; one thread.
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
  std::string interface {}; ///< interface of all nodes; "": the one whose host the manager knows
  std::uint32_t multicast_limit = 16;
};

struct NodeFacts {
  std::string name;
  std::vector<std::uint32_t> ranks;
  messages::Hello hello; ///< as the node sent it
};

struct Allocation {
  std::vector<messages::Value> values;
  /// Only interface, fabric address, end points and values of each.
  std::vector<messages::Node> nodes;
  std::vector<std::string> notes; ///< lines for people: nodes that the manager does not know
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
  std::uint32_t status = 0; ///< HTTP status
  std::string body;
};

class FabricClient {
public:
  explicit FabricClient(FabricSettings settings);

  /// Asks for so long while the manager is away; 0: once. Throws ManagerError.
  [[nodiscard]] Allocation allocate(const std::vector<NodeFacts>& nodes,
                                    std::chrono::milliseconds ask_for = {});
  /// Reports the current state of a node. Throws ManagerError.
  void report(const std::string& node, const messages::Hello& hello);
  /// Renews the lease of the allocation with the manager. Does nothing for a job that existed
  /// before. Throws ManagerError.
  void renew();
  /// How often to call renew(); nullopt where it is not needed.
  [[nodiscard]] std::optional<std::chrono::seconds> renewed_every() const;
  /// Sends a request with the job's token, whatever the launcher's own rights. Throws ManagerError,
  /// std::invalid_argument.
  [[nodiscard]] Reply request(const Request& request);
  /// Deletes the job that `allocate` has created, if any. Throws ManagerError.
  void release();
  /// Cancels the running call. Any thread.
  void cancel();

private:
  FabricSettings settings_;
  manager_client::ManagerClient manager_;
  std::optional<manager_client::ManagerClient> as_job_;
  bool made_ = false;
};

} // namespace tributary::launch::fabric
