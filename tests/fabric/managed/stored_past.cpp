#include "tests/fabric/managed/stored_past.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace tributary::fabric {
namespace {

using records::Snapshot;

auto key(const records::JobRecord& r) { return r.id; }
auto key(const records::GroupRecord& r) { return r.id; }
auto key(const records::MemberRecord& r) { return std::tuple(r.group, r.rank); }
auto key(const records::TreeRecord& r) { return r.number; }
auto key(const records::AddressRecord& r) { return r.space; }

auto key(const records::AdoptionRecord& r) { return r.fabric; }
auto key(const records::VniReleaseRecord& r) { return r.vni.value; }
auto key(const records::DrainRecord& r) { return r.at; }
auto key(const records::SwitchRecord& r) { return r.number; }
auto key(const records::LinkRecord& r) { return r.number; }
auto key(const records::HostRecord& r) { return r.nid; }
auto key(const records::RdmaSettingRecord& r) {
  return std::tuple(!r.vni.has_value(), r.vni, r.field); // those of all VNIs last
}
auto key(const records::RdmaQuarantineRecord& r) { return std::tuple(r.vni, r.nid); }

template <typename Record> void put(std::vector<Record>& records, const Record& record) {
  const auto at = std::lower_bound(records.begin(), records.end(), record,
                                   [](const auto& a, const auto& b) { return key(a) < key(b); });
  if (at != records.end() && key(*at) == key(record)) {
    *at = record;
  } else {
    records.insert(at, record);
  }
}

struct Apply {
  Snapshot& snapshot;
  void operator()(const records::JobRecord& r) const { put(snapshot.jobs, r); }
  void operator()(const records::GroupRecord& r) const { put(snapshot.groups, r); }
  void operator()(const records::MemberRecord& r) const { put(snapshot.members, r); }
  void operator()(const records::TreeRecord& r) const { put(snapshot.trees, r); }
  void operator()(const records::AddressRecord& r) const { put(snapshot.addresses, r); }
  void operator()(const records::SwitchRecord& r) const { put(snapshot.switches, r); }
  void operator()(const records::LinkRecord& r) const { put(snapshot.links, r); }
  void operator()(const records::HostRecord& r) const { put(snapshot.hosts, r); }
  void operator()(const records::LeadRecord& r) const {
    snapshot.epoch = std::max<std::uint64_t>(snapshot.epoch, r.epoch);
    snapshot.superseded_by = r.superseded_by;
  }
  void operator()(const records::AdoptionRecord& r) const { put(snapshot.adoptions, r); }
  void operator()(const records::DrainRecord& r) const { put(snapshot.drains, r); }
  void operator()(const records::RdmaSettingRecord& r) const { put(snapshot.rdma_settings, r); }
  void operator()(const records::EraseRdmaSetting& e) const {
    std::erase_if(snapshot.rdma_settings,
                  [&](const auto& r) { return r.vni == e.vni && r.field == e.field; });
  }
  void operator()(const records::RdmaQuarantineRecord& r) const {
    put(snapshot.rdma_quarantines, r);
  }
  void operator()(const records::EraseRdmaQuarantine& e) const {
    std::erase_if(snapshot.rdma_quarantines,
                  [&](const auto& r) { return r.vni == e.vni && r.nid == e.nid; });
  }
  void operator()(const records::VniReleaseRecord& r) const { put(snapshot.vni_releases, r); }
  void operator()(const records::EraseDrain& e) const {
    std::erase_if(snapshot.drains, [&](const auto& r) { return r.at == e.at; });
  }
  void operator()(const records::EraseHost& e) const {
    std::erase_if(snapshot.hosts, [&](const auto& r) { return r.nid == e.nid; });
  }
  void operator()(const records::EraseTopology&) const {
    snapshot.switches.clear();
    snapshot.links.clear();
    snapshot.hosts.clear();
  }
  void operator()(const records::EraseJob& e) const {
    std::erase_if(snapshot.jobs, [&](const auto& r) { return r.id == e.id; });
  }
  void operator()(const records::EraseGroup& e) const {
    std::erase_if(snapshot.groups, [&](const auto& r) { return r.id == e.id; });
    std::erase_if(snapshot.members, [&](const auto& r) { return r.group == e.id; });
    std::erase_if(snapshot.trees, [&](const auto& r) { return r.group == e.id; });
  }
  void operator()(const records::EraseMember& e) const {
    std::erase_if(snapshot.members,
                  [&](const auto& r) { return r.group == e.group && r.rank == e.rank; });
  }
};

} // namespace

void StoredPast::apply(std::span<const records::Change> changes) {
  ++writes_;
  for (const records::Change& change : changes) {
    std::visit(Apply{snapshot_}, change);
  }
}

records::Snapshot StoredPast::load() {
  ++snapshot_.epoch;
  return snapshot_;
}

} // namespace tributary::fabric
