// How many virtual channels minimal routes need when every route keeps to one: counted in the
// manner of two engines of OpenSM. Both only count; they are not routing engines.
//
//   LASH-like     route after route into the first layer in which it closes no cycle
//   DFSSSP-like   all into the first layer; while there is a cycle, the step of it that the fewest
//                 routes take moves to the next layer with its routes
//
// Routes are minimal and spread by the routes that use a link already, a tree to each destination.
//
// Sources: Skeie, Lysne, Theiss, LASH, 2002; Domke, Hoefler, Nagel, DFSSSP, 2011.
#pragma once

#include "controlplane/unicast/network.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tributary::bench {

/// The links of the route of each pair of endpoints.
using Paths = std::vector<std::vector<std::uint32_t>>;
[[nodiscard]] Paths minimal_paths(const unicast::Network& network, const unicast::PortStates& up,
                                  std::span<const std::uint32_t> endpoints);

[[nodiscard]] std::uint32_t layers_like_lash(const unicast::Network& network, const Paths& paths);
[[nodiscard]] std::uint32_t layers_like_dfsssp(const unicast::Network& network, const Paths& paths);

} // namespace tributary::bench
