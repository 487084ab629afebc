// The port that a tree's engine belongs to: the worker that owns the port has the engine.
//
// A hash of the tree's number picks one of all its ports, the parent and the children alike. So the
// trees of one parent port are spread over the workers that own ports of them, in proportion to
// their number of ports; a tree whose ports all belong to one worker is that worker's; and a tree
// that does not change keeps its engine. Pure.
//
// Where the file limits `descriptors_per_engine`, trees of one parent port share that number, and
// have to be counted together: there the engine belongs to the parent port.
#pragma once

#include "dataplane/core/tables.hpp"
#include "tributary/types.hpp"

#include <cstdint>

namespace tributary::core {

/// Requires a `valid` entry of a tree with reductions.
constexpr PortNumber engine_home(TreeNumber tree, const MulticastEntry& entry,
                                 std::uint32_t descriptors_per_engine) {
  if (descriptors_per_engine < reduction_keys) {
    return entry.parent;
  }
  PortSet ports = entry.children;
  ports.insert(entry.parent);
  // Spreads consecutive numbers, and every second, third and eighth one, evenly over ports, and
  // over workers too, which own ports in turn. The golden section does so over ports only: it puts
  // seven of eight trees on sixteen ports at odd ones.
  const auto hash = static_cast<std::uint32_t>(std::uint32_t{tree.value} * 0xD2CD789BU);
  auto nth = static_cast<std::uint32_t>(
      std::uint64_t{hash} * static_cast<std::uint32_t>(ports.size()) >> 32);
  std::uint64_t bits = ports.bits();
  for (; nth != 0; --nth) {
    bits &= bits - 1;
  }
  return PortNumber{static_cast<std::uint8_t>(__builtin_ctzll(bits))};
}

} // namespace tributary::core
