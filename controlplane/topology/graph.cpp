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
  touch(id);
  return id;
}

HostId Graph::add_host(Host added) {
  const HostId id{static_cast<std::uint32_t>(hosts_.size())};
  if (added.plugged) {
    require_free(added.at);
  } else {
    require_switch(added.at);
    added.up = false;
  }
  if (const auto other = find_host(added.nid)) {
    throw GraphError(fmt::format("host \"{}\" has the NID {} of host \"{}\"", added.name,
                                 added.nid.value, (*this)[*other].name));
  }
  if (!host_by_name_.emplace(added.name, id).second) {
    throw GraphError(fmt::format("there are two hosts \"{}\"", added.name));
  }
  host_by_nid_.emplace(added.nid.value, id);
  if (added.plugged) {
    host_at_.emplace(added.at, id);
  }
  hosts_.push_back(std::move(added));
  touch(id);
  return id;
}

LinkId Graph::connect(Attachment a, Attachment b, std::uint32_t speed_mbps) {
  return add_link({.ends = {a, b}, .speed_mbps = speed_mbps});
}

LinkId Graph::add_link(Link added) {
  const LinkId id{static_cast<std::uint32_t>(links_.size())};
  const Attachment a = added.ends[0];
  const Attachment b = added.ends[1];
  for (const Attachment end : added.ends) {
    if (added.plugged) {
      require_free(end);
    } else {
      require_switch(end);
      added.up = false;
    }
  }
  if (a.at == b.at) {
    throw GraphError(fmt::format("a link joins {} and {}", describe(a), describe(b)));
  }
  if (added.plugged) {
    link_at_.emplace(a, id);
    link_at_.emplace(b, id);
  }
  hops_[a.at.value].push_back({b.at, id, a.port});
  hops_[b.at.value].push_back({a.at, id, b.port});
  links_.push_back(added);
  touch(id);
  return id;
}

void Graph::set_up(SwitchId s, bool up) {
  switches_[s.value].up = up;
  touch(s);
}

void Graph::set_up(HostId h, bool up) {
  hosts_[h.value].up = up;
  touch(h);
}

void Graph::set_up(LinkId c, bool up) {
  links_[c.value].up = up;
  touch(c);
}

void Graph::set_speed(LinkId c, std::uint32_t speed_mbps) {
  if (links_[c.value].speed_mbps != speed_mbps) {
    links_[c.value].speed_mbps = speed_mbps;
    touch(c);
  }
}

void Graph::forget(HostId h) {
  touch(h);
  unplug(h);
  const Host& gone = hosts_[h.value];
  host_by_nid_.erase(gone.nid.value);
  host_by_name_.erase(gone.name);
  if (h.value + 1 < hosts_.size()) {
    Host& last = hosts_.back();
    host_by_nid_[last.nid.value] = h;
    host_by_name_.find(last.name)->second = h;
    if (last.plugged) {
      host_at_[last.at] = h;
    }
    hosts_[h.value] = std::move(last);
  }
  hosts_.pop_back();
}

bool Graph::follow(const Graph& other, const Touched& touched) {
  if (switches_.size() != other.switches_.size() || links_.size() != other.links_.size() ||
      hosts_.size() != other.hosts_.size()) {
    return false;
  }
  for (const SwitchId id : touched.switches) {
    const Switch& theirs = other[id];
    if (theirs.guid != switches_[id.value].guid || theirs.ports != switches_[id.value].ports) {
      return false;
    }
    switches_[id.value].up = theirs.up;
  }
  for (const LinkId id : touched.links) {
    const Link& theirs = other[id];
    Link& own = links_[id.value];
    if (theirs.ends[0] != own.ends[0] || theirs.ends[1] != own.ends[1] ||
        theirs.plugged != own.plugged) {
      return false;
    }
    own.up = theirs.up;
    own.speed_mbps = theirs.speed_mbps;
  }
  for (const Nid nid : touched.hosts) {
    const auto id = find_host(nid);
    if (!id || other.find_host(nid) != id) {
      return false;
    }
    const Host& theirs = other[*id];
    Host& own = hosts_[id->value];
    if (theirs.name != own.name || theirs.at != own.at || theirs.plugged != own.plugged) {
      return false;
    }
    own.up = theirs.up;
  }
  return true;
}

Touched Graph::take_touched() { return std::exchange(touched_, {}); }

void Graph::move_host(HostId h, Attachment to) {
  require_free(to);
  unplug(h);
  host_at_.emplace(to, h);
  Host& host = hosts_[h.value];
  host.at = to;
  host.up = host.plugged = true;
  touch(h);
}

void Graph::unplug(LinkId c) {
  Link& link = links_[c.value];
  if (link.plugged) {
    link_at_.erase(link.ends[0]);
    link_at_.erase(link.ends[1]);
  }
  link.up = link.plugged = false;
  touch(c);
}

void Graph::unplug(HostId h) {
  Host& host = hosts_[h.value];
  if (host.plugged) {
    host_at_.erase(host.at);
  }
  host.up = host.plugged = false;
  touch(h);
}

void Graph::plug_in(LinkId c) {
  Link& link = links_[c.value];
  if (link.plugged) {
    return;
  }
  require_free(link.ends[0]);
  require_free(link.ends[1]);
  link_at_.emplace(link.ends[0], c);
  link_at_.emplace(link.ends[1], c);
  link.plugged = true;
  touch(c);
}

void Graph::set_ports(SwitchId s, Port ports) {
  for (Port port = ports; port < (*this)[s].ports; ++port) {
    require_free({s, port});
  }
  if (switches_[s.value].ports != ports) {
    switches_[s.value].ports = ports;
    touch(s);
  }
}

void Graph::set_guid(SwitchId s, std::uint64_t guid) {
  if (const auto other = find_switch_by_guid(guid); guid != 0 && other && *other != s) {
    throw GraphError(fmt::format("switch \"{}\" has the guid {:#018x} of switch \"{}\"",
                                 (*this)[s].name, guid, (*this)[*other].name));
  }
  if ((*this)[s].guid != guid) {
    touch(s);
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
  touch(h);
}

bool Graph::usable(LinkId c) const {
  const Link& link = (*this)[c];
  return link.up && (*this)[link.ends[0].at].up && (*this)[link.ends[1].at].up;
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

std::optional<HostId> Graph::first_host_from(std::uint64_t nid) const {
  if (nid > max_nid) {
    return std::nullopt;
  }
  const auto found = host_by_nid_.lower_bound(static_cast<std::uint32_t>(nid));
  return found == host_by_nid_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LinkId> Graph::find_link(Attachment a, Attachment b) const {
  for (const Hop& hop : hops(a.at)) {
    const Link& link = (*this)[hop.link];
    if ((link.ends[0] == a && link.ends[1] == b) || (link.ends[0] == b && link.ends[1] == a)) {
      return hop.link;
    }
  }
  return std::nullopt;
}

std::optional<LinkId> Graph::link_at(Attachment end) const {
  const auto found = link_at_.find(end);
  return found == link_at_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<HostId> Graph::host_at(Attachment end) const {
  const auto found = host_at_.find(end);
  return found == host_at_.end() ? std::nullopt : std::optional(found->second);
}

std::string Graph::name_behind(Attachment end) const {
  if (const auto host = host_at(end)) {
    return (*this)[*host].name;
  }
  if (const auto link = link_at(end)) {
    const Link& c = (*this)[*link];
    return (*this)[c.ends[c.ends[0] == end ? 1 : 0].at].name;
  }
  return {};
}

std::string Graph::describe(Attachment end) const {
  return fmt::format("{} port {}", (*this)[end.at].name, end.port);
}

std::string Graph::describe(LinkId link) const {
  const Link& c = (*this)[link];
  return fmt::format("{} - {}", describe(c.ends[0]), describe(c.ends[1]));
}

void Graph::require_switch(Attachment end) const {
  if (end.at.value >= switches_.size()) {
    throw GraphError(fmt::format("there is no switch number {}", end.at.value));
  }
}

void Graph::require_free(Attachment end) const {
  require_switch(end);
  const Switch& s = (*this)[end.at];
  if (end.port >= s.ports) {
    throw GraphError(fmt::format("switch \"{}\" has no port {}; it has {}, from 0 on", s.name,
                                 end.port, s.ports));
  }
  if (const auto link = link_at(end)) {
    throw GraphError(
        fmt::format("{} is used already, by the link {}", describe(end), describe(*link)));
  }
  if (const auto host = host_at(end)) {
    throw GraphError(
        fmt::format("{} is used already, by host \"{}\"", describe(end), (*this)[*host].name));
  }
}

} // namespace tributary::topology
