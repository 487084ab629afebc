#include "controlplane/topology/graph.hpp"

#include <fmt/format.h>

#include <utility>

namespace tributary::topology {

SwitchId Graph::add_switch(Switch added) {
  const SwitchId id{static_cast<std::uint32_t>(switches_.size())};
  if (added.guid != 0 && switch_by_guid_.contains(added.guid)) {
    throw GraphError(fmt::format("switch \"{}\" has the guid {:#018x} of switch \"{}\"", added.name,
                                 added.guid, (*this)[switch_by_guid_.at(added.guid)].name));
  }
  if (!switch_by_name_.emplace(added.name, id).second) {
    throw GraphError(fmt::format("there are two switches \"{}\"", added.name));
  }
  if (added.guid != 0) {
    switch_by_guid_.emplace(added.guid, id);
  }
  switches_.push_back(std::move(added));
  hops_.emplace_back();
  return id;
}

HostId Graph::add_host(Host added) {
  const HostId id{static_cast<std::uint32_t>(hosts_.size())};
  require_free(added.at);
  if (const auto other = find_host(added.nid)) {
    throw GraphError(fmt::format("host \"{}\" has the NID {} of host \"{}\"", added.name,
                                 added.nid.value, (*this)[*other].name));
  }
  if (!host_by_name_.emplace(added.name, id).second) {
    throw GraphError(fmt::format("there are two hosts \"{}\"", added.name));
  }
  host_by_nid_.emplace(added.nid.value, id);
  host_at_.emplace(added.at, id);
  hosts_.push_back(std::move(added));
  return id;
}

CableId Graph::connect(Attachment a, Attachment b, std::uint32_t speed_mbps) {
  const CableId id{static_cast<std::uint32_t>(cables_.size())};
  require_free(a);
  require_free(b);
  if (a.at == b.at) {
    throw GraphError(fmt::format("a cable joins {} and {}", describe(a), describe(b)));
  }
  cables_.push_back({{a, b}, speed_mbps, true});
  cable_at_.emplace(a, id);
  cable_at_.emplace(b, id);
  hops_[a.at.value].push_back({b.at, id, a.port});
  hops_[b.at.value].push_back({a.at, id, b.port});
  return id;
}

void Graph::move_host(HostId h, Attachment to) {
  require_free(to);
  host_at_.erase(hosts_[h.value].at);
  host_at_.emplace(to, h);
  hosts_[h.value].at = to;
}

bool Graph::usable(CableId c) const {
  const Cable& cable = (*this)[c];
  return cable.up && (*this)[cable.ends[0].at].up && (*this)[cable.ends[1].at].up;
}

std::optional<SwitchId> Graph::find_switch(std::string_view name) const {
  const auto found = switch_by_name_.find(name);
  return found == switch_by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<SwitchId> Graph::find_switch_by_guid(std::uint64_t guid) const {
  const auto found = switch_by_guid_.find(guid);
  return found == switch_by_guid_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<HostId> Graph::find_host(Nid nid) const {
  const auto found = host_by_nid_.find(nid.value);
  return found == host_by_nid_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<CableId> Graph::cable_at(Attachment end) const {
  const auto found = cable_at_.find(end);
  return found == cable_at_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<HostId> Graph::host_at(Attachment end) const {
  const auto found = host_at_.find(end);
  return found == host_at_.end() ? std::nullopt : std::optional(found->second);
}

std::string Graph::describe(Attachment end) const {
  return fmt::format("{} port {}", (*this)[end.at].name, end.port);
}

std::string Graph::describe(CableId cable) const {
  const Cable& c = (*this)[cable];
  return fmt::format("{} - {}", describe(c.ends[0]), describe(c.ends[1]));
}

void Graph::require_free(Attachment end) const {
  if (end.at.value >= switches_.size()) {
    throw GraphError(fmt::format("there is no switch number {}", end.at.value));
  }
  const Switch& s = (*this)[end.at];
  if (end.port >= s.ports) {
    throw GraphError(fmt::format("switch \"{}\" has no port {}; it has {}, from 0 on", s.name,
                                 end.port, s.ports));
  }
  if (const auto cable = cable_at(end)) {
    throw GraphError(
        fmt::format("{} is used already, by the cable {}", describe(end), describe(*cable)));
  }
  if (const auto host = host_at(end)) {
    throw GraphError(
        fmt::format("{} is used already, by host \"{}\"", describe(end), (*this)[*host].name));
  }
}

} // namespace tributary::topology
