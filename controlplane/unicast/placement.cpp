#include "controlplane/unicast/placement.hpp"

#include "controlplane/unicast/route_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tributary::unicast {
namespace {

using topology::Graph;
using topology::LinkId;
using topology::SwitchId;

/// Finds places, with axes in the order of the first leaf's ports.
class Finder {
public:
  explicit Finder(const Graph& graph)
      : graph_(graph), is_leaf_(graph.switches().size()), hops_(graph.switches().size()),
        neighbours_(graph.switches().size()), axis_(graph.switches().size()),
        place_(graph.switches().size()), met_(graph.switches().size()) {
    for (const topology::Host& host : graph.hosts()) {
      is_leaf_[host.at.at.value] = is_leaf_[host.at.at.value] || host.plugged;
    }
    for (std::uint32_t i = 0; i < graph.links().size(); ++i) {
      const topology::Link& link = graph[LinkId{i}];
      if (link.plugged) {
        add(LinkId{i}, link);
      }
    }
    for (std::uint32_t s = 0; s < hops_.size(); ++s) {
      for (const auto& [there, link] : hops_[s]) {
        neighbours_[s].push_back(there);
      }
    }
    const auto first = std::ranges::find(is_leaf_, true);
    if (first == is_leaf_.end()) {
      throw RouteError("no switch has hosts: a fat tree has them on its leaves");
    }
    start(static_cast<std::uint32_t>(first - is_leaf_.begin()));
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      go_on(queue_[i]);
    }
  }

  [[nodiscard]] bool is_leaf(std::uint32_t s) const { return is_leaf_[s]; }
  [[nodiscard]] const std::vector<std::uint32_t>& sizes() const { return sizes_; }
  [[nodiscard]] const std::vector<std::uint32_t>& place(std::uint32_t leaf) const {
    return place_[leaf];
  }
  [[nodiscard]] const std::map<std::uint32_t, LinkId>& hops(std::uint32_t s) const {
    return hops_[s];
  }

  /// The link that determined the place of a leaf.
  [[nodiscard]] LinkId by_link(std::uint32_t leaf) const { return by_link_.at(leaf); }

private:
  void add(LinkId id, const topology::Link& link) {
    const std::uint32_t a = link.ends[0].at.value;
    const std::uint32_t b = link.ends[1].at.value;
    if (is_leaf_[a] == is_leaf_[b]) {
      throw RouteError(fmt::format("{} joins two switches {} hosts: in a fat tree every link joins "
                                   "a leaf, which has hosts, and a root, which has none",
                                   graph_.describe(id), is_leaf_[a] ? "with" : "without"));
    }
    if (!hops_[a].emplace(b, id).second) {
      throw RouteError(fmt::format("{} is a second link between the same two: {} is there",
                                   graph_.describe(id), graph_.describe(hops_[a][b])));
    }
    hops_[b].emplace(a, id);
  }

  std::uint16_t port_at(std::uint32_t s, LinkId link) const {
    const topology::Link& one = graph_[link];
    return one.ends[one.ends[0].at.value == s ? 0 : 1].port;
  }
  /// Leaves or roots connected to a switch, by its ports.
  std::vector<std::uint32_t> by_port(std::uint32_t s) const {
    std::vector<std::pair<std::uint16_t, std::uint32_t>> all;
    for (const auto& [there, link] : hops_[s]) {
      all.emplace_back(port_at(s, link), there);
    }
    std::ranges::sort(all);
    std::vector<std::uint32_t> list;
    for (const auto& [port, there] : all) {
      list.push_back(there);
    }
    return list;
  }

  void start(std::uint32_t first) {
    std::vector<std::vector<std::uint32_t>> lines; // by axis: leaves in the order of coordinates
    for (const std::uint32_t root : by_port(first)) {
      const auto is_met = [&](const auto& line) {
        return std::ranges::any_of(hops_[root], [&](const auto& hop) {
          return hop.first != first && std::ranges::find(line, hop.first) != line.end();
        });
      };
      const auto axis =
          static_cast<std::uint32_t>(std::ranges::find_if(lines, is_met) - lines.begin());
      if (axis == lines.size()) {
        lines.emplace_back();
      }
      axis_[root] = axis;
      for (const std::uint32_t leaf : by_port(root)) {
        if (std::ranges::find(lines[axis], leaf) == lines[axis].end()) {
          lines[axis].push_back(leaf);
          by_link_.emplace(leaf, hops_[leaf].at(root));
        }
      }
    }
    for (const auto& line : lines) {
      sizes_.push_back(static_cast<std::uint32_t>(line.size()));
      place_[first].push_back(
          static_cast<std::uint32_t>(std::ranges::find(line, first) - line.begin()));
    }
    queue_.push_back(first);
    for (std::uint32_t a = 0; a < lines.size(); ++a) {
      for (std::uint32_t i = 0; i < lines[a].size(); ++i) {
        put(lines[a][i], first, a, i);
      }
    }
    from_.emplace(first, first);
  }

  void put(std::uint32_t leaf, std::uint32_t neighbour, std::uint32_t axis, std::uint32_t i) {
    if (place_[leaf].empty()) {
      place_[leaf] = place_[neighbour];
      place_[leaf][axis] = i;
      from_[leaf] = neighbour;
      queue_.push_back(leaf);
    }
  }

  /// A leaf without neighbours elsewhere gets the last free place of its line.
  void put_last(std::uint32_t root, std::uint32_t p, std::uint32_t axis) {
    std::vector<bool> taken(sizes_[axis]);
    OptionalNumber<> last;
    std::uint32_t placed = 0;
    for (const auto& [leaf, link] : hops_[root]) {
      if (place_[leaf].empty()) {
        last = leaf;
      } else {
        taken[place_[leaf][axis]] = true;
        ++placed;
      }
    }
    if (last && placed + 1 == hops_[root].size() && hops_[root].size() == taken.size()) {
      by_link_.emplace(*last, hops_[*last].at(root));
      put(*last, p, axis,
          static_cast<std::uint32_t>(std::ranges::find(taken, false) - taken.begin()));
    }
  }

  /// The place of a leaf in a line, by its neighbours: for all leaves that it meets elsewhere and
  /// that are on a line of `q` whose axis is known, the axis and the coordinate there, and how many
  /// agree.
  using Votes = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;
  Votes votes_of(std::uint32_t leaf, std::uint32_t line, std::uint32_t p, std::uint32_t q) {
    for (const std::uint32_t root : neighbours_[leaf]) {
      if (root != line) {
        for (const std::uint32_t other : neighbours_[root]) {
          ++met_[other];
        }
      }
    }
    met_[leaf] = met_[p] = met_[q] = 0;
    Votes votes;
    for (const std::uint32_t of_q : neighbours_[q]) {
      if (!axis_[of_q]) {
        continue;
      }
      const std::uint32_t axis = *axis_[of_q];
      for (const std::uint32_t other : neighbours_[of_q]) {
        if (met_[other] != 0 && !place_[other].empty()) {
          votes[{axis, place_[other][axis]}] += met_[other];
        }
      }
    }
    for (const std::uint32_t root : neighbours_[leaf]) {
      for (const std::uint32_t other : neighbours_[root]) {
        met_[other] = 0;
      }
    }
    return votes;
  }

  void go_on(std::uint32_t p) {
    const std::uint32_t q = from_[p];
    for (const std::uint32_t root : by_port(p)) {
      if (axis_[root] || p == q) {
        continue;
      }
      std::vector<std::uint32_t> axes(sizes_.size());
      std::map<std::uint32_t, Votes> by_leaf;
      for (const auto& [leaf, link] : hops_[root]) {
        by_leaf[leaf] = leaf == p ? Votes() : votes_of(leaf, root, p, q);
        for (const auto& [where, count] : by_leaf[leaf]) {
          axes[where.first] += count;
        }
      }
      const auto most = std::ranges::max_element(axes);
      if (most == axes.end() || *most == 0) {
        continue;
      }
      const auto axis = static_cast<std::uint32_t>(most - axes.begin());
      axis_[root] = axis;
      for (const auto& [leaf, votes] : by_leaf) {
        std::uint32_t best = 0;
        OptionalNumber<> coordinate;
        for (const auto& [where, count] : votes) {
          if (where.first == axis && count > best) {
            best = count;
            coordinate = where.second;
          }
        }
        if (coordinate) {
          by_link_.emplace(leaf, hops_[leaf].at(root));
          put(leaf, p, axis, *coordinate);
        }
      }
      put_last(root, p, axis);
    }
  }

  const Graph& graph_;
  std::vector<bool> is_leaf_;
  std::vector<std::map<std::uint32_t, LinkId>> hops_;  ///< by switch: its neighbours, with a link
  std::vector<std::vector<std::uint32_t>> neighbours_; ///< the same without links
  std::vector<OptionalNumber<>> axis_;                 ///< by root
  std::vector<std::vector<std::uint32_t>> place_;      ///< by leaf and axis; empty: not found
  std::vector<std::uint32_t> sizes_;                   ///< by axis
  std::vector<std::uint32_t> queue_;
  std::vector<std::uint32_t> met_; ///< by leaf: number of lines that meet the current one, else 0
  std::map<std::uint32_t, std::uint32_t> from_; ///< by leaf: the neighbour it was placed from
  std::map<std::uint32_t, LinkId> by_link_;     ///< by leaf: the link that determined its place
};

/// The dimension of each axis: the last axis is dimension 0, unless the declared sizes require
/// otherwise.
std::vector<std::uint32_t> axes_of(const std::vector<std::uint32_t>& found,
                                   const std::optional<Shape>& declared) {
  std::vector<std::uint32_t> axes(found.size());
  std::iota(axes.rbegin(), axes.rend(), 0U);
  const auto fits = [&] {
    for (std::uint32_t d = 0; d < axes.size(); ++d) {
      if (declared->size(d) != found[axes[d]]) {
        return false;
      }
    }
    return true;
  };
  if (!declared) {
    return axes;
  }
  if (declared->dimensions() == found.size()) {
    if (fits()) {
      return axes;
    }
    std::ranges::sort(axes);
    do {
      if (fits()) {
        return axes;
      }
    } while (std::ranges::next_permutation(axes).found);
  }
  throw RouteError(fmt::format("the lines of the first leaf have {} leaves, and the declared shape "
                               "is {}: correct the shape, or the links of that leaf",
                               fmt::join(found, " and "), declared->describe()));
}

/// The line that most links of a root indicate, as the lowest leaf on it.
std::pair<std::uint32_t, std::uint32_t> line_of(const Shape& shape,
                                                const std::vector<std::uint32_t>& leaves) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> votes;
  for (const std::uint32_t leaf : leaves) {
    for (std::uint32_t d = 0; d < shape.dimensions(); ++d) {
      ++votes[{d, shape.line(leaf, d)}];
    }
  }
  return std::ranges::max_element(votes, {}, [](const auto& one) { return one.second; })->first;
}

} // namespace

Placement place(const Graph& graph, const std::optional<Shape>& declared) {
  const Finder found(graph);
  const auto axes = axes_of(found.sizes(), declared);
  std::vector<std::uint32_t> sizes;
  for (const std::uint32_t axis : axes) {
    sizes.push_back(found.sizes()[axis]);
  }
  const Shape flat(sizes);
  std::vector<OptionalNumber<>> leaf_of(graph.switches().size()); ///< by switch
  std::vector<OptionalNumber<>> at(flat.leaves());                ///< by leaf: the switch
  for (std::uint32_t s = 0; s < leaf_of.size(); ++s) {
    if (!found.is_leaf(s)) {
      continue;
    }
    if (found.place(s).empty()) {
      throw RouteError(fmt::format("{} is on no line with a leaf of the rest: it should be in a "
                                   "fat tree of {}",
                                   graph[SwitchId{s}].name, flat.describe()));
    }
    std::vector<std::uint32_t> coordinates;
    for (const std::uint32_t axis : axes) {
      coordinates.push_back(found.place(s)[axis]);
    }
    const std::uint32_t leaf = flat.leaf_at(coordinates);
    leaf_of[s] = leaf;
    if (at[leaf]) {
      throw RouteError(fmt::format("{} and {} are both in the place of {} of a fat tree of {}, "
                                   "by the links {} and {}: one of the two is wrong",
                                   graph[SwitchId{*at[leaf]}].name, graph[SwitchId{s}].name,
                                   flat.name(leaf), flat.describe(),
                                   graph.describe(found.by_link(*at[leaf])),
                                   graph.describe(found.by_link(s))));
    }
    at[leaf] = s;
  }
  if (const auto gap = std::ranges::find(at, OptionalNumber<>()); gap != at.end()) {
    throw RouteError(
        fmt::format("a fat tree of {} has a leaf in the place of {}, and this one has none",
                    flat.describe(), flat.name(static_cast<std::uint32_t>(gap - at.begin()))));
  }

  // Roots by line; those of a line are planes, in the order of their numbers.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> roots;
  std::size_t planes = declared ? declared->planes() : 1;
  for (std::uint32_t s = 0; s < leaf_of.size(); ++s) {
    if (found.is_leaf(s) || found.hops(s).empty()) {
      continue;
    }
    std::vector<std::uint32_t> leaves;
    for (const auto& [leaf, link] : found.hops(s)) {
      leaves.push_back(*leaf_of[leaf]);
    }
    const auto line = line_of(flat, leaves);
    for (const auto& [leaf, link] : found.hops(s)) {
      if (flat.line(*leaf_of[leaf], line.first) != line.second) {
        throw RouteError(fmt::format("{} contradicts a fat tree of {}: {} is in the place of {}, "
                                     "and the other leaves of {} are on another line",
                                     graph.describe(link), flat.describe(),
                                     graph[SwitchId{leaf}].name, flat.name(*leaf_of[leaf]),
                                     graph[SwitchId{s}].name));
      }
    }
    roots[line].push_back(s);
    if (declared && roots[line].size() > planes) {
      throw RouteError(fmt::format("{} is one root too many for its line, which has {} in the "
                                   "declared shape, {}: its first link is {}",
                                   graph[SwitchId{s}].name, planes, declared->describe(),
                                   graph.describe(found.hops(s).begin()->second)));
    }
    planes = std::max(planes, roots[line].size());
  }

  const Shape shape(sizes, static_cast<std::uint32_t>(planes));
  Placement placed{.shape = shape, .network = network_of(shape), .switches = {}, .ports = {}};
  placed.switches.resize(shape.switches());
  placed.ports.resize(placed.network.links());
  for (std::uint32_t leaf = 0; leaf < shape.leaves(); ++leaf) {
    placed.switches[leaf] = SwitchId{*at[leaf]};
  }
  for (const auto& [line, list] : roots) {
    for (std::uint32_t plane = 0; plane < list.size(); ++plane) {
      const std::uint32_t s = shape.switch_of_root(shape.root({line.first, line.second, plane}));
      placed.switches[s] = SwitchId{list[plane]};
      for (const auto& [leaf, link] : found.hops(list[plane])) {
        const topology::Link& one = graph[link];
        const bool root_first = one.ends[0].at == SwitchId{list[plane]};
        const auto up = static_cast<forwarding_table::Port>(shape.leaf_port(line.first, plane));
        const std::uint32_t from_leaf = placed.network.link({*leaf_of[leaf], up});
        const std::uint32_t from_root = placed.network.link(*placed.network.peer(from_leaf));
        placed.ports[from_root] = one.ends[root_first ? 0 : 1].port;
        placed.ports[from_leaf] = one.ends[root_first ? 1 : 0].port;
      }
    }
  }
  return placed;
}

Faults Placement::faults(const Graph& graph) const {
  Faults dead(shape);
  for (std::uint32_t s = 0; s < switches.size(); ++s) {
    if (!switches[s] || !graph[*switches[s]].up) {
      s < shape.leaves() ? dead.leaves.insert(s) : dead.roots.insert(s - shape.leaves());
    }
  }
  for (std::uint32_t leaf = 0; leaf < shape.leaves(); ++leaf) {
    for (std::uint32_t p = 0; p < shape.leaf_ports(); ++p) {
      const auto real = port({leaf, static_cast<forwarding_table::Port>(p)});
      const auto link = real ? graph.link_at({*switches[leaf], *real}) : std::nullopt;
      const std::uint32_t root = network.peer({leaf, static_cast<forwarding_table::Port>(p)})->at;
      const bool has_both =
          !dead.leaves.contains(leaf) && !dead.roots.contains(root - shape.leaves());
      if (has_both && !(link && graph.usable(*link))) {
        dead.links.insert(std::size_t{leaf} * shape.leaf_ports() + p);
      }
    }
  }
  return dead;
}

} // namespace tributary::unicast
