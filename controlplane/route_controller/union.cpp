#include "controlplane/route_controller/union.hpp"

#include "controlplane/unicast/graph_tables.hpp"
#include "controlplane/unicast/verify.hpp"

#include <algorithm>
#include <utility>

namespace tributary::route_controller {

using unicast::TableSet;

Union::Union(const Fabric& fabric, std::span<const HeldRoutes> held, std::uint8_t vcs)
    : fabric_(fabric), vcs_(vcs) {
  for (const HeldRoutes& one : held) {
    vcs_ = one.routes ? std::max(vcs_, one.routes->table.vcs) : vcs_;
    all_known_ = all_known_ && one.routes;
  }
  std::vector<std::size_t> have(fabric.switches());
  for (const HeldRoutes& one : held) {
    holders_.push_back(one.at.value);
    if (!one.routes) {
      continue;
    }
    const std::size_t set = have[one.at.value]++;
    if (set == sets_.size()) {
      sets_.push_back(set == 0 ? fabric.empty_tables(vcs_) : sets_.front());
    }
    forwarding_table::SwitchTable table = unicast::fitted(one.routes->table, fabric.switches(),
                                                          fabric.network.ports(one.at.value), vcs_);
    for (std::size_t i = set; i < sets_.size() && (set == 0 || i == set); ++i) {
      sets_[i].switches[one.at.value] = table;
    }
  }
  std::ranges::sort(holders_);
  holders_.erase(std::unique(holders_.begin(), holders_.end()), holders_.end());
}

TableSet Union::widened(const TableSet& set) const {
  TableSet wide{.vcs = vcs_, .switches = {}};
  for (std::uint32_t s = 0; s < fabric_.switches(); ++s) {
    wide.switches.push_back(
        unicast::fitted(set.switches[s], fabric_.switches(), fabric_.network.ports(s), vcs_));
  }
  return wide;
}

bool Union::acyclic(std::vector<const TableSet*> sets) const {
  std::vector<TableSet> wide;
  wide.reserve(sets.size());
  for (const TableSet*& set : sets) {
    if (set->vcs != vcs_) {
      set = &wide.emplace_back(widened(*set));
    }
  }
  return unicast::verify(fabric_.network, sets, fabric_.real, fabric_.endpoints).acyclic();
}

bool Union::may_meet(const TableSet& tables) const {
  if (!all_known_ || sets_.empty()) {
    return all_known_;
  }
  std::vector<const TableSet*> all{&tables};
  for (const TableSet& set : sets_) {
    all.push_back(&set);
  }
  return acyclic(std::move(all));
}

std::optional<TableSet> Union::find_between(const TableSet& next, const Union& standing) const {
  if (!all_known_) {
    return std::nullopt;
  }
  for (std::uint32_t which = 0; which < Fabric::spanning_trees; ++which) {
    std::optional<TableSet> between = fabric_.spanning_tree(next.vcs, which);
    if (!between || !may_meet(*between)) {
      continue;
    }
    std::vector<const TableSet*> then{&*between, &next};
    for (const TableSet& set : standing.sets_) {
      then.push_back(&set);
    }
    if (acyclic(std::move(then))) {
      return between;
    }
  }
  return std::nullopt;
}

Walked Union::walk_with(const TableSet& tables) const {
  TableSet others = tables.vcs == vcs_ ? tables : widened(tables);
  std::vector<TableSet> mixed(std::max<std::size_t>(1, sets_.size()), others);
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    for (const std::uint32_t s : holders_) {
      mixed[i].switches[s] = sets_.empty() ? unicast::empty_table(s, fabric_.switches(),
                                                                  fabric_.network.ports(s), vcs_)
                                           : sets_[i].switches[s];
    }
  }
  std::vector<const TableSet*> all;
  for (const TableSet& set : mixed) {
    all.push_back(&set);
  }
  return fabric_.walk(all);
}

std::vector<std::uint32_t> Union::changed_destinations(const TableSet& tables) const {
  if (sets_.empty() || vcs_ != tables.vcs) {
    return fabric_.endpoints;
  }
  std::vector<std::uint32_t> changed = unicast::changed_destinations(sets_.front(), tables);
  std::erase_if(changed, [&](std::uint32_t to) {
    return !std::ranges::binary_search(fabric_.endpoints, to);
  });
  return changed;
}

std::string Union::describe_holders() const {
  std::vector<std::string> names;
  for (const std::uint32_t s : holders_) {
    names.push_back(fabric_.graph[topology::SwitchId{s}].name);
  }
  return some_of(names);
}

} // namespace tributary::route_controller
