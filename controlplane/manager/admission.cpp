// Whether the engines on a group's path have descriptors left for it.
//
// A tree may hold `descriptors_per_tree` descriptors of each engine that it goes up through. A new
// group is laid where every engine that other groups use has so many left; around those that have
// not, if there is a path; and is refused otherwise. An engine that nobody else uses always takes
// it: whatever it lacks there, it takes from no one. Trees that have to be laid anew because theirs
// broke are not refused: unreduced frames are better than none; such engines are among the
// problems.
#include "controlplane/group/words.hpp"
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tributary::manager {

using topology::HostId;
using topology::SwitchId;

namespace {

/// Trees by which the links of engines that are full count as fuller, so that planning keeps off
/// them. By PRISM's prices, 4^load, each makes them four times dearer.
constexpr std::size_t avoiding_weight = 8;
constexpr std::size_t holders_named = 8;

} // namespace

std::optional<std::uint32_t> Manager::scarce_descriptors(SwitchId at) const {
  return at.value < switches_.size() ? switches_[at].scarce_descriptors() : std::nullopt;
}

std::optional<Manager::FullEngine>
Manager::full_engine_on(std::span<const trees::PlannedTree> trees) const {
  const std::uint32_t each = settings_.groups.descriptors_per_tree;
  std::map<std::pair<std::uint32_t, topology::Port>, std::uint32_t> wanted;
  for (const trees::PlannedTree& tree : trees) {
    for (const multicast::TreePart& part : tree.parts) {
      const auto has = each == 0 ? std::nullopt : scarce_descriptors(part.at);
      if (!has || !trees::EngineLoads::occupies(part)) {
        continue;
      }
      const std::uint32_t others = engines_.trees_at(part.at, part.parent);
      const std::uint32_t own = ++wanted[{part.at.value, part.parent}];
      if (others != 0 && (others + own) * each > *has) {
        return FullEngine{part.at, part.parent, *has, others};
      }
    }
  }
  return std::nullopt;
}

std::vector<topology::LinkId> Manager::links_of_full_engines() const {
  std::vector<topology::LinkId> links;
  const std::uint32_t each = settings_.groups.descriptors_per_tree;
  for (std::uint32_t s = 0; s < switches_.size(); ++s) {
    const auto has = scarce_descriptors(SwitchId{s});
    for (topology::Port port = 0; has && port < graph()[SwitchId{s}].ports; ++port) {
      const std::uint32_t trees = engines_.trees_at(SwitchId{s}, port);
      if (trees != 0 && (trees + 1) * each > *has) {
        if (const auto link = graph().link_at({SwitchId{s}, port})) {
          links.push_back(*link);
        }
      }
    }
  }
  return links;
}

group::Error Manager::engine_is_full(const group::Group& group, const FullEngine& full) const {
  std::string holders;
  std::size_t named = 0;
  for (const TreeNumber number : trees::trees_among(coordinator_.wanted_at(full.at))) {
    const group::Group* holder = registry_.find(number);
    const trees::Life* const life = holder == nullptr ? nullptr : lives_.find(holder->id);
    const bool uses_it =
        life != nullptr && std::ranges::any_of(life->trees, [&](const trees::PlannedTree& tree) {
          return std::ranges::any_of(tree.parts, [&](const multicast::TreePart& part) {
            return part.at == full.at && part.parent == full.port &&
                   trees::EngineLoads::occupies(part);
          });
        });
    if (uses_it && named++ < holders_named) {
      holders += fmt::format("{}tree {} of {} ({})", holders.empty() ? ": " : ", ", number.value,
                             title(*holder), expiry(*holder, time()));
    }
  }
  const std::string to = graph().name_behind({full.at, full.port});
  return {
      group::ErrorKind::exhausted,
      fmt::format("04: {} is not laid: the engine of {} port {}{} has {} descriptors, a tree "
                  "may hold {}, and {} other {} may hold {} there already{}{}; end one of "
                  "them, or raise descriptors_per_engine in the switch's file, or lower "
                  "descriptors_per_tree in the manager's",
                  title(group), graph()[full.at].name, full.port,
                  to.empty() ? "" : fmt::format(" (to {})", to), full.has,
                  settings_.groups.descriptors_per_tree, full.others,
                  full.others == 1 ? "tree" : "trees",
                  full.others * settings_.groups.descriptors_per_tree, holders,
                  named > holders_named ? fmt::format(" and {} more", named - holders_named) : "")};
}

std::vector<multicast::Tree> Manager::planned(const group::Group& group,
                                              std::span<const HostId> hosts) {
  std::vector<multicast::Tree> trees;
  if (group.trees == 2) {
    if (auto twins = planner().plan_twins(hosts)) {
      trees = {std::move(twins->first), std::move(twins->second)};
    }
  } else if (auto tree = planner().plan(hosts)) {
    trees.push_back(std::move(*tree));
  }
  return trees;
}

std::vector<trees::PlannedTree> Manager::laid(const group::Group& group,
                                              std::span<const HostId> hosts) {
  std::vector<trees::PlannedTree> routes;
  for (multicast::Tree& tree : planned(group, hosts)) {
    if (auto one = routed(group, tree, hosts)) {
      routes.push_back(std::move(*one));
    } else {
      planner_.release(tree);
    }
  }
  return routes;
}

std::vector<trees::PlannedTree> Manager::laid_around_full_engines(const group::Group& group,
                                                                  std::span<const HostId> hosts) {
  multicast::Tree weight;
  for (const topology::LinkId link : links_of_full_engines()) {
    weight.links.insert(weight.links.end(), avoiding_weight, link);
  }
  planner().adopt(weight);
  std::vector<trees::PlannedTree> routes = laid(group, hosts);
  planner_.release(weight);
  return routes;
}

} // namespace tributary::manager
