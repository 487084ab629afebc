#include "tools/simulator/algorithms/algorithm_a.hpp"

#include "controlplane/unicast/corner_tables.hpp"
#include "controlplane/unicast/table_builder.hpp"

#include <optional>
#include <vector>

namespace tributary::simulator::algorithms {
namespace {

using forwarding_table::Action;
using forwarding_table::Outcome;
using forwarding_table::Port;
using unicast::Bitmap;
using unicast::Faults;
using unicast::Shape;
using unicast::TableBuilder;
using unicast::TableSet;

/// Coordinates of a dimension whose line across has no dead leaf.
std::vector<std::uint32_t> clean(const Shape& shape, const Faults& known, std::uint32_t dimension) {
  Bitmap all(shape.size(dimension));
  all.insert_all();
  known.leaves.for_each([&](std::size_t leaf) {
    all.erase(shape.coordinate(static_cast<std::uint32_t>(leaf), dimension));
  });
  std::vector<std::uint32_t> list;
  all.for_each([&](std::size_t i) { list.push_back(static_cast<std::uint32_t>(i)); });
  return list;
}

/// The destination's entry in the list, round robin; not its own coordinate, unless it is the only
/// one.
std::optional<std::uint32_t> fixed(const std::vector<std::uint32_t>& list, std::uint32_t to,
                                   std::uint32_t own) {
  if (list.empty()) {
    return std::nullopt;
  }
  const std::uint32_t turn = list[to % list.size()];
  return turn != own ? turn : list[(to + 1) % list.size()];
}

} // namespace

AlgorithmA::AlgorithmA(const Shape& shape) : shape_(shape) {
  require_corners("algorithm_a", shape);
}

TableSet AlgorithmA::tables(const Faults& known) {
  require_dead_leaves_only("algorithm_a", shape_, known);
  const auto columns = clean(shape_, known, 0);
  const auto rows = clean(shape_, known, 1);
  TableSet set;
  for (std::uint32_t here = 0; here < shape_.leaves(); ++here) {
    TableBuilder b({here, shape_.leaves(), 1, shape_.leaf_ports(), 3});
    const std::uint16_t row = b.add_row();
    const std::uint16_t up_column =
        b.action({.ports = b.range_group(shape_.leaf_port(1, 0), shape_.planes())});
    const std::uint16_t up_row =
        b.action({.ports = b.range_group(shape_.leaf_port(0, 0), shape_.planes())});
    const std::uint16_t from_row = b.add_row();
    const std::uint16_t from_column = b.add_row();
    for (std::uint32_t p = 0; p < shape_.leaf_ports(); ++p) {
      b.put_in_class(static_cast<Port>(p), static_cast<std::uint16_t>(1 + p / shape_.planes()));
    }
    for (std::uint32_t to = 0; to < shape_.leaves(); ++to) {
      const bool same_column = shape_.coordinate(here, 0) == shape_.coordinate(to, 0);
      b.set(row, to, same_column ? up_column : up_row);
      b.set(from_row, to, up_column);
      b.set(from_column, to, up_row);
    }
    b.use_row(0, row);
    b.use_row(1, from_row);
    b.use_row(2, from_column);
    set.switches.push_back(std::move(b).finish());
  }
  for (std::uint32_t r = 0; r < shape_.roots(); ++r) {
    const Shape::Root of = shape_.root(r);
    const std::uint32_t d = of.dimension;
    TableBuilder b({shape_.switch_of_root(r), shape_.leaves(), 1, shape_.size(d), 1});
    const std::uint16_t row = b.add_row();
    for (std::uint32_t to = 0; to < shape_.leaves(); ++to) {
      std::optional<std::uint32_t> down = shape_.coordinate(to, d);
      const bool last = shape_.line(to, d) == of.line;
      if (!last && (d == 1 || known.leaves.contains(shape_.leaf_on(d, of.line, *down)))) {
        down = fixed(d == 0 ? columns : rows, to, *down);
      }
      if (down) {
        b.set(row, to,
              b.action({.ports = b.port_group(static_cast<Port>(*down)),
                        .otherwise = last ? Outcome::dest_dead : Outcome::no_route}));
      }
    }
    set.switches.push_back(std::move(b).finish());
  }
  return set;
}

} // namespace tributary::simulator::algorithms
