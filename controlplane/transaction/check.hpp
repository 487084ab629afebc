// Whether switches can hold a target at all, before any of them is asked.
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

/// Checks the kind's own objections, ports, permissions and contents of the switches' own files,
/// and connections: a switch that needs a message must be connected; one that is known to hold its
/// part need not be.
[[nodiscard]] std::optional<Objection> object_to(const Target& target, const Kind& kind,
                                                 const Inventory& inventory,
                                                 const topology::Graph& graph);

/// Nothing when the switch has the port.
[[nodiscard]] std::optional<std::string> object_to_port(topology::Port port,
                                                        const Inventory::Switch& s);

} // namespace tributary::transaction
