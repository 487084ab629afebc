#include "controlplane/routes/route_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tributary::routes {

using topology::SwitchId;
using transaction::Content;
using transaction::ContentPtr;
using transaction::Inventory;
using transaction::Part;
using transaction::Subject;
using transaction::Target;

namespace {

/// Whether all that the switches but one hold, or may hold, may be beside this.
bool meets_all(const RoutesContent& content, const Subject& subject, const Inventory& inventory,
               std::optional<SwitchId> but = std::nullopt) {
  const Inventory::Placement* placement = inventory.find(subject);
  return placement == nullptr || std::ranges::all_of(placement->holders, [&](SwitchId at) {
           return at == but ||
                  std::ranges::all_of(inventory.held(at, subject), [&](const Content* held) {
                    return content.may_meet(routes_of(*held));
                  });
         });
}

} // namespace

Target target_of(const Plan& plan) {
  Target target{.subject = route_subject(), .parts = {}, .needs = {}};
  for (std::uint32_t s = 0; s < plan.contents.size(); ++s) {
    if (plan.contents[s]) {
      target.parts.push_back({SwitchId{s}, plan.contents[s]});
    }
  }
  return target;
}

std::string RouteKind::describe(const Subject&) const { return "the set of unicast routes"; }

std::optional<std::string> RouteKind::object_to(const Target&) const { return std::nullopt; }

std::optional<std::string> RouteKind::object_to(const Subject&, const Part& part,
                                                const Inventory::Switch& at) const {
  const auto found = at.capacity.find(route_kind);
  if (found == at.capacity.end() || found->second == 0) {
    return "it does not take routes of a manager; a newer version of tributary-switch does";
  }
  const std::string problem = routing::problem_with(*routes_of(*part.content).routes(), at.ports);
  return problem.empty() ? std::nullopt : std::optional(problem);
}

transaction::Order RouteKind::order(const Subject& subject, const Target* target,
                                    const Inventory& inventory) const {
  transaction::Order order;
  std::map<SwitchId, ContentPtr> wanted;
  for (const Part& part : target == nullptr ? std::vector<Part>{} : target->parts) {
    if (inventory.is_connected(part.at) && !inventory.holds(part, subject)) {
      wanted.emplace(part.at, part.content);
    }
  }
  unsigned stage = 0;
  if (!wanted.empty()) {
    const RoutesContent& any = routes_of(*wanted.begin()->second);
    const bool at_once = meets_all(any, subject, inventory);
    if (!at_once && !(any.between() && meets_all(*any.between(), subject, inventory))) {
      return {.moves = {},
              .objection = "a switch has come that holds other routes than these were checked "
                           "with; they are computed anew"};
    }
    bool goes_on = true;
    if (!at_once) {
      for (const Part& part : target->parts) {
        if (inventory.is_connected(part.at)) {
          order.moves.push_back({part.at, routes_of(*part.content).between(), stage});
          wanted.emplace(part.at, part.content);
        }
      }
      // Those that cannot be told what is in between keep the old ones.
      const Inventory::Placement* placement = inventory.find(subject);
      goes_on = placement == nullptr || std::ranges::all_of(placement->holders, [&](SwitchId at) {
                  return inventory.is_connected(at) ||
                         std::ranges::all_of(inventory.held(at, subject), [&](const Content* one) {
                           return any.may_meet(routes_of(*one));
                         });
                });
      ++stage;
    }
    if (goes_on) {
      for (const auto& [at, content] : wanted) {
        order.moves.push_back({at, content, stage});
      }
      ++stage;
    }
  }
  std::set<SwitchId> staying;
  for (const Part& part : target == nullptr ? std::vector<Part>{} : target->parts) {
    staying.insert(part.at);
  }
  if (const Inventory::Placement* placement = inventory.find(subject)) {
    for (const SwitchId at : placement->holders) {
      if (!staying.contains(at) && inventory.is_connected(at)) {
        order.moves.push_back({at, nullptr, stage});
      }
    }
  }
  return order;
}

ContentPtr RouteKind::alone(const Subject& subject, const Part& part,
                            const Inventory& inventory) const {
  const RoutesContent& content = routes_of(*part.content);
  if (meets_all(content, subject, inventory, part.at)) {
    return part.content;
  }
  if (content.between() && meets_all(*content.between(), subject, inventory, part.at)) {
    return content.between();
  }
  return nullptr;
}

} // namespace tributary::routes
