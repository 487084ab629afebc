#include "controlplane/route_controller/route_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tributary::route_controller {

using topology::SwitchId;
using transaction::Content;
using transaction::ContentPtr;
using transaction::Inventory;
using transaction::Part;
using transaction::Subject;
using transaction::Target;

namespace {

/// Whether no switch that `counts` selects holds, or may hold, content that is incompatible with
/// this.
template <typename Counts>
bool meets_all(const RoutesContent& content, const Subject& subject, const Inventory& inventory,
               Counts&& counts) {
  const Inventory::Placement* placement = inventory.find(subject);
  return placement == nullptr || std::ranges::all_of(placement->holders, [&](SwitchId at) {
           return !counts(at) ||
                  std::ranges::all_of(inventory.held(at, subject), [&](const Content* held) {
                    return content.may_meet(at, routes_of(*held));
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
  const std::string problem =
      forwarding_table::problem_with(*routes_of(*part.content).routes(), at.ports);
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
  std::set<SwitchId> leaving;
  if (const Inventory::Placement* placement = inventory.find(subject)) {
    std::ranges::copy_if(placement->holders, std::inserter(leaving, leaving.end()),
                         [&](SwitchId at) { return inventory.is_connected(at); });
  }
  for (const Part& part : target == nullptr ? std::vector<Part>{} : target->parts) {
    leaving.erase(part.at);
  }
  const auto lose = [&](unsigned stage) {
    for (const SwitchId at : leaving) {
      order.moves.push_back({at, nullptr, stage});
    }
  };
  if (wanted.empty()) {
    lose(0);
    return order;
  }
  const RoutesContent& any = routes_of(*wanted.begin()->second);
  if (meets_all(any, subject, inventory, [](SwitchId) { return true; })) {
    for (const auto& [at, content] : wanted) {
      order.moves.push_back({at, content, 0});
    }
    lose(1);
    return order;
  }
  const bool gets_through =
      any.between() &&
      meets_all(*any.between(), subject, inventory, [](SwitchId) { return true; }) &&
      meets_all(any, subject, inventory, [&](SwitchId at) { return !inventory.is_connected(at); });
  if (!gets_through) {
    return {.moves = {},
            .objection = "a switch holds other routes than these were checked with, or has lost "
                         "its channel since; they are computed again"};
  }
  for (const Part& part : target->parts) {
    if (inventory.is_connected(part.at)) {
      order.moves.push_back({part.at, routes_of(*part.content).between(), 0});
      wanted.emplace(part.at, part.content);
    }
  }
  lose(1);
  for (const auto& [at, content] : wanted) {
    order.moves.push_back({at, content, 2});
  }
  return order;
}

ContentPtr RouteKind::alone(const Subject& subject, const Part& part,
                            const Inventory& inventory) const {
  const RoutesContent& content = routes_of(*part.content);
  const auto others = [&](SwitchId at) { return at != part.at; };
  if (meets_all(content, subject, inventory, others)) {
    return part.content;
  }
  if (content.between() && meets_all(*content.between(), subject, inventory, others)) {
    return content.between();
  }
  return nullptr;
}

} // namespace tributary::route_controller
