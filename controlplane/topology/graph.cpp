#include "controlplane/topology/graph.hpp"

#include "tributary/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::topology {

bool is_name_for_files(std::string_view name) {
  return !name.empty() && name.size() <= 255 && !is_dot_segment(name) &&
         std::ranges::all_of(name,
                             [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

SwitchId Graph::add_switch(Switch added) {
  const SwitchId id{static_cast<std::uint32_t>(switches_.size())};
  if (const auto other = find_switch_by_guid(added.guid); added.guid != 0 && other) {
    throw GraphError(fmt::format("switch \"{}\" has the guid {:#018x} of switch \"{}\"", added.name,
                                 added.guid, (*this)[*other].name));
  }
  if (!switch_by_name_.insert(added.name, id)) {
    throw GraphError(fmt::format("there are two switches \"{}\"", added.name));
  }
  if (added.guid != 0) {
    switch_by_guid_.insert(added.guid, id);
  }
  switches_.push_back(std::move(added));
  hops_.push_back({});
  plugs_.push_back({});
  host_counts_.push_back(0);
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
  if (!host_by_name_.insert(added.name, id)) {
    throw GraphError(fmt::format("there are two hosts \"{}\"", added.name));
  }
  host_by_nid_.insert(added.nid.value, id);
  if (added.plugged) {
    set_plug(added.at, {Plug::Kind::host, id.value});
  }
  ++host_counts_.own(added.at.at.value);
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
    set_plug(a, {Plug::Kind::link, id.value});
    set_plug(b, {Plug::Kind::link, id.value});
  }
  hops_.own(a.at.value).push_back({b.at, id, a.port});
  hops_.own(b.at.value).push_back({a.at, id, b.port});
  links_.push_back(added);
  touch(id);
  return id;
}

void Graph::set_up(SwitchId s, bool up) {
  switches_.own(s.value).up = up;
  touch(s);
}

void Graph::set_up(HostId h, bool up) {
  hosts_.own(h.value).up = up;
  touch(h);
}

void Graph::set_up(LinkId c, bool up) {
  links_.own(c.value).up = up;
  touch(c);
}

void Graph::set_speed(LinkId c, std::uint32_t speed_mbps) {
  if (links_[c.value].speed_mbps != speed_mbps) {
    links_.own(c.value).speed_mbps = speed_mbps;
    touch(c);
  }
}

void Graph::forget(HostId h) {
  touch(h);
  unplug(h);
  const Host& gone = hosts_[h.value];
  host_by_nid_.erase(gone.nid.value);
  host_by_name_.erase(gone.name);
  --host_counts_.own(gone.at.at.value);
  if (h.value + 1 < hosts_.size()) {
    Host last = hosts_.back();
    host_by_nid_.set(last.nid.value, h);
    host_by_name_.set(last.name, h);
    if (last.plugged) {
      set_plug(last.at, {Plug::Kind::host, h.value});
    }
    hosts_.own(h.value) = std::move(last);
  }
  hosts_.pop_back();
}

Touched Graph::take_touched() { return std::exchange(notes_.touched, {}); }

void Graph::move_host(HostId h, Attachment to) {
  require_free(to);
  unplug(h);
  set_plug(to, {Plug::Kind::host, h.value});
  Host& host = hosts_.own(h.value);
  --host_counts_.own(host.at.at.value);
  ++host_counts_.own(to.at.value);
  host.at = to;
  host.up = host.plugged = true;
  touch(h);
}

void Graph::unplug(LinkId c) {
  Link& link = links_.own(c.value);
  if (link.plugged) {
    set_plug(link.ends[0], {});
    set_plug(link.ends[1], {});
  }
  link.up = link.plugged = false;
  touch(c);
}

void Graph::unplug(HostId h) {
  Host& host = hosts_.own(h.value);
  if (host.plugged) {
    set_plug(host.at, {});
  }
  host.up = host.plugged = false;
  touch(h);
}

void Graph::plug_in(LinkId c) {
  Link& link = links_.own(c.value);
  if (link.plugged) {
    return;
  }
  require_free(link.ends[0]);
  require_free(link.ends[1]);
  set_plug(link.ends[0], {Plug::Kind::link, c.value});
  set_plug(link.ends[1], {Plug::Kind::link, c.value});
  link.plugged = true;
  touch(c);
}

void Graph::set_ports(SwitchId s, Port ports) {
  for (Port port = ports; port < (*this)[s].ports; ++port) {
    require_free({s, port});
  }
  if (switches_[s.value].ports != ports) {
    switches_.own(s.value).ports = ports;
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
  switches_.own(s.value).guid = guid;
  if (guid != 0) {
    switch_by_guid_.insert(guid, s);
  }
}

void Graph::rename(HostId h, std::string name) {
  if (const auto other = find_host(name); other && *other != h) {
    throw GraphError(fmt::format("there are two hosts \"{}\"", name));
  }
  host_by_name_.erase((*this)[h].name);
  host_by_name_.insert(name, h);
  hosts_.own(h.value).name = std::move(name);
  touch(h);
}

bool Graph::usable(LinkId c) const {
  const Link& link = (*this)[c];
  return link.up && (*this)[link.ends[0].at].up && (*this)[link.ends[1].at].up;
}

std::optional<SwitchId> Graph::find_switch(std::string_view name) const {
  const SwitchId* const found = switch_by_name_.find(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<SwitchId> Graph::find_switch_by_guid(std::uint64_t guid) const {
  const SwitchId* const found = switch_by_guid_.find(guid);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<HostId> Graph::find_host(Nid nid) const {
  const HostId* const found = host_by_nid_.find(nid.value);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<HostId> Graph::find_host(std::string_view name) const {
  const HostId* const found = host_by_name_.find(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<HostId> Graph::first_host_from(std::uint64_t nid) const {
  if (nid > max_nid) {
    return std::nullopt;
  }
  const auto* const found = host_by_nid_.first_from(static_cast<std::uint32_t>(nid));
  return found == nullptr ? std::nullopt : std::optional(found->second);
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

Graph::Plug Graph::plug(Attachment end) const {
  if (end.at.value >= plugs_.size()) {
    return {};
  }
  const std::vector<Plug>& ports = plugs_[end.at.value];
  return end.port < ports.size() ? ports[end.port] : Plug{};
}

void Graph::set_plug(Attachment end, Plug plug) {
  std::vector<Plug>& ports = plugs_.own(end.at.value);
  if (end.port >= ports.size()) {
    ports.resize(end.port + std::size_t{1});
  }
  ports[end.port] = plug;
}

std::optional<LinkId> Graph::link_at(Attachment end) const {
  const Plug there = plug(end);
  return there.kind == Plug::Kind::link ? std::optional(LinkId{there.number}) : std::nullopt;
}

std::optional<HostId> Graph::host_at(Attachment end) const {
  const Plug there = plug(end);
  return there.kind == Plug::Kind::host ? std::optional(HostId{there.number}) : std::nullopt;
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
    throw GraphError(fmt::format("no switch number {}", end.at.value));
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
