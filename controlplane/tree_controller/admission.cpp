#include "controlplane/tree_controller/admission.hpp"

#include "controlplane/group/words.hpp"
#include "controlplane/trees/tree_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tributary::tree_controller {

using topology::SwitchId;

namespace {

/// Trees added to the load of full engines' links, so that planning avoids them. By PRISM's link
/// costs, 4^load, each makes them four times as expensive.
constexpr std::size_t avoiding_weight = 8;
constexpr std::size_t holders_named = 8;

} // namespace

std::optional<Admission::FullEngine>
Admission::full_engine_on(std::span<const trees::PlannedTree> trees) const {
  std::map<std::pair<std::uint32_t, topology::Port>, std::uint32_t> wanted;
  for (const trees::PlannedTree& tree : trees) {
    for (const multicast::TreePart& part : tree.parts) {
      const auto has = each() == 0 ? std::nullopt : rooms_.switches.scarce_descriptors(part.at);
      if (!has || !trees::EngineLoads::occupies(part)) {
        continue;
      }
      const std::uint32_t others = rooms_.engines.trees_at(part.at, part.parent);
      const std::uint32_t own = ++wanted[{part.at.value, part.parent}];
      if (others != 0 && (others + own) * each() > *has) {
        return FullEngine{part.at, part.parent, *has, others};
      }
    }
  }
  return std::nullopt;
}

multicast::Tree Admission::weight_of_full_engines() const {
  multicast::Tree weight;
  for (std::uint32_t s = 0; s < rooms_.switches.size(); ++s) {
    const auto has = rooms_.switches.scarce_descriptors(SwitchId{s});
    for (topology::Port port = 0; has && port < graph()[SwitchId{s}].ports; ++port) {
      const std::uint32_t trees = rooms_.engines.trees_at(SwitchId{s}, port);
      if (trees != 0 && (trees + 1) * each() > *has) {
        if (const auto link = graph().link_at({SwitchId{s}, port})) {
          weight.links.insert(weight.links.end(), avoiding_weight, *link);
        }
      }
    }
  }
  return weight;
}

group::Error Admission::refusal(const group::Group& group, const FullEngine& full) const {
  std::string holders;
  std::size_t named = 0;
  for (const TreeNumber number : trees::trees_among(rooms_.coordinator.wanted_at(full.at))) {
    const group::Group* holder = rooms_.registry.find(number);
    const trees::GroupTrees* const group_trees =
        holder == nullptr ? nullptr : rooms_.states.find(holder->id);
    const bool uses_it =
        group_trees != nullptr &&
        std::ranges::any_of(group_trees->trees, [&](const trees::PlannedTree& tree) {
          return std::ranges::any_of(tree.parts, [&](const multicast::TreePart& part) {
            return part.at == full.at && part.parent == full.port &&
                   trees::EngineLoads::occupies(part);
          });
        });
    if (uses_it && named++ < holders_named) {
      holders += fmt::format("{}tree {} of {} ({})", holders.empty() ? ": " : ", ", number.value,
                             title(*holder), expiry(*holder, rooms_.clock.time()));
    }
  }
  const std::string to = graph().name_behind({full.at, full.port});
  return {
      group::ErrorKind::exhausted,
      fmt::format("04: {} has no tree: the engine of {} port {}{} has {} descriptors, a tree "
                  "may hold {}, and {} other {} may hold {} there already{}{}; end one of "
                  "them, or raise descriptors_per_engine in the switch's file, or lower "
                  "descriptors_per_tree in the manager's",
                  title(group), graph()[full.at].name, full.port,
                  to.empty() ? "" : fmt::format(" (to {})", to), full.has, each(), full.others,
                  full.others == 1 ? "tree" : "trees", full.others * each(), holders,
                  named > holders_named ? fmt::format(" and {} more", named - holders_named) : "")};
}

} // namespace tributary::tree_controller
