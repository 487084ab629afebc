// Graphs and trees to install.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "controlplane/trees/tree_kind.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tributary::test {

/// Ports from here on have no link in the graphs below: hosts are connected there.
inline constexpr topology::Port first_host_port = 40;

/// A tree as a test writes it.
struct TreeTarget {
  TreeNumber number;
  std::vector<multicast::TreePart> parts;
  Vni vni;
  std::vector<trees::Edge> edges;

  operator transaction::Target() const { return trees::target_of(number, parts, vni, edges); }
};

inline topology::Attachment host_port(topology::SwitchId at, topology::Port host = 0) {
  return {at, static_cast<topology::Port>(first_host_port + host)};
}

/// The host at a host port: the port's NID encodes the switch and the port.
inline trees::Edge host_edge(topology::SwitchId at, topology::Port host = 0) {
  return {host_port(at, host), Nid{at.value * 64 + host + 1}};
}

/// `leaves` switches, each with a link to each of `spines`: leaf l is switch l, spine s is switch
/// leaves + s; their ports to each other are s and l.
inline topology::Graph leaf_spine(unsigned leaves, unsigned spines) {
  topology::Graph graph;
  for (unsigned l = 0; l < leaves; ++l) {
    graph.add_switch({.name = "leaf" + std::to_string(l), .ports = 64});
  }
  for (unsigned s = 0; s < spines; ++s) {
    graph.add_switch({.name = "spine" + std::to_string(s), .ports = 64});
    for (unsigned l = 0; l < leaves; ++l) {
      graph.connect({topology::SwitchId{l}, static_cast<topology::Port>(s)},
                    {topology::SwitchId{leaves + s}, static_cast<topology::Port>(l)});
    }
  }
  return graph;
}

/// Every switch has a link to every other one: switch i's port j leads to switch j.
inline topology::Graph full_mesh(unsigned switches) {
  topology::Graph graph;
  for (unsigned i = 0; i < switches; ++i) {
    graph.add_switch({.name = "s" + std::to_string(i), .ports = 64});
  }
  for (unsigned i = 0; i < switches; ++i) {
    for (unsigned j = i + 1; j < switches; ++j) {
      graph.connect({topology::SwitchId{i}, static_cast<topology::Port>(j)},
                    {topology::SwitchId{j}, static_cast<topology::Port>(i)});
    }
  }
  return graph;
}

/// The tree with these parents in a full mesh, as {switch, parent}; the root is its own parent.
inline TreeTarget mesh_tree(TreeNumber number, Vni vni,
                            const std::map<std::uint32_t, std::uint32_t>& parents,
                            ContributionCount wait_count = 1) {
  TreeTarget target{.number = number, .parts = {}, .vni = vni, .edges = {}};
  for (const auto& [at, parent] : parents) {
    multicast::TreePart part{.at = topology::SwitchId{at},
                             .parent = static_cast<topology::Port>(parent),
                             .children = {},
                             .wait_count = wait_count};
    if (at == parent) {
      part.parent = first_host_port;
    }
    for (std::uint32_t up = at; parents.at(up) != up; up = parents.at(up)) {
      ++part.depth;
    }
    for (const auto& [child, its_parent] : parents) {
      if (its_parent == at && child != at) {
        part.children.push_back(static_cast<topology::Port>(child));
      }
    }
    part.children.push_back(first_host_port + 1);
    target.edges.push_back(host_edge(topology::SwitchId{at}, 1));
    target.parts.push_back(std::move(part));
  }
  std::stable_sort(target.parts.begin(), target.parts.end(),
                   [](const auto& a, const auto& b) { return a.depth < b.depth; });
  target.edges.push_back(host_edge(target.parts.front().at));
  return target;
}

/// A tree over some of the switches of a full mesh, at least one, of any shape.
inline std::map<std::uint32_t, std::uint32_t> random_parents(Random& random, unsigned switches) {
  std::vector<std::uint32_t> order(switches);
  for (std::uint32_t i = 0; i < switches; ++i) {
    order[i] = i;
  }
  std::shuffle(order.begin(), order.end(), random);
  order.resize(1 + random() % switches);
  std::map<std::uint32_t, std::uint32_t> parents{{order[0], order[0]}};
  for (std::size_t i = 1; i < order.size(); ++i) {
    parents.emplace(order[i], order[random() % i]);
  }
  return parents;
}

} // namespace tributary::test
