// A host's report to the fabric manager about its RDMA transfers, and the answer
// (docs/protocol/manager-api.md).
//
//   const RetransmitNews news = report(manager, {...});       one call, as long as it takes
//
// Blocking: call it where no transfer waits for it.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"
#include "lib/rdma_policy/exceptions.hpp"
#include "lib/rdma_policy/policy.hpp"
#include "tributary/types.hpp"

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tributary::manager_client {

struct RdmaPeer {
  Nid nid;
  Vni vni;
  friend constexpr auto operator<=>(const RdmaPeer&, const RdmaPeer&) = default;
};

struct RetransmitReport {
  // Limits of the manager.
  static constexpr std::size_t most_vnis = 64;
  static constexpr std::size_t most_exceptions = 64;
  static constexpr std::size_t most_probes = 16;
  static constexpr std::size_t most_transfers = 16;

  struct What {
    RdmaPeer peer;
    rdma_policy::Exception::Kind kind{};
    friend constexpr auto operator<=>(const What&, const What&) = default;
  };
  struct Transfer {
    RdmaPeer peer;
    std::uint32_t message = 0;
    bool sends = false;
    std::uint32_t frames = 0;
    std::uint32_t placed = 0;
    std::uint32_t retries = 0;
    std::uint32_t busy = 0;
  };

  Nid nid;
  std::set<Vni> vnis;
  std::uint64_t policy_version = 0; ///< version that this host has; 0: none
  std::uint64_t quarantined_version = 0;
  std::map<What, std::uint32_t> exceptions; ///< number of each since the last report
  std::map<RdmaPeer, bool> probes;          ///< probes, and whether they were answered
  std::uint64_t in_progress = 0;
  std::vector<Transfer> transfers;
};

struct RetransmitNews {
  std::uint64_t policy_version = 0;
  std::uint64_t quarantined_version = 0;
  /// Policies for the report's VNIs, where the host had another version.
  std::optional<std::map<Vni, rdma_policy::Policy>> policies;
  /// All peers quarantined in each of the report's VNIs, where the host had another version.
  std::optional<std::map<Vni, std::set<Nid>>> quarantined;
  std::vector<RdmaPeer> probe; ///< peers to probe now
  std::chrono::milliseconds next_report{5000};
};

/// Throws ManagerError: `garbled` also for an invalid policy.
[[nodiscard]] RetransmitNews report(ManagerClient& manager, const RetransmitReport& report);

} // namespace tributary::manager_client
