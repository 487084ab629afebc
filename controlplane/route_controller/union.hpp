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

/// What a switch holds of some set, or may hold: one of several, while it is told another one.
struct HeldRoutes {
  topology::SwitchId at;
  Epoch epoch = 0;
  std::uint64_t digest = 0;
  /// Of whatever graph there was then; null: not known, and safe beside no others.
  std::shared_ptr<const forwarding_table::Routes> routes;
};

class Union {
public:
  /// Holds on to the fabric.
  Union(const Fabric& fabric, std::span<const HeldRoutes> held, std::uint8_t vcs);

  [[nodiscard]] bool holds_any() const { return !holders_.empty(); }
  /// Nothing can wait in a circle while some switches hold the new tables and some still old ones.
  [[nodiscard]] bool may_meet(const unicast::TableSet& tables) const;
  /// Tables that may meet both the old and these, while those in `standing` go on with what they
  /// hold; of several spanning trees the first that may.
  [[nodiscard]] std::optional<unicast::TableSet> find_between(const unicast::TableSet& next,
                                                              const Union& standing) const;
  /// Where frames end while those that hold something go on with it, and all others have these.
  [[nodiscard]] Walked walk_with(const unicast::TableSet& tables) const;
  /// Whether all that is held is known.
  [[nodiscard]] bool is_known() const { return all_known_; }
  /// Of endpoints; all, where nothing was held.
  [[nodiscard]] std::vector<std::uint32_t>
  changed_destinations(const unicast::TableSet& tables) const;
  /// "leaf0, leaf1 and 14 more"
  [[nodiscard]] std::string describe_holders() const;

private:
  [[nodiscard]] bool acyclic(std::vector<const unicast::TableSet*> sets) const;
  [[nodiscard]] unicast::TableSet widened(const unicast::TableSet& set) const;

  const Fabric& fabric_;
  /// As many as some switch holds; one that holds fewer has its first one in the others, too.
  std::vector<unicast::TableSet> sets_;
  std::vector<std::uint32_t> holders_; ///< ascending
  bool all_known_ = true;
  std::uint8_t vcs_;
};

} // namespace tributary::route_controller
