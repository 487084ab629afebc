#include "controlplane/trees/engine_loads.hpp"

#include <cassert>
#include <cstddef>

namespace tributary::trees {

void EngineLoads::count(std::span<const multicast::TreePart> parts, int change) {
  for (const multicast::TreePart& part : parts) {
    if (!occupies(part)) {
      continue;
    }
    if (trees_.size() <= part.at.value) {
      trees_.resize(std::size_t{part.at.value} + 1);
    }
    std::uint16_t& trees = trees_[part.at.value][part.parent];
    assert(change > 0 || trees > 0);
    trees = static_cast<std::uint16_t>(trees + change);
  }
}

} // namespace tributary::trees
