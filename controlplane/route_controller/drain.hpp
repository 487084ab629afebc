// Whether a switch can be drained, and whether it is out of use. Pure.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <set>
#include <string>
#include <vector>

namespace tributary::route_controller {

/// Hosts that lose connections when these switches are avoided, by name, ascending: those attached
/// to them, and those that the rest of the fabric cannot reach without them. Hosts that are already
/// cut off do not count.
struct CutOff {
  std::vector<std::string> on_it;
  std::vector<std::string> behind_it;
  [[nodiscard]] bool empty() const { return on_it.empty() && behind_it.empty(); }
  /// "4 hosts are attached to leaf0 (h0, h1, h2 and 1 more)"
  [[nodiscard]] std::string describe(std::string_view switch_name) const;
};

/// The effect of draining one more switch, in addition to those that are drained already.
[[nodiscard]] CutOff cut_off_by(const topology::Graph& graph,
                                const std::set<topology::SwitchId>& drained,
                                topology::SwitchId more);

} // namespace tributary::route_controller
