#include "controlplane/records/backlog.hpp"

#include <type_traits>
#include <utility>

namespace tributary::records {
namespace {

/// Key of the settings for all VNIs.
constexpr std::uint64_t all_vnis = 65'536;

// Tables in the order of writing: an erased group takes its trees along, so it precedes another
// group's tree of the same number. The whole topology is erased before parts of it are put.
enum Table : int {
  lead,
  adoptions,
  jobs,
  groups,
  members,
  trees,
  addresses,
  drains,
  vni_releases,
  rdma_settings,
  rdma_quarantines,
  topology,
  switches,
  links,
  hosts
};

} // namespace

Backlog::Key Backlog::key_of(const Change& change) {
  return std::visit(
      [](const auto& c) -> Key {
        using C = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<C, JobRecord> || std::is_same_v<C, EraseJob>) {
          return {jobs, 0, 0, c.id};
        } else if constexpr (std::is_same_v<C, GroupRecord> || std::is_same_v<C, EraseGroup>) {
          return {groups, c.id.value, 0, {}};
        } else if constexpr (std::is_same_v<C, MemberRecord> || std::is_same_v<C, EraseMember>) {
          return {members, c.group.value, c.rank, {}};
        } else if constexpr (std::is_same_v<C, TreeRecord>) {
          return {trees, c.number.value, 0, {}};
        } else if constexpr (std::is_same_v<C, AddressRecord>) {
          return {addresses, 0, 0, c.space};
        } else if constexpr (std::is_same_v<C, VniReleaseRecord>) {
          return {vni_releases, c.vni.value, 0, {}};
        } else if constexpr (std::is_same_v<C, LeadRecord>) {
          return {lead, 0, 0, {}};
        } else if constexpr (std::is_same_v<C, AdoptionRecord>) {
          return {adoptions, c.fabric, 0, {}};
        } else if constexpr (std::is_same_v<C, SwitchRecord>) {
          return {switches, c.number, 0, {}};
        } else if constexpr (std::is_same_v<C, LinkRecord>) {
          return {links, c.number, 0, {}};
        } else if constexpr (std::is_same_v<C, DrainRecord> || std::is_same_v<C, EraseDrain>) {
          return {drains, 0, 0, c.at};
        } else if constexpr (std::is_same_v<C, RdmaSettingRecord> ||
                             std::is_same_v<C, EraseRdmaSetting>) {
          return {rdma_settings, c.vni ? c.vni->value : all_vnis, 0, c.field};
        } else if constexpr (std::is_same_v<C, RdmaQuarantineRecord> ||
                             std::is_same_v<C, EraseRdmaQuarantine>) {
          return {rdma_quarantines, c.vni.value, c.nid.value, {}};
        } else if constexpr (std::is_same_v<C, HostRecord> || std::is_same_v<C, EraseHost>) {
          return {hosts, c.nid.value, 0, {}};
        } else {
          static_assert(std::is_same_v<C, EraseTopology>);
          return {topology, 0, 0, {}};
        }
      },
      change);
}

void Backlog::add(std::vector<Change> changes) {
  for (Change& change : changes) {
    if (const auto* const erased = std::get_if<EraseGroup>(&change)) {
      drop_parts_of(erased->id);
    }
    if (std::holds_alternative<EraseTopology>(change)) {
      latest_.erase(latest_.lower_bound({switches, 0, 0, {}}), latest_.end());
    }
    Key key = key_of(change);
    latest_.insert_or_assign(std::move(key), std::move(change));
  }
}

void Backlog::drop_parts_of(GroupId group) {
  latest_.erase(latest_.lower_bound({members, group.value, 0, {}}),
                latest_.lower_bound({members, group.value + 1, 0, {}}));
  for (auto it = latest_.lower_bound({trees, 0, 0, {}});
       it != latest_.end() && std::get<0>(it->first) == trees;) {
    it = std::get<TreeRecord>(it->second).group == group ? latest_.erase(it) : std::next(it);
  }
}

std::vector<Change> Backlog::changes() const {
  std::vector<Change> all;
  all.reserve(latest_.size());
  for (const auto& [key, change] : latest_) {
    all.push_back(change);
  }
  return all;
}

void Backlog::clear() { latest_.clear(); }

} // namespace tributary::records
