#include "controlplane/topology/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::topology {

bool is_name_for_files(std::string_view name) {
  return !name.empty() && name.size() <= 255 && std::ranges::all_of(name, [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

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
  cables_.push_back({{a, b}, speed_mbps, true, true});
  cable_at_.emplace(a, id);
  cable_at_.emplace(b, id);
  hops_[a.at.value].push_back({b.at, id, a.port});
  hops_[b.at.value].push_back({a.at, id, b.port});
  return id;
}

void Graph::move_host(HostId h, Attachment to) {
  require_free(to);
  unplug(h);
  host_at_.emplace(to, h);
  Host& host = hosts_[h.value];
  host.at = to;
  host.up = host.plugged = true;
}

void Graph::unplug(CableId c) {
  Cable& cable = cables_[c.value];
  if (cable.plugged) {
    cable_at_.erase(cable.ends[0]);
    cable_at_.erase(cable.ends[1]);
  }
  cable.up = cable.plugged = false;
}

void Graph::unplug(HostId h) {
  Host& host = hosts_[h.value];
  if (host.plugged) {
    host_at_.erase(host.at);
  }
  host.up = host.plugged = false;
}

void Graph::plug_in(CableId c) {
  Cable& cable = cables_[c.value];
  if (cable.plugged) {
    return;
  }
  require_free(cable.ends[0]);
  require_free(cable.ends[1]);
  cable_at_.emplace(cable.ends[0], c);
  cable_at_.emplace(cable.ends[1], c);
  cable.plugged = true;
}

void Graph::set_ports(SwitchId s, Port ports) {
  for (Port port = ports; port < (*this)[s].ports; ++port) {
    require_free({s, port});
  }
  switches_[s.value].ports = ports;
}

void Graph::set_guid(SwitchId s, std::uint64_t guid) {
  if (const auto other = find_switch_by_guid(guid); guid != 0 && other && *other != s) {
    throw GraphError(fmt::format("switch \"{}\" has the guid {:#018x} of switch \"{}\"",
                                 (*this)[s].name, guid, (*this)[*other].name));
  }
  switch_by_guid_.erase((*this)[s].guid);
  switches_[s.value].guid = guid;
  if (guid != 0) {
    switch_by_guid_.emplace(guid, s);
  }
}

void Graph::rename(HostId h, std::string name) {
  if (const auto other = find_host(name); other && *other != h) {
    throw GraphError(fmt::format("there are two hosts \"{}\"", name));
  }
  host_by_name_.erase((*this)[h].name);
  host_by_name_.emplace(name, h);
  hosts_[h.value].name = std::move(name);
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

std::optional<HostId> Graph::find_host(std::string_view name) const {
  const auto found = host_by_name_.find(name);
  return found == host_by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<CableId> Graph::find_cable(Attachment a, Attachment b) const {
  for (const Hop& hop : hops(a.at)) {
    const Cable& cable = (*this)[hop.cable];
    if ((cable.ends[0] == a && cable.ends[1] == b) || (cable.ends[0] == b && cable.ends[1] == a)) {
      return hop.cable;
    }
  }
  return std::nullopt;
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
