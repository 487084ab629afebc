// Shared by builders: hosts on the first ports of a switch, and walks over grids of switches.
#pragma once

#include "controlplane/topology/builders.hpp"

namespace tributary::topology {

[[nodiscard]] constexpr Port as_port(std::uint32_t number) { return static_cast<Port>(number); }

/// Hosts on ports 0 to `count - 1`; number, NID and name continue the existing ones.
void add_hosts(Graph& graph, SwitchId at, std::uint32_t count);

/// Row-major walk over a grid: steps to the next place, last dimension fastest. False at the end.
[[nodiscard]] bool next_place(std::span<const std::uint32_t> shape,
                              std::vector<std::uint32_t>& place);
/// The place's number in that walk.
[[nodiscard]] std::uint32_t number_of(std::span<const std::uint32_t> shape,
                                      std::span<const std::uint32_t> place);
/// "3.0.12"
[[nodiscard]] std::string name_of(std::span<const std::uint32_t> place);

} // namespace tributary::topology
