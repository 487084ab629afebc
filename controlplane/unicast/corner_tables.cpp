#include "controlplane/unicast/corner_tables.hpp"

#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/table_builder.hpp"

#include <fmt/format.h>
#include <vector>

namespace tributary::unicast {
namespace {

using forwarding_table::Action;
using forwarding_table::Outcome;

constexpr std::uint32_t x = 0;
constexpr std::uint32_t y = 1;

class Corners {
public:
  Corners(const Shape& shape, const CornerRules& rules, const RouteOptions& options)
      : shape_(shape), rules_(rules), vcs_(options.vcs), plus_(options.policy != Policy::safe),
        fast_(options.policy == Policy::fast) {}

  forwarding_table::SwitchTable leaf(std::uint32_t here) const {
    TableBuilder b({here, shape_.leaves(), vcs_, shape_.leaf_ports(), 3});
    for (std::uint32_t p = 0; p < shape_.planes(); ++p) {
      b.put_in_class(static_cast<forwarding_table::Port>(shape_.leaf_port(x, p)), 1);
      b.put_in_class(static_cast<forwarding_table::Port>(shape_.leaf_port(y, p)), 2);
    }
    const std::uint16_t up_row = b.range_group(shape_.leaf_port(x, 0), shape_.planes());
    const std::uint16_t up_column = b.range_group(shape_.leaf_port(y, 0), shape_.planes());
    const auto up = [&](std::uint16_t ports, std::uint8_t step, bool rises) {
      return b.action({.ports = ports, .step = step, .rises = rises});
    };
    const std::uint16_t last_row = up(up_row, 0, plus_);
    const std::uint16_t last_column = up(up_column, 0, plus_);
    const std::uint16_t xy = up(up_row, 0, fast_);
    const std::uint16_t yx = up(up_column, 0, false);
    const std::uint16_t turn_last = up(up_row, 1, plus_);
    const std::uint16_t turn_on = up(up_row, 1, false);

    const std::uint16_t from_host = b.add_row();
    const std::uint16_t from_row = b.add_row();
    const std::uint16_t from_column = b.add_row();
    b.use_row(0, from_host);
    b.use_row(1, from_row);
    b.use_row(2, from_column);
    for (std::uint32_t to = 0; to < shape_.leaves(); ++to) {
      const bool same_row = shape_.coordinate(here, y) == shape_.coordinate(to, y);
      const bool same_column = shape_.coordinate(here, x) == shape_.coordinate(to, x);
      if (same_row || same_column) {
        b.set(from_host, to, same_row ? last_row : last_column);
      } else {
        const FirstStep first = rules_.first_step(here, to);
        b.set(from_host, to, first == FirstStep::row ? xy : first == FirstStep::column ? yx : 0);
      }
      b.set(from_row, to, same_column ? last_column : yx);
      b.set(from_column, to, same_row ? turn_last : turn_on);
    }
    return std::move(b).finish();
  }

  /// Table of a row root (dimension x) or a column root (y); the planes of a line have the same.
  forwarding_table::SwitchTable root(std::uint32_t number) const {
    const Shape::Root of = shape_.root(number);
    const std::uint32_t d = of.dimension;
    TableBuilder b({shape_.switch_of_root(number), shape_.leaves(), vcs_, shape_.size(d), 1});
    const std::uint16_t row = b.add_row();
    Bitmap spares(shape_.size(d));
    for (std::uint32_t to = 0; to < shape_.leaves(); ++to) {
      const std::uint16_t down =
          b.port_group(static_cast<forwarding_table::Port>(shape_.coordinate(to, d)));
      if (shape_.line(to, d) == of.line) {
        b.set(row, to, b.action({.ports = down, .otherwise = Outcome::dest_dead, .rises = plus_}));
        continue;
      }
      // A line's number is its coordinate along the other dimension: the fat tree has only two.
      spares.clear();
      d == x ? rules_.spare_columns(of.line, to, spares) : rules_.spare_rows(of.line, to, spares);
      b.set(row, to,
            b.action({.ports = down,
                      .spares = b.group(spares.words()),
                      .spare_turns = 1,
                      .u_turn = true}));
    }
    return std::move(b).finish();
  }

private:
  const Shape& shape_;
  const CornerRules& rules_;
  std::uint8_t vcs_;
  bool plus_;
  bool fast_;
};

} // namespace

TableSet corner_tables(const Shape& shape, const CornerRules& rules, const RouteOptions& options) {
  const Corners corners(shape, rules, options);
  TableSet set;
  set.vcs = options.vcs;
  set.switches.reserve(shape.switches());
  for (std::uint32_t leaf = 0; leaf < shape.leaves(); ++leaf) {
    set.switches.push_back(corners.leaf(leaf));
  }
  for (std::uint32_t r = 0; r < shape.roots(); ++r) {
    if (shape.root(r).plane == 0) {
      set.switches.push_back(corners.root(r));
    } else {
      set.switches.push_back(set.switches.back());
      set.switches.back().self = shape.switch_of_root(r);
    }
  }
  return set;
}

void require_corners(std::string_view algorithm, const Shape& shape) {
  if (shape.dimensions() != 2) {
    throw RouteError(fmt::format("{} routes fat trees of two dimensions, this one has {}: use "
                                 "phase_search",
                                 algorithm, shape.dimensions()));
  }
}

void require_dead_leaves_only(std::string_view algorithm, const Shape& shape, const Faults& known) {
  std::optional<std::uint32_t> first;
  known.roots.for_each([&](std::size_t r) {
    first = first ? first : shape.switch_of_root(static_cast<std::uint32_t>(r));
  });
  if (first) {
    throw RouteError(fmt::format("{} routes round dead leaves only, and {} is dead: use "
                                 "phase_search",
                                 algorithm, shape.name(*first)));
  }
  known.links.for_each([&](std::size_t link) {
    const auto leaf = static_cast<std::uint32_t>(link / shape.leaf_ports());
    const auto port = static_cast<std::uint32_t>(link % shape.leaf_ports());
    const std::uint32_t d = port / shape.planes();
    const std::uint32_t root = shape.root({d, shape.line(leaf, d), port % shape.planes()});
    throw RouteError(fmt::format("{} routes round dead leaves only, and the link {} - {} is down: "
                                 "use phase_search",
                                 algorithm, shape.name(leaf),
                                 shape.name(shape.switch_of_root(root))));
  });
}

} // namespace tributary::unicast
