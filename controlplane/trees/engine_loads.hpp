// Number of trees that each engine serves: the engine at a port serves the trees whose parent is
// that port, and holds a descriptor for each of their reductions (docs/protocol/engine.md).
//
// Parts are removed again as they were added; the sums balance. Pure.
#pragma once

#include "controlplane/multicast/tree.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::trees {

class EngineLoads {
public:
  void add(std::span<const multicast::TreePart> parts) { count(parts, +1); }
  void remove(std::span<const multicast::TreePart> parts) { count(parts, -1); }

  /// Trees that the engine at this port serves.
  [[nodiscard]] std::uint32_t trees_at(topology::SwitchId at, topology::Port port) const {
    return at.value < trees_.size() && port < max_ports ? trees_[at.value][port] : 0;
  }
  /// Whether the part occupies an engine: without contributions it does not.
  [[nodiscard]] static bool occupies(const multicast::TreePart& part) {
    return part.wait_count != 0 && !part.children.empty() && part.parent < max_ports;
  }

private:
  void count(std::span<const multicast::TreePart> parts, int change);

  std::vector<std::array<std::uint16_t, max_ports>> trees_; ///< by switch and port
};

} // namespace tributary::trees
