// What switches hold now, as tables that can be walked together with new ones: during a change each
// switch may have any of those it holds, or the new one.
//
// Pure.
#pragma once

#include "controlplane/routes/candidate.hpp"
#include "controlplane/routes/plan.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace tributary::routes {

class Union {
public:
  /// Holds on to the fabric.
  Union(const Fabric& fabric, std::span<const HeldRoutes> held, std::uint8_t vcs);

  /// Nothing can wait in a circle while some switches hold the new tables and some still old ones.
  [[nodiscard]] bool may_meet(const unicast::TableSet& tables) const;
  /// Tables that may meet both the old and these; of several spanning trees the first that may.
  [[nodiscard]] std::optional<unicast::TableSet> find_between(const unicast::TableSet& next) const;
  [[nodiscard]] const std::set<Epoch>& epochs() const { return epochs_; }
  /// Of endpoints; all, where nothing was held.
  [[nodiscard]] std::vector<std::uint32_t>
  changed_destinations(const unicast::TableSet& tables) const;

private:
  [[nodiscard]] bool acyclic(std::vector<const unicast::TableSet*> sets) const;

  const Fabric& fabric_;
  /// As many as some switch holds; one that holds fewer has its first one in the others, too.
  std::vector<unicast::TableSet> sets_;
  std::set<Epoch> epochs_;
  bool all_known_ = true;
  std::uint8_t vcs_;
};

} // namespace tributary::routes
