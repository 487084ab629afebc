#include "tests/fabric/managed/stored_past.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace tributary::fabric {
namespace {

using store::Snapshot;

auto key(const store::JobRecord& r) { return r.id; }
auto key(const store::GroupRecord& r) { return r.id; }
auto key(const store::MemberRecord& r) { return std::tuple(r.group, r.rank); }
auto key(const store::TreeRecord& r) { return r.number; }
auto key(const store::AddressRecord& r) { return r.space; }

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
  void operator()(const store::JobRecord& r) const { put(snapshot.jobs, r); }
  void operator()(const store::GroupRecord& r) const { put(snapshot.groups, r); }
  void operator()(const store::MemberRecord& r) const { put(snapshot.members, r); }
  void operator()(const store::TreeRecord& r) const { put(snapshot.trees, r); }
  void operator()(const store::AddressRecord& r) const { put(snapshot.addresses, r); }
  void operator()(const store::TopologyRecord& r) const { snapshot.topology = r; }
  void operator()(const store::EraseJob& e) const {
    std::erase_if(snapshot.jobs, [&](const auto& r) { return r.id == e.id; });
  }
  void operator()(const store::EraseGroup& e) const {
    std::erase_if(snapshot.groups, [&](const auto& r) { return r.id == e.id; });
    std::erase_if(snapshot.members, [&](const auto& r) { return r.group == e.id; });
    std::erase_if(snapshot.trees, [&](const auto& r) { return r.group == e.id; });
  }
  void operator()(const store::EraseMember& e) const {
    std::erase_if(snapshot.members,
                  [&](const auto& r) { return r.group == e.group && r.rank == e.rank; });
  }
};

} // namespace

void StoredPast::apply(std::span<const store::Change> changes) {
  ++writes_;
  for (const store::Change& change : changes) {
    std::visit(Apply{snapshot_}, change);
  }
}

store::Snapshot StoredPast::load() {
  ++snapshot_.epoch;
  return snapshot_;
}

} // namespace tributary::fabric
