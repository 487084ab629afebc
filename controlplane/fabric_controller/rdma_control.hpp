// Retransmit handling in the manager's turns: passes the reports of hosts to the rooms that decide,
// and the decisions to hosts, people and the routing room.
//
//   report of a host --> PeerTable, ExceptionLog, Transfers
//                            | quarantined for all
//                            v
//                        Suspects --> RouteControl: a fault, and switches to avoid
//
// No transfer waits for any of it: a host uses the last policy and list that it was given.
//
// Pure.
#pragma once

#include "controlplane/api/rdma_views.hpp"
#include "controlplane/fabric_controller/route_control.hpp"
#include "controlplane/records/records.hpp"
#include "controlplane/retransmit/exception_log.hpp"
#include "controlplane/retransmit/peer_table.hpp"
#include "controlplane/retransmit/policy_document.hpp"
#include "controlplane/retransmit/suspects.hpp"
#include "controlplane/retransmit/transfers.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tributary::fabric_controller {

struct RdmaSettings {
  /// "FIELD=VALUE" or "VNI/FIELD=VALUE"; policy_document.hpp.
  std::vector<std::string> policy;
  retransmit::QuarantineSettings quarantine{};
  retransmit::SuspectSettings suspect{};
  /// Jobs whose hosts have to report before a switch is suspected; the administrator's hosts
  /// suffice alone.
  std::size_t suspect_jobs = 3;
};

class RdmaControl final : public turns::Controller {
public:
  /// Versions are above `version`.
  RdmaControl(const RdmaSettings& settings, turns::Environment& environment,
              const topology::Discovery& discovery, RouteControl& routes, std::uint64_t version,
              turns::EventReporter report_event);

  void restore(const records::Snapshot& past, TimeNs now);
  void reconfigure(const RdmaSettings& settings, TimeNs now);

  /// Requires a host that is attached. VNIs that the reporter may not use must be left out.
  [[nodiscard]] api::RdmaInstruction report(const api::RdmaReport& report,
                                            topology::Attachment place, TimeNs now);
  /// Counts exceptions about peers that the reporter may not report.
  void refuse(std::size_t exceptions);
  /// Returns the changes to store; or sets `error`, and nothing has changed.
  [[nodiscard]] std::vector<records::Change> patch(const api::RdmaPolicyPatch& patch,
                                                   std::string& error);
  /// False if the table is full, or the peer was not quarantined.
  [[nodiscard]] bool quarantine(const retransmit::PeerId& peer, bool quarantine, TimeNs now);

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "retransmit handling"; }
  [[nodiscard]] std::span<const std::string_view> after() const override;
  void fabric_changed() override { look_for_suspects_ = true; }
  bool handle(const turns::Turn& turn) override;
  [[nodiscard]] TimeNs next_deadline(const turns::Turn& turn) const override;

  [[nodiscard]] api::RdmaReadView read_view() const {
    return {discovery_.graph(), document_, peers_, suspects_, transfers_, exceptions_, reports_};
  }

private:
  [[nodiscard]] std::string describe(const retransmit::PeerId& peer) const;
  void report_peers();
  [[nodiscard]] std::map<std::string, retransmit::Behind> behind_switches() const;
  bool follow_suspects(TimeNs now);

  turns::Environment& environment_;
  const topology::Discovery& discovery_;
  RouteControl& routes_;
  turns::EventReporter report_event_;
  retransmit::PolicyDocument document_;
  retransmit::PeerTable peers_;
  retransmit::Suspects suspects_;
  retransmit::SuspectSettings suspect_settings_;
  std::size_t suspect_jobs_;
  retransmit::Transfers transfers_;
  retransmit::ExceptionLog exceptions_;
  std::uint64_t reports_ = 0;
  bool look_for_suspects_ = true;
  std::uint64_t seen_version_ = 0; ///< of the peers
};

} // namespace tributary::fabric_controller
