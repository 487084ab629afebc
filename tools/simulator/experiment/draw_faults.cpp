#include "tools/simulator/experiment/draw_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace tributary::simulator::experiment {

using unicast::Faults;
using unicast::Shape;

Faults draw_dead_leaves(const Shape& shape, std::uint32_t count, Layout layout, Random& random) {
  const std::uint32_t along = layout == Layout::column ? shape.dimensions() - 1 : 0;
  std::uint32_t room = shape.leaves() - std::min(2U, shape.leaves());
  if (layout == Layout::row || layout == Layout::column) {
    room = std::min(room, shape.size(along));
  } else if (layout == Layout::all) {
    for (std::uint32_t d = 0; d < shape.dimensions(); ++d) {
      room = std::min(room, shape.size(d));
    }
  }
  if (count > room) {
    throw ExperimentError(fmt::format("{} dead leaves: this layout has room for {} in {}", count,
                                      room, shape.describe()));
  }
  if (layout == Layout::random) {
    return draw_faults(shape, {.leaves = count}, random);
  }
  const auto shuffled = [&](std::uint32_t d) {
    std::vector<std::uint32_t> order(shape.size(d));
    std::iota(order.begin(), order.end(), 0U);
    random.shuffle(order);
    return order;
  };
  std::vector<std::vector<std::uint32_t>> orders;
  for (std::uint32_t d = 0; d < shape.dimensions(); ++d) {
    orders.push_back(shuffled(d));
  }
  Faults faults(shape);
  std::vector<std::uint32_t> place(shape.dimensions());
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t d = 0; d < shape.dimensions(); ++d) {
      place[d] = orders[d][layout == Layout::all || d == along ? i : 0];
    }
    faults.leaves.insert(shape.leaf_at(place));
  }
  return faults;
}

} // namespace tributary::simulator::experiment
