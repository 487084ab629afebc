// Whether a target can be in the switches' tables at all, before any of them is asked.
//
// Pure.
#pragma once

#include "controlplane/transaction/inventory.hpp"
#include "controlplane/transaction/kind.hpp"

#include <optional>
#include <string>

namespace tributary::transaction {

struct Objection {
  std::optional<SwitchId> at; ///< none when it is the target itself
  std::string why;            ///< "port 9 does not exist; the switch has ports 0 to 5"
};

/// Looks at what the kind objects to, at ports, permissions and contents of the switches' own
/// files, and at who is connected: a switch that has to be told must be; one that is known to hold
/// its part need not.
[[nodiscard]] std::optional<Objection> object_to(const Target& target, const Kind& kind,
                                                 const Inventory& inventory,
                                                 const topology::Graph& graph);

/// None when the switch has the port.
[[nodiscard]] std::optional<std::string> object_to_port(topology::Port port,
                                                        const Inventory::Switch& s);

} // namespace tributary::transaction
