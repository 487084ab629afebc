// Between a host's RDMA and the agent that talks to the fabric manager: gathers what is to be
// reported, and carries out the manager's answers. Pure, except for the node that it works on.
//
//   exchange.gather(rdma)          exceptions, transfers, answers to probes    --> report()
//   exchange.take(news, rdma)      policies, quarantined peers, probes to send
//
// A probe is a write of no bytes to a region that cannot exist: a peer that is alive refuses it, or
// answers that it is busy. A quarantined peer is released for this one write.
//
// Bounded in size: what exceeds one report is left out, and sent with a later one.
#pragma once

#include "endpoint/library/rdma.hpp"
#include "endpoint/manager_client/retransmit_report.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace tributary::library {

class RetransmitExchange {
public:
  explicit RetransmitExchange(Nid nid) { report_.nid = nid; }

  void gather(Rdma& rdma);
  void take(const manager_client::RetransmitNews& news, Rdma& rdma);
  /// The report so far. Call `clear_reported` when it has arrived.
  [[nodiscard]] const manager_client::RetransmitReport& report() const { return report_; }
  void clear_reported(const manager_client::RetransmitReport& arrived);
  /// Number of quarantined peers for which the node has no room. Their list is requested again.
  [[nodiscard]] std::size_t refused() const;
  [[nodiscard]] bool has_exceptions() const { return !report_.exceptions.empty(); }

private:
  void note(Vni vni) {
    if (report_.vnis.size() < manager_client::RetransmitReport::most_vnis &&
        report_.vnis.insert(vni).second) {
      // Requests the policies and quarantined peers in force.
      report_.policy_version = 0;
      report_.quarantined_version = 0;
    }
  }
  void quarantine(const std::map<Vni, std::set<Nid>>& quarantined, Rdma& rdma);
  void probe(const manager_client::RdmaPeer& peer, Rdma& rdma);

  manager_client::RetransmitReport report_;
  std::map<Vni, std::set<Nid>> quarantined_;
  std::map<Vni, std::size_t> refused_;
  std::map<std::uint64_t, manager_client::RdmaPeer> probes_; ///< probes in progress, by their mark
  std::uint32_t next_probe_ = 1;
};

} // namespace tributary::library
