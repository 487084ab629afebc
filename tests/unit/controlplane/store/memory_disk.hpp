// What a store should hold after a list of changes, computed with ordered maps alone: the test's
// own model of records.hpp, for comparison with the real one.
#pragma once

#include "controlplane/records/records.hpp"

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace tributary::test {

class MemoryDisk {
public:
  void apply(std::span<const records::Change> changes) {
    for (const auto& change : changes) {
      std::visit([this](const auto& c) { one(c); }, change);
    }
  }
  /// The content of a store that is opened for the `epoch`th time.
  [[nodiscard]] records::Snapshot load(std::uint64_t epoch) const {
    records::Snapshot all;
    all.epoch = epoch;
    for (const auto& [key, r] : jobs_) {
      all.jobs.push_back(r);
    }
    for (const auto& [key, r] : groups_) {
      all.groups.push_back(r);
    }
    for (const auto& [key, r] : members_) {
      all.members.push_back(r);
    }
    for (const auto& [key, r] : trees_) {
      all.trees.push_back(r);
    }
    for (const auto& [key, r] : addresses_) {
      all.addresses.push_back(r);
    }
    for (const auto& [key, r] : switches_) {
      all.switches.push_back(r);
    }
    for (const auto& [key, r] : links_) {
      all.links.push_back(r);
    }
    for (const auto& [key, r] : hosts_) {
      all.hosts.push_back(r);
    }
    for (const auto& [key, setting] : rdma_settings_) {
      all.rdma_settings.push_back(setting);
    }
    for (const auto& [vni, nid] : rdma_quarantines_) {
      all.rdma_quarantines.push_back({vni, nid});
    }
    all.superseded_by = lead_.superseded_by;
    for (const auto& [fabric, a] : adoptions_) {
      all.adoptions.push_back(a);
    }
    for (const auto& [vni, r] : vni_releases_) {
      all.vni_releases.push_back(r);
    }
    for (const auto& at : drains_) {
      all.drains.push_back({at});
    }
    return all;
  }

private:
  using Id = records::GroupId;
  void one(const records::JobRecord& r) { jobs_.insert_or_assign(r.id, r); }
  void one(const records::GroupRecord& r) { groups_.insert_or_assign(r.id, r); }
  void one(const records::MemberRecord& r) {
    members_.insert_or_assign(std::pair{r.group, r.rank}, r);
  }
  void one(const records::TreeRecord& r) { trees_.insert_or_assign(r.number, r); }
  void one(const records::AddressRecord& r) { addresses_.insert_or_assign(r.space, r); }
  void one(const records::SwitchRecord& r) { switches_.insert_or_assign(r.number, r); }
  void one(const records::LinkRecord& r) { links_.insert_or_assign(r.number, r); }
  void one(const records::HostRecord& r) { hosts_.insert_or_assign(r.nid, r); }
  static std::uint32_t scope_of(const std::optional<Vni>& vni) { return vni ? vni->value : 65'536; }
  void one(const records::RdmaSettingRecord& r) {
    rdma_settings_.insert_or_assign({scope_of(r.vni), r.field}, r);
  }
  void one(const records::EraseRdmaSetting& e) { rdma_settings_.erase({scope_of(e.vni), e.field}); }
  void one(const records::RdmaQuarantineRecord& r) { rdma_quarantines_.emplace(r.vni, r.nid); }
  void one(const records::EraseRdmaQuarantine& e) { rdma_quarantines_.erase({e.vni, e.nid}); }
  void one(const records::LeadRecord& r) { lead_ = r; }
  void one(const records::AdoptionRecord& r) { adoptions_.insert_or_assign(r.fabric, r); }
  void one(const records::VniReleaseRecord& r) { vni_releases_.insert_or_assign(r.vni, r); }
  void one(const records::DrainRecord& r) { drains_.insert(r.at); }
  void one(const records::EraseDrain& e) { drains_.erase(e.at); }
  void one(const records::EraseHost& e) { hosts_.erase(e.nid); }
  void one(const records::EraseTopology&) {
    switches_.clear();
    links_.clear();
    hosts_.clear();
  }
  void one(const records::EraseJob& e) { jobs_.erase(e.id); }
  void one(const records::EraseMember& e) { members_.erase({e.group, e.rank}); }
  void one(const records::EraseGroup& e) {
    groups_.erase(e.id);
    std::erase_if(members_, [&](const auto& m) { return m.second.group == e.id; });
    std::erase_if(trees_, [&](const auto& t) { return t.second.group == e.id; });
  }

  std::map<std::string, records::JobRecord> jobs_;
  std::map<Id, records::GroupRecord> groups_;
  std::map<std::pair<Id, std::uint32_t>, records::MemberRecord> members_;
  std::map<TreeNumber, records::TreeRecord> trees_;
  std::map<std::string, records::AddressRecord> addresses_;
  std::map<std::uint32_t, records::SwitchRecord> switches_;
  std::map<std::uint32_t, records::LinkRecord> links_;
  std::map<Nid, records::HostRecord> hosts_;
  std::set<std::string> drains_;
  std::map<std::pair<std::uint32_t, std::string>, records::RdmaSettingRecord> rdma_settings_;
  std::set<std::pair<Vni, Nid>> rdma_quarantines_;
  std::map<Vni, records::VniReleaseRecord> vni_releases_;
  records::LeadRecord lead_;
  std::map<std::uint64_t, records::AdoptionRecord> adoptions_;
};

/// Everything but the epoch.
inline bool same_content(const records::Snapshot& a, const records::Snapshot& b) {
  return a.jobs == b.jobs && a.groups == b.groups && a.members == b.members && a.trees == b.trees &&
         a.addresses == b.addresses && a.switches == b.switches && a.links == b.links &&
         a.hosts == b.hosts && a.drains == b.drains && a.rdma_settings == b.rdma_settings &&
         a.rdma_quarantines == b.rdma_quarantines && a.vni_releases == b.vni_releases &&
         a.superseded_by == b.superseded_by && a.adoptions == b.adoptions;
}

} // namespace tributary::test
