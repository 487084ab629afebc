// The NUMA nodes of a machine's cores, NICs and interfaces, as the kernel's files have them.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/placement/nodes.hpp"
#include "dataplane/port/machine_files.hpp"

namespace tributary::port {

[[nodiscard]] placement::Node node_of_core(const MachineFiles& files, unsigned core);
/// Node of the NIC behind it; for virtual devices and kinds without one `any_node`.
[[nodiscard]] placement::Node node_of_port(const MachineFiles& files, const config::Port& port);
[[nodiscard]] placement::Nodes nodes_of(const MachineFiles& files,
                                        const config::Config& configuration);

} // namespace tributary::port
