// What a store should hold after a list of changes, worked out with ordered maps alone: the test's
// own idea of records.hpp, to compare the real one with.
#pragma once

#include "controlplane/store/records.hpp"

#include <map>
#include <span>
#include <string>
#include <utility>

namespace tributary::test {

class MemoryDisk {
public:
  void apply(std::span<const store::Change> changes) {
    for (const auto& change : changes) {
      std::visit([this](const auto& c) { one(c); }, change);
    }
  }
  /// As a store answers that is opened for the `epoch`th time.
  [[nodiscard]] store::Snapshot load(std::uint64_t epoch) const {
    store::Snapshot all;
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
    all.topology = topology_;
    return all;
  }

private:
  using Id = store::GroupId;
  void one(const store::JobRecord& r) { jobs_.insert_or_assign(r.id, r); }
  void one(const store::GroupRecord& r) { groups_.insert_or_assign(r.id, r); }
  void one(const store::MemberRecord& r) {
    members_.insert_or_assign(std::pair{r.group, r.rank}, r);
  }
  void one(const store::TreeRecord& r) { trees_.insert_or_assign(r.number, r); }
  void one(const store::AddressRecord& r) { addresses_.insert_or_assign(r.space, r); }
  void one(const store::TopologyRecord& r) { topology_ = r; }
  void one(const store::EraseJob& e) { jobs_.erase(e.id); }
  void one(const store::EraseMember& e) { members_.erase({e.group, e.rank}); }
  void one(const store::EraseGroup& e) {
    groups_.erase(e.id);
    std::erase_if(members_, [&](const auto& m) { return m.second.group == e.id; });
    std::erase_if(trees_, [&](const auto& t) { return t.second.group == e.id; });
  }

  std::map<std::string, store::JobRecord> jobs_;
  std::map<Id, store::GroupRecord> groups_;
  std::map<std::pair<Id, std::uint32_t>, store::MemberRecord> members_;
  std::map<TreeNumber, store::TreeRecord> trees_;
  std::map<std::string, store::AddressRecord> addresses_;
  std::optional<store::TopologyRecord> topology_;
};

/// Everything but the epoch.
inline bool same_content(const store::Snapshot& a, const store::Snapshot& b) {
  return a.jobs == b.jobs && a.groups == b.groups && a.members == b.members && a.trees == b.trees &&
         a.addresses == b.addresses && a.topology == b.topology;
}

} // namespace tributary::test
