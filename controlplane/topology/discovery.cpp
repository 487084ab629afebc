// Switches: which exist, what their ports report, and when a switch is down.
#include "controlplane/topology/discovery.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::topology {
namespace {

template <typename Index, typename Key, typename Entry>
void forget(Index& index, const Key& key, const Entry& at) {
  if (const auto found = index.find(key); found != index.end()) {
    found->second.erase(at);
    if (found->second.empty()) {
      index.erase(found);
    }
  }
}

} // namespace

std::string_view name_of(HostState state) {
  switch (state) {
  case HostState::up: return "up";
  case HostState::quiet: return "quiet";
  case HostState::missing: return "missing";
  case HostState::down: return "down";
  }
  return "";
}

std::string_view name_of(Change::Kind kind) {
  switch (kind) {
  case Change::Kind::switch_added: return "switch_added";
  case Change::Kind::switch_up: return "switch_up";
  case Change::Kind::switch_down: return "switch_down";
  case Change::Kind::switch_changed: return "switch_changed";
  case Change::Kind::link_added: return "link_added";
  case Change::Kind::link_up: return "link_up";
  case Change::Kind::link_down: return "link_down";
  case Change::Kind::host_added: return "host_added";
  case Change::Kind::host_up: return "host_up";
  case Change::Kind::host_down: return "host_down";
  case Change::Kind::host_moved: return "host_moved";
  case Change::Kind::host_renamed: return "host_renamed";
  case Change::Kind::host_forgotten: return "host_forgotten";
  }
  return "unknown";
}

std::string_view name_of(Problem::Kind kind) {
  switch (kind) {
  case Problem::Kind::duplicate_switch_name: return "duplicate_switch_name";
  case Problem::Kind::duplicate_switch_guid: return "duplicate_switch_guid";
  case Problem::Kind::nid_conflict: return "nid_conflict";
  case Problem::Kind::one_sided_link: return "one_sided_link";
  case Problem::Kind::unknown_neighbour: return "unknown_neighbour";
  case Problem::Kind::loop: return "loop";
  case Problem::Kind::switch_on_edge_port: return "switch_on_edge_port";
  case Problem::Kind::host_name_conflict: return "host_name_conflict";
  case Problem::Kind::too_many_hosts: return "too_many_hosts";
  }
  return "unknown";
}

Discovery::Discovery(const DiscoverySettings& settings) : settings_(settings) {}

void Discovery::restore(Graph last_seen, TimeNs now) {
  now_ = now;
  graph_ = std::move(last_seen);
  stations_.assign(graph_.switches().size(), {});
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    const SwitchId s{static_cast<std::uint32_t>(i)};
    stations_[i].guid = graph_[s].guid;
    stations_[i].disconnected_at = now;
    if (graph_[s].up) {
      silent_.insert(s);
      doubt(s);
    }
  }
  resolve_doubts();
  for (std::uint32_t h = 0; h < graph_.hosts().size(); ++h) {
    note_host(HostId{h});
  }
}

void Discovery::connected(const control::SwitchHello& hello, TimeNs now) {
  now_ = now;
  const SwitchId s = station_of(hello);
  Station& station = stations_[s.value];
  // A switch that only lost its channel still knows its neighbours.
  const bool started = station.boot != hello.boot();
  station.boot = hello.boot();
  station.connected = true;
  station.was_heard = false;
  silent_.erase(s);
  silent_due_.erase({std::exchange(station.due, never), s});
  if (!graph_[s].up) {
    graph_.set_up(s, true);
    changed(Change::Kind::switch_up, s,
            fmt::format("switch {} is up: it has connected", graph_[s].name));
  }
  std::vector<bool> listed(graph_[s].ports);
  for (const control::Port& port : hello.ports()) {
    if (port.number() < listed.size()) {
      listed[port.number()] = true;
      const Attachment at{s, static_cast<Port>(port.number())};
      const PortWord* before = word_at(at);
      take_port(at, port,
                started             ? now + settings_.timeout_ns
                : before != nullptr ? before->excused_until
                                    : now);
    }
  }
  for (Port port = 0; port < listed.size(); ++port) {
    if (!listed[port]) {
      control::Port missing;
      missing.set_number(port);
      take_port({s, port}, missing, now);
    }
  }
  reconcile_switches_heard_by(s);
  // What other ports hear may match now, or not any more.
  for (const Attachment by : hearers_of(hello.name())) {
    reconcile_port(by);
  }
  suspect_all_of(s);
  suspect_guid(station.guid);
  examine();
}

void Discovery::disconnected(std::string_view name, TimeNs now) {
  now_ = now;
  const auto s = graph_.find_switch(name);
  if (!s || !stations_[s->value].connected) {
    return;
  }
  Station& station = stations_[s->value];
  station.connected = false;
  station.disconnected_at = now;
  station.was_heard = is_heard_now(*s);
  silent_.insert(*s);
  doubt(*s);
  for (const auto& [port, word] : station.ports) {
    reconcile_port({*s, port});
  }
  reconcile_switches_heard_by(*s);
  suspect_all_of(*s);
  suspect_guid(station.guid);
  examine();
}

void Discovery::report(std::string_view name, const control::PortReport& ports, TimeNs now) {
  now_ = now;
  const auto s = graph_.find_switch(name);
  if (!s || !stations_[s->value].connected) {
    return;
  }
  for (const control::Port& port : ports.ports()) {
    if (port.number() < graph_[*s].ports) {
      const Attachment at{*s, static_cast<Port>(port.number())};
      const PortWord* before = word_at(at);
      take_port(at, port, before != nullptr ? before->excused_until : now);
    }
  }
  examine();
}

void Discovery::poll(TimeNs now) {
  now_ = now;
  while (!excused_.empty() && excused_.begin()->first <= now) {
    const Attachment at = excused_.begin()->second;
    excused_.erase(excused_.begin());
    reconcile_port(at);
    reconcile_switches_heard_by(at.at); // it was assumed to hear the same neighbours as before
    suspect(at);
  }
  while (!silent_due_.empty() && silent_due_.begin()->first <= now) {
    const SwitchId s = silent_due_.begin()->second;
    silent_due_.erase(silent_due_.begin());
    stations_[s.value].due = never;
    doubt(s);
    reconcile_switch(s);
  }
  forget_hosts();
  while (!ripening_.empty() && ripening_.begin()->first <= now) {
    suspect(ripening_.begin()->second);
    ripening_.erase(ripening_.begin());
  }
  examine();
}

TimeNs Discovery::next_deadline() const {
  TimeNs next = excused_.empty() ? never : excused_.begin()->first;
  if (!ripening_.empty()) {
    next = std::min(next, ripening_.begin()->first);
  }
  if (!silent_due_.empty()) {
    next = std::min(next, silent_due_.begin()->first);
  }
  if (!forgetting_.empty()) {
    next = std::min(next, forgetting_.begin()->first);
  }
  return next;
}

std::vector<Change> Discovery::take_changes() { return std::exchange(changes_, {}); }

const control::Port* Discovery::port(Attachment at) const {
  const PortWord* word = word_at(at);
  return word != nullptr ? &word->said : nullptr;
}

/// The switch of this name, with the guid and the ports that it reports now.
SwitchId Discovery::station_of(const control::SwitchHello& hello) {
  Port ports = 0;
  for (const control::Port& port : hello.ports()) {
    if (port.number() < max_ports) {
      ports = std::max(ports, static_cast<Port>(port.number() + 1));
    }
  }
  if (const auto known = graph_.find_switch(hello.name())) {
    const bool same = stations_[known->value].guid == hello.guid() && graph_[*known].ports == ports;
    take_guid(*known, hello.guid());
    if (ports < graph_[*known].ports) {
      remove_ports_from(*known, ports);
    }
    graph_.set_ports(*known, ports);
    if (!same) {
      changed(Change::Kind::switch_changed, *known,
              fmt::format("switch {} has {} ports and the guid {:#018x} now", hello.name(), ports,
                          hello.guid()));
    }
    return *known;
  }
  const SwitchId s = graph_.add_switch({.name = hello.name(), .ports = ports});
  stations_.emplace_back();
  take_guid(s, hello.guid());
  changed(Change::Kind::switch_added, s,
          fmt::format("switch {} found, with {}", hello.name(), counted(ports, "port")));
  return s;
}

/// The graph knows each guid once: the switch that had it first keeps it while it exists.
void Discovery::take_guid(SwitchId s, std::uint64_t guid) {
  const std::uint64_t before = std::exchange(stations_[s.value].guid, guid);
  if (before != guid) {
    forget(by_guid_, before, s);
    suspect_guid(before);
  }
  if (guid != 0) {
    by_guid_[guid].insert(s);
  }
  if (const auto holder = graph_.find_switch_by_guid(guid); holder && *holder != s) {
    if (graph_[*holder].up) {
      graph_.set_guid(s, 0);
      return;
    }
    graph_.set_guid(*holder, 0);
  }
  graph_.set_guid(s, guid);
}

void Discovery::take_port(Attachment at, const control::Port& said, TimeNs excused_until) {
  Station& station = stations_[at.at.value];
  auto [found, is_new] = station.ports.try_emplace(at.port);
  PortWord& word = found->second;
  const control::Port before = std::exchange(word.said, said);
  excused_.erase({std::exchange(word.excused_until, TimeNs{}), at});
  if (said.up() && !said.has_neighbour() && now_ < excused_until) {
    word.excused_until = excused_until;
    excused_.emplace(excused_until, at);
  }
  const bool hears_the_same = before.has_neighbour() == said.has_neighbour() &&
                              before.neighbour().name() == said.neighbour().name() &&
                              before.neighbour().port() == said.neighbour().port() &&
                              before.neighbour().nid() == said.neighbour().nid();
  if (is_new || !hears_the_same || before.up() != said.up()) {
    ripening_.erase({ripe_at(word), at});
    word.since = now_;
    ripening_.emplace(ripe_at(word), at);
  }

  const auto hears_switch = [](const control::Port& p) {
    return p.up() && p.has_neighbour() && !p.neighbour().has_nid();
  };
  const auto heard_switch = [&](const control::Port& p) {
    return hears_switch(p) ? p.neighbour().name() : std::string();
  };
  const std::string lost = heard_switch(before);
  const std::string found_switch = heard_switch(said);
  if (lost != found_switch || before.neighbour().port() != said.neighbour().port()) {
    if (const auto heard = heard_.find(lost); hears_switch(before) && heard != heard_.end()) {
      forget(heard->second, before.neighbour().port(), at);
      if (heard->second.empty()) {
        heard_.erase(heard);
      }
    }
    if (hears_switch(said)) {
      heard_[found_switch][said.neighbour().port()].insert(at);
    }
  }
  const auto heard_host = [](const control::Port& p) {
    return p.has_neighbour() && p.neighbour().has_nid() ? p.neighbour().name() : std::string();
  };
  if (heard_host(before) != heard_host(said)) {
    forget(host_names_, heard_host(before), at);
    if (!heard_host(said).empty()) {
      host_names_[heard_host(said)].insert(at);
    }
  }

  const auto nid_of = [](const control::Port& p) -> std::optional<Nid> {
    return p.has_nid()               ? std::optional(Nid{p.nid()})
           : p.neighbour().has_nid() ? std::optional(Nid{p.neighbour().nid()})
                                     : std::nullopt;
  };
  const auto host_before = nid_of(before);
  const auto host_now = nid_of(said);
  if (host_before != host_now) {
    if (host_before) {
      forget(claims_, host_before->value, at);
    }
    if (host_now) {
      claims_[host_now->value].insert(at);
    }
  }

  if (host_before && host_before != host_now) {
    reconcile_host(*host_before);
  }
  reconcile_port(at);
  suspect(at);
  for (const std::string& name : {lost, found_switch}) {
    if (name.empty()) {
      continue;
    }
    if (const auto s = graph_.find_switch(name)) {
      reconcile_switch(*s);
      doubt(*s);
    }
  }
}

/// Removes ports that a switch does not have any more.
void Discovery::remove_ports_from(SwitchId s, Port first) {
  for (Port port = first; port < graph_[s].ports; ++port) {
    control::Port gone;
    gone.set_number(port);
    take_port({s, port}, gone, now_);
    make_room({s, port});
    ripening_.erase({ripe_at(stations_[s.value].ports.at(port)), {s, port}});
    stations_[s.value].ports.erase(port);
  }
}

/// Marks a switch without channel up or down.
void Discovery::reconcile_switch(SwitchId s) {
  Station& station = stations_[s.value];
  if (station.connected) {
    return;
  }
  station.was_heard |= is_heard_now(s);
  doubt(s);
  const bool up = now_ < down_at(s);
  if (up == graph_[s].up) {
    return;
  }
  graph_.set_up(s, up);
  if (up) {
    silent_.insert(s);
    changed(Change::Kind::switch_up, s,
            fmt::format("switch {} is up: its neighbours hear it, though it has not "
                        "connected",
                        graph_[s].name));
  } else {
    silent_.erase(s);
    changed(Change::Kind::switch_down, s,
            fmt::format("switch {} is down: it has no control channel, and no neighbour "
                        "hears it",
                        graph_[s].name));
  }
}

void Discovery::resolve_doubts() {
  for (const SwitchId s : std::exchange(doubted_, {})) {
    Station& station = stations_[s.value];
    silent_due_.erase({std::exchange(station.due, never), s});
    const TimeNs due = silent_.contains(s) ? down_at(s) : never;
    if (due != never) {
      station.due = due;
      silent_due_.emplace(due, s);
    }
  }
}

/// The reports of their neighbour now count differently.
void Discovery::reconcile_switches_heard_by(SwitchId s) {
  for (const auto& [port, word] : stations_[s.value].ports) {
    if (const auto other = graph_.find_switch(word.said.neighbour().name())) {
      reconcile_switch(*other);
    }
    if (const auto link = graph_.link_at({s, port})) {
      const Link& c = graph_[*link];
      reconcile_switch(c.ends[c.ends[0].at == s ? 1 : 0].at);
    }
  }
}

/// When a switch counts as down, without further events (rule 4).
TimeNs Discovery::down_at(SwitchId s) const {
  const Station& station = stations_[s.value];
  if (station.connected || is_heard_now(s)) {
    return never;
  }
  TimeNs at = station.was_heard ? TimeNs{} : station.disconnected_at + settings_.timeout_ns;
  for_each_hearer(graph_[s].name, [&](Attachment by) {
    if (names(word_at(by)->said, by, s)) { // and has no channel itself
      at = std::max(at, stations_[by.at.value].disconnected_at + settings_.timeout_ns);
    }
    return false;
  });
  for (const Hop& hop : graph_.hops(s)) {
    const Link& link = graph_[hop.link];
    const Attachment there = link.ends[link.ends[0].at == s ? 1 : 0];
    if (link.plugged && is_excused(there)) {
      at = std::max(at, word_at(there)->excused_until);
    }
  }
  return at;
}

bool Discovery::is_heard_now(SwitchId s) const {
  return for_each_hearer(graph_[s].name, [&](Attachment by) {
    return stations_[by.at.value].connected && names(word_at(by)->said, by, s);
  });
}

std::vector<Attachment> Discovery::hearers_of(std::string_view name) const {
  std::vector<Attachment> all;
  for_each_hearer(name, [&](Attachment by) {
    all.push_back(by);
    return false;
  });
  return all;
}

bool Discovery::is_excused(Attachment at) const {
  const PortWord* word = word_at(at);
  return word != nullptr && stations_[at.at.value].connected && now_ < word->excused_until;
}

const Discovery::PortWord* Discovery::word_at(Attachment at) const {
  const auto& ports = stations_[at.at.value].ports;
  const auto found = ports.find(at.port);
  return found == ports.end() ? nullptr : &found->second;
}

bool Discovery::names(const control::Port& said, Attachment at, SwitchId s) const {
  const control::Neighbour& other = said.neighbour();
  const std::uint64_t guid = stations_[s.value].guid;
  return said.up() && said.has_neighbour() && !other.has_nid() && at.at != s &&
         other.name() == graph_[s].name && (other.guid() == 0 || guid == 0 || other.guid() == guid);
}

} // namespace tributary::topology
