// The reports of switches, by number in the graph, and the session of each. Properties that matter
// to trees are queried here; for a switch that never connected, nothing is known.
//
// Pure.
#pragma once

#include "controlplane/records/wide_frames.hpp"
#include "controlplane/southbound/protocol/switch_report.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/subject.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace tributary::fabric_controller {

class SwitchTable {
public:
  using SwitchReport = southbound::protocol::SwitchReport;

  /// Follows the size of the graph.
  void resize(std::size_t switches) { reports_.resize(switches); }
  /// Starts a new report; a previous session of the switch has ended.
  SwitchReport& connected(topology::SwitchId at, transaction::SessionNumber session) {
    SwitchReport& report = reports_[at.value];
    if (report.connected) {
      sessions_.erase(report.session);
    }
    report = {};
    report.session = session;
    report.connected = true;
    sessions_[session] = at;
    return report;
  }
  /// The switch of the session; nothing if the session has already ended.
  std::optional<topology::SwitchId> disconnected(transaction::SessionNumber session) {
    const auto at = of(session);
    if (at) {
      sessions_.erase(session);
      reports_[at->value].connected = false;
    }
    return at;
  }
  [[nodiscard]] std::optional<topology::SwitchId> of(transaction::SessionNumber session) const {
    const auto found = sessions_.find(session);
    return found == sessions_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::vector<transaction::SessionNumber> sessions() const {
    std::vector<transaction::SessionNumber> all;
    for (const auto& [session, at] : sessions_) {
      all.push_back(session);
    }
    return all;
  }
  [[nodiscard]] bool any_connected() const { return !sessions_.empty(); }

  [[nodiscard]] SwitchReport& operator[](topology::SwitchId at) { return reports_[at.value]; }
  [[nodiscard]] const SwitchReport& operator[](topology::SwitchId at) const {
    return reports_[at.value];
  }
  /// By SwitchId.
  [[nodiscard]] const std::vector<SwitchReport>& reports() const { return reports_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(reports_.size()); }

  [[nodiscard]] bool was_heard(topology::SwitchId at) const {
    return at.value < reports_.size() && reports_[at.value].heard != TimeNs{};
  }
  /// Descriptors of each engine of the switch; nothing when they cannot run out.
  [[nodiscard]] std::optional<std::uint32_t> scarce_descriptors(topology::SwitchId at) const {
    return at.value < reports_.size() ? reports_[at.value].scarce_descriptors() : std::nullopt;
  }
  /// The most that a tree can have there, regardless of others; nothing for a switch that never
  /// connected.
  [[nodiscard]] records::WideFrames widest_at(topology::SwitchId at) const {
    return at.value < reports_.size() ? reports_[at.value].widest() : records::WideFrames{};
  }

private:
  std::vector<SwitchReport> reports_;
  std::map<transaction::SessionNumber, topology::SwitchId> sessions_;
};

} // namespace tributary::fabric_controller
