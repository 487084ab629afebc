// Whether a tree can be in the switches' tables at all, before any of them is asked.
//
// Pure.
#pragma once

#include "controlplane/install/inventory.hpp"
#include "controlplane/install/target.hpp"

#include <optional>
#include <string>

namespace tributary::install {

struct Objection {
  std::optional<SwitchId> at; ///< none when it is the target itself
  std::string why;            ///< "port 9 does not exist; the switch has ports 0 to 5"
};

/// Looks at numbers, ports, wait counts, trees of the switches' own files, and at who is connected:
/// a switch that has to be told must be; one that is known to hold its part need not.
[[nodiscard]] std::optional<Objection>
object_to(const TreeTarget& target, const Inventory& inventory, const topology::Graph& graph);

} // namespace tributary::install
