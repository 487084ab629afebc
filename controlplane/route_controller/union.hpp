// What switches hold now, as tables that can be walked together with new ones: during a change each
// switch may have any of those it holds, or the new one.
//
// Pure.
#pragma once

#include "controlplane/route_controller/fabric.hpp"
#include "controlplane/route_controller/routes_content.hpp"
#include "controlplane/unicast/algorithm.hpp"
#include "dataplane/forwarding_table/routes.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::route_controller {

/// A content that a switch holds, or may hold: one of several during a change.
struct HeldRoutes {
  topology::SwitchId at;
  Epoch epoch = 0;
  std::uint64_t digest = 0;
  /// For the graph of that time; null: unknown, and compatible with no others.
  std::shared_ptr<const forwarding_table::Routes> routes;
};

class Union {
public:
  /// Keeps a reference to the fabric.
  Union(const Fabric& fabric, std::span<const HeldRoutes> held, std::uint8_t vcs);

  [[nodiscard]] bool holds_any() const { return !holders_.empty(); }
  /// Whether no deadlock is possible while some switches hold the new tables and some still old
  /// ones.
  [[nodiscard]] bool may_meet(const unicast::TableSet& tables) const;
  /// Tables that are compatible with both the old ones and these, while the switches in `standing`
  /// keep what they hold; from the first suitable spanning tree.
  [[nodiscard]] std::optional<unicast::TableSet> find_between(const unicast::TableSet& next,
                                                              const Union& standing) const;
  /// Where frames end while switches that hold content keep it, and all others have these.
  [[nodiscard]] Walked walk_with(const unicast::TableSet& tables) const;
  /// Whether all held content is known.
  [[nodiscard]] bool is_known() const { return all_known_; }
  /// Endpoints whose routes change; all, if nothing was held.
  [[nodiscard]] std::vector<std::uint32_t>
  changed_destinations(const unicast::TableSet& tables) const;
  /// "leaf0, leaf1 and 14 more"
  [[nodiscard]] std::string describe_holders() const;

private:
  [[nodiscard]] bool acyclic(std::vector<const unicast::TableSet*> sets) const;
  [[nodiscard]] unicast::TableSet widened(const unicast::TableSet& set) const;

  const Fabric& fabric_;
  /// As many as some switch holds; a switch with fewer repeats its first one.
  std::vector<unicast::TableSet> sets_;
  std::vector<std::uint32_t> holders_; ///< ascending
  bool all_known_ = true;
  std::uint8_t vcs_;
};

} // namespace tributary::route_controller
