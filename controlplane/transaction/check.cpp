#include "controlplane/transaction/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tributary::transaction {
namespace {

/// Another NID for which other subjects need the port, while the need's own host is not known to be
/// there.
std::optional<Nid> guarded_for_another(const Need& need, const Subject& subject,
                                       const Inventory& inventory, const topology::Graph& graph) {
  const Inventory::Switch* s = inventory.find(need.at.at);
  if (s == nullptr || !need.nid) {
    return std::nullopt;
  }
  if (const auto host = graph.host_at(need.at); host && graph[*host].nid == *need.nid) {
    return std::nullopt; // the others are of a removed host, and will follow
  }
  const Inventory::Placement* own = inventory.find(subject);
  const auto count_of_own = [&](Nid nid) {
    return own == nullptr || !own->wanted
               ? std::ptrdiff_t{0}
               : std::ranges::count_if(own->wanted->needs, [&](const Need& one) {
                   return one.at == need.at && one.nid == nid;
                 });
  };
  for (const auto& [nid, count] : s->permissions.guarded_for(permission_of(need).permission.port)) {
    if (nid != *need.nid && std::cmp_greater(count, count_of_own(nid))) {
      return nid;
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> object_to_port(topology::Port port, const Inventory::Switch& s) {
  const std::uint32_t ports = std::min<std::uint32_t>(s.ports, max_ports);
  if (port < ports) {
    return std::nullopt;
  }
  return ports == 0
             ? fmt::format("port {} does not exist; the switch has none", port)
             : fmt::format("port {} does not exist; the switch has ports 0 to {}", port, ports - 1);
}

std::optional<Objection> object_to(const Target& target, const Kind& kind,
                                   const Inventory& inventory, const topology::Graph& graph) {
  if (auto why = kind.object_to(target)) {
    return Objection{std::nullopt, *std::move(why)};
  }
  if (target.parts.empty() && !kind.has_needs_alone()) {
    return Objection{std::nullopt, "it has no switch"};
  }
  // What cannot be asked of a switch because it is not connected.
  const auto away = [&](SwitchId id) -> std::optional<std::string> {
    if (id.value >= graph.switches().size()) {
      return fmt::format("the graph has no switch {}", id.value);
    }
    return inventory.is_heard(id) ? std::nullopt : std::optional("it is not connected");
  };

  std::set<SwitchId> seen;
  for (const Part& part : target.parts) {
    if (!seen.insert(part.at).second) {
      return Objection{part.at, "it is listed twice"};
    }
    if (auto why = away(part.at)) {
      if (kind.absent_may_follow() && part.at.value < graph.switches().size()) {
        continue;
      }
      return Objection{part.at, *std::move(why)};
    }
    const Inventory::Switch& s = *inventory.find(part.at);
    if (s.own.contains(target.subject)) {
      return Objection{part.at, fmt::format("the switch's own file has {}; it is not the "
                                            "manager's to change",
                                            kind.describe(target.subject))};
    }
    if (auto why = kind.object_to(target.subject, part, s)) {
      return Objection{part.at, *std::move(why)};
    }
    if (!s.session && !kind.absent_may_follow() && !inventory.holds(part, target.subject)) {
      return Objection{part.at, "it is not connected"};
    }
  }
  for (const Need& need : target.needs) {
    const SwitchId at = need.at.at;
    if (auto why = away(at)) {
      return Objection{at, *std::move(why)};
    }
    const Inventory::Switch& s = *inventory.find(at);
    if (auto why = object_to_port(need.at.port, s)) {
      return Objection{at, *std::move(why)};
    }
    if (const auto other = guarded_for_another(need, target.subject, inventory, graph)) {
      return Objection{at, fmt::format("port {} is for NID {}, of another group or allocation, and "
                                       "takes no frames of NID {} before that has ended",
                                       need.at.port, other->value, need.nid->value)};
    }
    if (!s.session && !s.permissions.permits(permission_of(need))) {
      return Objection{at, "it is not connected"};
    }
  }
  return std::nullopt;
}

} // namespace tributary::transaction
