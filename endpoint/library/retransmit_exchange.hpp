// Between a host's RDMA and the agent that talks to the fabric manager: what is to be reported is
// gathered here, and what the manager says is carried out. Pure, but for the node that it works on.
//
//   exchange.gather(rdma)          exceptions, transfers, answers to probes    --> report()
//   exchange.take(news, rdma)      policies, parked peers, probes to send
//
// A probe is a write of no bytes to a region that there cannot be: a peer that is alive refuses it,
// or says that it is busy. One that is parked is let through for that one.
//
// Of bounded size: what is too much to report at once is left out, and comes again.
#pragma once

#include "endpoint/library/rdma.hpp"
#include "endpoint/manager_client/retransmit_report.hpp"
#include "tributary/types.hpp"

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
  /// So far. `clear_reported` when it has arrived.
  [[nodiscard]] const manager_client::RetransmitReport& report() const { return report_; }
  void clear_reported(const manager_client::RetransmitReport& arrived);
  [[nodiscard]] bool has_exceptions() const { return !report_.exceptions.empty(); }

private:
  void note(Vni vni) {
    if (report_.vnis.size() < manager_client::RetransmitReport::most_vnis &&
        report_.vnis.insert(vni).second) {
      // What holds there is to be heard.
      report_.policy_version = 0;
      report_.parked_version = 0;
    }
  }
  void park(const std::map<Vni, std::set<Nid>>& parked, Rdma& rdma);
  void probe(const manager_client::RdmaPeer& peer, Rdma& rdma);

  manager_client::RetransmitReport report_;
  std::map<Vni, std::set<Nid>> parked_;
  std::map<std::uint64_t, manager_client::RdmaPeer> probes_; ///< in progress, by their mark
  std::uint32_t next_probe_ = 1;
};

} // namespace tributary::library
