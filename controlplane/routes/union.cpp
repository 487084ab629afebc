#include "controlplane/routes/union.hpp"

#include "controlplane/unicast/graph_tables.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/verify.hpp"

#include <algorithm>
#include <utility>

namespace tributary::routes {
namespace {

using unicast::TableSet;

/// Spanning trees that are tried: from roots all over the fabric.
constexpr std::uint32_t trees_tried = 8;

} // namespace

Union::Union(const Fabric& fabric, std::span<const HeldRoutes> held, std::uint8_t vcs)
    : fabric_(fabric), vcs_(vcs) {
  for (const HeldRoutes& one : held) {
    vcs_ = one.routes ? std::max(vcs_, one.routes->table.vcs) : vcs_;
    all_known_ = all_known_ && one.routes;
  }
  std::vector<std::size_t> have(fabric.switches());
  for (const HeldRoutes& one : held) {
    epochs_.insert(one.epoch);
    if (!one.routes) {
      continue;
    }
    const std::size_t set = have[one.at.value]++;
    if (set == sets_.size()) {
      sets_.push_back(set == 0 ? fabric.empty_tables(vcs_) : sets_.front());
    }
    routing::SwitchTable table = unicast::fitted(one.routes->table, fabric.switches(),
                                                 fabric.network.ports(one.at.value), vcs_);
    for (std::size_t i = set; i < sets_.size() && (set == 0 || i == set); ++i) {
      sets_[i].switches[one.at.value] = table;
    }
  }
}

bool Union::acyclic(std::vector<const TableSet*> sets) const {
  std::vector<TableSet> widened;
  widened.reserve(sets.size());
  for (const TableSet*& set : sets) {
    if (set->vcs == vcs_) {
      continue;
    }
    TableSet& wide = widened.emplace_back();
    wide.vcs = vcs_;
    for (std::uint32_t s = 0; s < fabric_.switches(); ++s) {
      wide.switches.push_back(
          unicast::fitted(set->switches[s], fabric_.switches(), fabric_.network.ports(s), vcs_));
    }
    set = &wide;
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

std::optional<TableSet> Union::find_between(const TableSet& next) const {
  if (!all_known_) {
    return std::nullopt;
  }
  const std::uint32_t stride = std::max(1U, fabric_.switches() / trees_tried);
  for (std::uint32_t attempt = 0; attempt <= trees_tried; ++attempt) {
    std::optional<std::uint32_t> root; // first, the tree that `general` has in its tables
    if (attempt > 0) {
      root = (attempt - 1) * stride;
    }
    if (root && (*root >= fabric_.switches() || !fabric_.graph[topology::SwitchId{*root}].up)) {
      continue;
    }
    TableSet between = fabric_.empty_tables(next.vcs);
    try {
      for (const auto& part : fabric_.parts) {
        TableSet of_part = unicast::escape_tables(fabric_.network, fabric_.planned, part, next.vcs,
                                                  fabric_.parts.size() == 1 ? root : std::nullopt);
        for (std::uint32_t s = 0; s < fabric_.switches(); ++s) {
          if (std::ranges::any_of(of_part.switches[s].rows,
                                  [](std::uint16_t a) { return a != 0; })) {
            between.switches[s] = std::move(of_part.switches[s]);
          }
        }
      }
    } catch (const unicast::RouteError&) {
      continue; // this root is in no part with hosts
    }
    if (may_meet(between) && acyclic({&between, &next})) {
      return between;
    }
  }
  return std::nullopt;
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

} // namespace tributary::routes
