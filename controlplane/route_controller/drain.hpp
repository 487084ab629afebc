// Whether a switch can be taken out of the fabric, and whether it is out. Pure.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <set>
#include <string>
#include <vector>

namespace tributary::route_controller {

/// Hosts that lose somebody when these switches are routed around, by name, ascending: those that
/// hang on them, and those that the rest of the fabric cannot reach without them. Those that are
/// cut off as it is do not count.
struct CutOff {
  std::vector<std::string> on_it;
  std::vector<std::string> behind_it;
  [[nodiscard]] bool empty() const { return on_it.empty() && behind_it.empty(); }
  /// "4 hosts hang on leaf0 (h0, h1, h2 and 1 more)"
  [[nodiscard]] std::string describe(std::string_view switch_name) const;
};

/// Of draining one more switch, beside those that are drained already.
[[nodiscard]] CutOff cut_off_by(const topology::Graph& graph,
                                const std::set<topology::SwitchId>& drained,
                                topology::SwitchId more);

} // namespace tributary::route_controller
