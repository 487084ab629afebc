// The switch that a scenario needs: its ports, trees and routes. Pure.
//
// Port i of the switch leads to port i of the generator. Where the scenario has only one side here
// (`role`), the switch has one port more, the last one, named "far": the other side is behind it.
//
//   traffic    tree or route      parent, or port           children      wait count
//   reduce     first_tree + t     the root's: 0, or far     the leaves'   leaves
//   multicast  first_tree + t     the sender's: t % ports,  all others    0
//                                 or far
//      shared  the same             the port after the       all others    1
//                                   sender's, or far
//   unicast    NID first_nid + j  j % ports
//   replay     none: the frames say nothing about their trees
//   mixed      all of its parts
//
// The parts of a mixed scenario may not share a tree. Trees of reductions in wide frames have
// slots, and the switch has memory for all of them.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/config/host_machine.hpp"
#include "pktgen/scenario/scenario.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::pktgen::transport {

/// Prefix of the placeholders for interfaces that only the user knows.
inline constexpr std::string_view interface_placeholder = "IFACE";

/// How many ports the generator has: those of the scenario, or of the hosted switch.
[[nodiscard]] std::size_t generator_ports(const scenario::Scenario& scenario);

/// The address of a port without one of its own: that of the host with the port's number.
[[nodiscard]] wire::MacAddress address_of_port(const scenario::Scenario& scenario,
                                               std::size_t port);

/// What the buffers of DPDK's ports and the switch have to hold: the scenario's longest frame, or
/// `longest_frame`'s default when that is longer.
[[nodiscard]] std::uint32_t longest_frame_of(const scenario::Scenario& scenario);

/// Throws configuration::ConfigError when no switch could serve the scenario: too few ports, too
/// many trees, leaves or NIDs, or parts that share a tree. The ports of a hosted switch are rings;
/// those of any other one are the other end of a memif, or on interfaces "IFACE0", "IFACE1", ...:
/// of kind af_xdp, or config::instead_of_af_xdp when frames are too long for that.
[[nodiscard]] config::Switch
switch_for(const scenario::Scenario& scenario,
           config::MemoryOrder order = config::memory_order_of_this_processor);

/// The same as a file for `tributary-switch --config`, of as many descriptors as a file may ask
/// for. `interfaces`: those of the switch, or NICs, by port; missing ones stay IFACE0, ... to be
/// filled in.
[[nodiscard]] std::string
print_switch_config(const scenario::Scenario& scenario,
                    const std::vector<std::string>& interfaces = {},
                    config::MemoryOrder order = config::memory_order_of_this_processor);

} // namespace tributary::pktgen::transport
