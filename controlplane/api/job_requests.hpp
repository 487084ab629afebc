// Requests of launchers, and their JSON: a job's allocation, and the inventory of nodes. Pure.
//
// docs/protocol/manager-api.md describes the blob that answers an allocation.
#pragma once

#include "controlplane/job/node_inventory.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::api {

struct AllocationRequest {
  static constexpr std::size_t most_nodes = 16'384;
  static constexpr std::size_t most_ranks = 1U << 20U;
  struct Node {
    std::string name;
    std::vector<std::uint32_t> ranks;
    job::NodeInventory inventory;
  };
  std::string job;
  bool exists = false; ///< "exists": the job exists, and stays unchanged
  std::optional<std::uint32_t> multicast_limit;
  std::string interface; ///< the same on all nodes; "": found by its address
  static constexpr std::uint32_t longest_lease_seconds = 86'400;
  /// How long the job's events may be without a follower before the job counts as over; 0: no
  /// limit.
  std::uint32_t lease_seconds = 0;
  std::vector<Node> nodes;
};

struct NodeReport {
  std::string name;
  std::string job; ///< "": the caller's
  job::NodeInventory inventory;
};

/// Throws RequestError.
[[nodiscard]] AllocationRequest allocation_request(const boost::json::object& body);
[[nodiscard]] NodeReport node_report(const std::string& name, const boost::json::object& body);

[[nodiscard]] boost::json::object json_of(const job::NodeInventory& node);

} // namespace tributary::api
