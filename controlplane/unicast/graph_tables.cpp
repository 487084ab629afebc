#include "controlplane/unicast/graph_tables.hpp"

#include "controlplane/unicast/escape_tree.hpp"
#include "controlplane/unicast/table_builder.hpp"

#include <algorithm>
#include <utility>

namespace tributary::unicast {
namespace {

using forwarding_table::Action;
using forwarding_table::Port;
using forwarding_table::SwitchTable;

/// A table of the shape, converted to the ports of its real switch.
class Moved {
public:
  Moved(const SwitchTable& from, const Placement& placed, std::uint32_t s,
        const topology::Graph& graph)
      : from_(from), placed_(placed), s_(s),
        builder_({.self = (*placed.switches[s]).value,
                  .destinations = static_cast<std::uint32_t>(graph.switches().size()),
                  .vcs = from.vcs,
                  .ports = graph[*placed.switches[s]].ports,
                  .classes = static_cast<std::uint16_t>(from.row_of.size() / from.vcs)}) {}

  SwitchTable run() {
    for (Port p = 0; p < from_.classes.size(); ++p) {
      if (const auto real = placed_.port({s_, p})) {
        builder_.put_in_class(*real, from_.classes[p]);
      }
    }
    for (const Action& action : from_.actions) {
      Action moved = action;
      moved.ports = group(action.ports);
      moved.spares = group(action.spares);
      actions_.push_back(builder_.action(moved));
    }
    const std::size_t rows = from_.rows.size() / std::max(1U, from_.destinations);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint16_t number = builder_.add_row();
      for (std::uint32_t to = 0; to < from_.destinations; ++to) {
        builder_.set(number, (*placed_.switches[to]).value,
                     actions_[from_.rows[row * from_.destinations + to]]);
      }
    }
    for (std::size_t i = 0; i < from_.row_of.size(); ++i) {
      builder_.use_row(static_cast<std::uint16_t>(i / from_.vcs),
                       static_cast<std::uint8_t>(i % from_.vcs), from_.row_of[i]);
    }
    return std::move(builder_).finish();
  }

private:
  std::uint16_t group(std::uint16_t number) {
    const auto ports = from_.group(number);
    std::vector<std::uint64_t> words(builder_.table().words);
    for (Port p = 0; p < from_.classes.size(); ++p) {
      const auto real = placed_.port({s_, p});
      if ((ports[p / 64U] >> (p % 64U) & 1U) != 0 && real) {
        words[*real / 64U] |= std::uint64_t{1} << (*real % 64U);
      }
    }
    return builder_.group(words);
  }

  const SwitchTable& from_;
  const Placement& placed_;
  std::uint32_t s_;
  TableBuilder builder_;
  std::vector<std::uint16_t> actions_; ///< by action of the shape's table
};

/// An action with its groups instead of their numbers in the table.
struct Treatment {
  Action rest;
  std::span<const std::uint64_t> ports;
  std::span<const std::uint64_t> spares;

  Treatment(const SwitchTable& table, std::uint16_t action)
      : rest(table.actions[action]), ports(table.group(rest.ports)),
        spares(table.group(rest.spares)) {
    rest.ports = 0;
    rest.spares = 0;
  }
  friend bool operator==(const Treatment& a, const Treatment& b) {
    return a.rest == b.rest && std::ranges::equal(a.ports, b.ports) &&
           std::ranges::equal(a.spares, b.spares);
  }
};

bool is_alike(const SwitchTable& a, const SwitchTable& b) {
  return a.destinations == b.destinations && a.vcs == b.vcs && a.words == b.words &&
         a.classes.size() == b.classes.size();
}

/// For the input of each port, the rows of both tables that apply to it.
std::vector<std::pair<std::uint16_t, std::uint16_t>> rows_of_both(const SwitchTable& a,
                                                                  const SwitchTable& b) {
  std::vector<std::pair<std::uint16_t, std::uint16_t>> rows;
  for (std::size_t p = 0; p <= a.classes.size(); ++p) {
    const Port in = p == a.classes.size() ? forwarding_table::local_port : static_cast<Port>(p);
    for (std::uint8_t vc = 0; vc < a.vcs; ++vc) {
      rows.emplace_back(a.row_of[std::size_t{a.class_of(in)} * a.vcs + vc],
                        b.row_of[std::size_t{b.class_of(in)} * b.vcs + vc]);
    }
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

} // namespace

SwitchTable empty_table(std::uint32_t self, std::uint32_t destinations, std::uint32_t ports,
                        std::uint8_t vcs) {
  TableBuilder builder({.self = self, .destinations = destinations, .vcs = vcs, .ports = ports});
  builder.use_row(0, builder.add_row());
  return std::move(builder).finish();
}

TableSet on_graph(const TableSet& tables, const Placement& placed, const topology::Graph& graph) {
  TableSet moved;
  moved.vcs = tables.vcs;
  moved.switches.resize(graph.switches().size());
  for (std::uint32_t s = 0; s < tables.switches.size(); ++s) {
    if (const auto at = placed.switches[s]) {
      moved.switches[(*at).value] = Moved(tables.switches[s], placed, s, graph).run();
    }
  }
  const auto count = static_cast<std::uint32_t>(moved.switches.size());
  for (std::uint32_t s = 0; s < count; ++s) {
    if (moved.switches[s].row_of.empty()) {
      moved.switches[s] = empty_table(s, count, graph[topology::SwitchId{s}].ports, tables.vcs);
    }
  }
  return moved;
}

SwitchTable fitted(const SwitchTable& table, std::uint32_t destinations, std::uint32_t ports,
                   std::uint8_t vcs) {
  const std::uint16_t words = forwarding_table::group_words(ports);
  if (table.destinations == destinations && table.classes.size() == ports && table.vcs == vcs) {
    return table;
  }
  SwitchTable made = table;
  made.destinations = destinations;
  made.vcs = vcs;
  made.words = words;
  made.classes.resize(ports);
  const auto no_route = static_cast<std::uint16_t>(made.actions.size());
  made.actions.push_back({});
  made.actions.push_back({.otherwise = forwarding_table::Outcome::no_vc});
  const std::size_t groups = table.port_words.size() / table.words;
  made.port_words.assign(groups * words, 0);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t w = 0; w < std::min(words, table.words); ++w) {
      made.port_words[g * words + w] = table.port_words[g * table.words + w];
    }
  }
  const std::size_t rows = table.rows.size() / std::max(1U, table.destinations);
  made.rows.assign((rows + 1) * destinations, no_route);
  std::fill(made.rows.end() - destinations, made.rows.end(), std::uint16_t(no_route + 1));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::uint32_t to = 0; to < std::min(destinations, table.destinations); ++to) {
      made.rows[row * destinations + to] = table.rows[row * table.destinations + to];
    }
  }
  const std::size_t classes = table.row_of.size() / table.vcs;
  made.row_of.assign(classes * vcs, static_cast<std::uint16_t>(rows));
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t vc = 0; vc < std::min(vcs, table.vcs); ++vc) {
      made.row_of[c * vcs + vc] = table.row_of[c * table.vcs + vc];
    }
  }
  return made;
}

TableSet escape_tables(const Network& network, const PortStates& up,
                       std::span<const std::uint32_t> endpoints, std::uint8_t vcs,
                       std::optional<std::uint32_t> root) {
  const EscapeTree tree(network, up, endpoints, root);
  const std::uint32_t destinations = network.switches();
  TableSet set;
  set.vcs = vcs;
  for (std::uint32_t s = 0; s < network.switches(); ++s) {
    TableBuilder b({s, destinations, vcs, network.ports(s), 3});
    const std::uint16_t from_host = b.add_row();
    const std::uint16_t transit = b.add_row();
    b.use_row(0, from_host);
    b.use_row(1, transit);
    b.use_row(2, b.add_row());
    for (std::uint32_t p = 0; p < network.ports(s); ++p) {
      const std::uint32_t link = network.link({s, static_cast<Port>(p)});
      b.put_in_class(static_cast<Port>(p), !network.peer(link) ? 0 : tree.is_along(link) ? 1 : 2);
    }
    for (std::size_t e = 0; e < endpoints.size() && tree.contains(s); ++e) {
      if (endpoints[e] == s) {
        continue;
      }
      const Port port = network.end(tree.next(s, endpoints[e])).port;
      const std::uint16_t ports = b.port_group(port);
      const auto vc = static_cast<std::uint8_t>(e % vcs);
      b.set(from_host, endpoints[e], b.action({.ports = ports, .step = vc}));
      b.set(transit, endpoints[e], b.action({.ports = ports}));
    }
    set.switches.push_back(std::move(b).finish());
  }
  return set;
}

std::vector<std::vector<std::uint32_t>> parts_of(const Network& network, const PortStates& up,
                                                 std::span<const std::uint32_t> endpoints) {
  std::vector<OptionalNumber<>> part(network.switches());
  std::vector<std::vector<std::uint32_t>> parts;
  std::vector<std::uint32_t> ahead;
  for (const std::uint32_t endpoint : endpoints) {
    if (!part[endpoint]) {
      const auto number = static_cast<std::uint32_t>(parts.size());
      parts.emplace_back();
      part[endpoint] = number;
      ahead.push_back(endpoint);
      while (!ahead.empty()) {
        const std::uint32_t s = ahead.back();
        ahead.pop_back();
        for (std::uint32_t p = 0; p < network.ports(s); ++p) {
          const Network::Peer there = network.peer({s, static_cast<Port>(p)});
          if (there && !part[there->at] && up.up(s, p) && up.up(there->at, there->port)) {
            part[there->at] = number;
            ahead.push_back(there->at);
          }
        }
      }
    }
    parts[*part[endpoint]].push_back(endpoint);
  }
  std::ranges::stable_sort(parts, std::ranges::greater{},
                           [](const auto& one) { return one.size(); });
  return parts;
}

std::vector<std::uint32_t> changed_destinations(const TableSet& before, const TableSet& after) {
  std::uint32_t count = 0;
  for (const SwitchTable& table : after.switches) {
    count = std::max(count, table.destinations);
  }
  std::vector<bool> changed(count);
  for (std::size_t s = 0; s < after.switches.size(); ++s) {
    const SwitchTable& a = before.switches[s];
    const SwitchTable& b = after.switches[s];
    if (a == b) {
      continue;
    }
    if (!is_alike(a, b)) {
      changed.assign(count, true);
      break;
    }
    for (const auto& [of_a, of_b] : rows_of_both(a, b)) {
      for (std::uint32_t to = 0; to < a.destinations; ++to) {
        if (to != a.self && !changed[to]) {
          changed[to] = Treatment(a, a.rows[std::size_t{of_a} * a.destinations + to]) !=
                        Treatment(b, b.rows[std::size_t{of_b} * b.destinations + to]);
        }
      }
    }
  }
  std::vector<std::uint32_t> list;
  for (std::uint32_t to = 0; to < count; ++to) {
    if (changed[to]) {
      list.push_back(to);
    }
  }
  return list;
}

} // namespace tributary::unicast
