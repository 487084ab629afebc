#include "bench/algorithms/strands.hpp"

#include <vector>

namespace tributary::unicast {

bool strands(const Shape& shape, const CornerRules& rules, const Faults& known) {
  std::vector<std::uint32_t> dead;
  known.leaves.for_each(
      [&](std::size_t leaf) { dead.push_back(static_cast<std::uint32_t>(leaf)); });
  for (const std::uint32_t a : dead) {
    for (const std::uint32_t b : dead) {
      // These two are the corners of a pair in other rows and columns.
      const std::uint32_t from = shape.leaf_on(0, shape.line(a, 0), shape.coordinate(b, 0));
      const std::uint32_t to = shape.leaf_on(0, shape.line(b, 0), shape.coordinate(a, 0));
      if (!known.leaves.contains(from) && !known.leaves.contains(to) &&
          rules.first_step(from, to) == FirstStep::none) {
        return true;
      }
    }
  }
  return false;
}

} // namespace tributary::unicast
