// Elements at a port: a link to another switch, a host, or nothing.
#include "controlplane/topology/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tributary::topology {
namespace {

Attachment other_end(const Link& link, Attachment at) {
  return link.ends[link.ends[0] == at ? 1 : 0];
}

} // namespace

void Discovery::reconcile_port(Attachment at) {
  reconcile_link(at);
  if (const auto host = graph_.host_at(at)) {
    reconcile_host(graph_[*host].nid);
  }
  if (const auto claim = claim_at(at)) {
    reconcile_host(claim->nid);
  }
}

/// Compares the existing link with the reported one.
void Discovery::reconcile_link(Attachment at) {
  if (const auto link = graph_.link_at(at)) {
    reconcile_pair(at, other_end(graph_[*link], at));
  }
  if (const auto peer = peer_of(at)) {
    reconcile_pair(at, *peer);
  }
}

/// Whether a link joins these two (rules 2, 3 and 5).
void Discovery::reconcile_pair(Attachment a, Attachment b) {
  const Word from_a = word_of(a, b);
  const Word from_b = word_of(b, a);
  const auto known = graph_.find_link(a, b);
  if (from_a == Word::no || from_b == Word::no) {
    if (known) {
      set_link(*known, false, from_a == Word::no ? what_is_wrong(a, b) : what_is_wrong(b, a));
    }
    return;
  }
  const bool agreed = from_a <= Word::was_yes && from_b <= Word::was_yes;
  const bool said_now = from_a == Word::yes || from_b == Word::yes;
  if (!agreed || !said_now) {
    return; // Neither end can know: unchanged.
  }
  if (!known || !graph_[*known].plugged) {
    make_room(a);
    make_room(b);
  }
  if (!known) {
    // The same direction in whatever order they reported.
    const bool in_order = std::tie(graph_[a.at].name, a.port) < std::tie(graph_[b.at].name, b.port);
    const LinkId c = graph_.connect(in_order ? a : b, in_order ? b : a, speed_of(a, b));
    changed(Change::Kind::link_added, c, fmt::format("link {} is there", graph_.describe(c)));
    suspect(a);
    suspect(b);
    return;
  }
  graph_.plug_in(*known);
  doubt(a.at);
  doubt(b.at);
  graph_.set_speed(*known, speed_of(a, b));
  set_link(*known, true, "both ends hear each other");
}

void Discovery::set_link(LinkId c, bool up, const std::string& why) {
  if (graph_[c].up == up) {
    return;
  }
  graph_.set_up(c, up);
  for (const Attachment end : graph_[c].ends) {
    suspect(end);
  }
  changed(up ? Change::Kind::link_up : Change::Kind::link_down, c,
          fmt::format("link {} is {}: {}", graph_.describe(c), up ? "up" : "down", why));
}

/// Unplugs the current element.
void Discovery::make_room(Attachment at) {
  if (const auto link = graph_.link_at(at)) {
    set_link(*link, false, fmt::format("something else is on {} now", graph_.describe(at)));
    for (const Attachment end : graph_[*link].ends) {
      doubt(end.at);
    }
    graph_.unplug(*link);
  }
  if (const auto host = graph_.host_at(at)) {
    const bool was_up = graph_[*host].up;
    graph_.unplug(*host);
    note_host(*host);
    if (was_up) {
      changed(Change::Kind::host_down, graph_[*host],
              fmt::format("host {} is gone: something else is on {} now", graph_[*host].name,
                          graph_.describe(at)));
    }
  }
}

/// Moves a host to its place (rule 6).
void Discovery::reconcile_host(Nid nid) {
  suspect(nid);
  const auto known = graph_.find_host(nid);
  if (const auto at = best_claim(nid)) {
    put_host(*claim_at(*at), *at);
    return;
  }
  if (!known || !graph_[*known].up) {
    return;
  }
  const Attachment at = graph_[*known].at;
  if (!stations_[at.at.value].connected || is_excused(at)) {
    return; // No port can know.
  }
  graph_.set_up(*known, false);
  note_host(*known);
  const Host& host = graph_[*known];
  const HostState state = state_of(*known);
  changed(Change::Kind::host_down, host,
          fmt::format("host {} is {}: {} {}", host.name, name_of(state), graph_.describe(host.at),
                      state == HostState::down ? "is down" : "no longer hears it"));
  changes_.back().host_state = state;
}

HostState Discovery::state_of(HostId h) const {
  const Host& host = graph_[h];
  if (host.up) {
    return HostState::up;
  }
  const PortWord* word = word_at(host.at);
  if (word == nullptr || !word->said.up()) {
    return HostState::down;
  }
  return is_in_use_ && is_in_use_(host.nid) ? HostState::missing : HostState::quiet;
}

void Discovery::put_host(const Claim& claim, Attachment at) {
  const auto known = graph_.find_host(claim.nid);
  const auto there = graph_.host_at(at);
  if (known && there == known) {
    if (!graph_[*known].up) {
      graph_.set_up(*known, true);
      note_host(*known);
      changed(Change::Kind::host_up, graph_[*known],
              fmt::format("host {} is up, on {}", graph_[*known].name, graph_.describe(at)));
    }
    name_host(*known, claim);
    return;
  }
  if (!known && !claim.guarded && is_crowded(at)) {
    ++hosts_refused_;
    crowded_.insert(at);
    suspect(at);
    return;
  }
  make_room(at);
  if (known) {
    const std::string from = graph_.describe(graph_[*known].at);
    const bool back = graph_[*known].at == at;
    graph_.move_host(*known, at);
    note_host(*known);
    changed(back ? Change::Kind::host_up : Change::Kind::host_moved, graph_[*known],
            back ? fmt::format("host {} is up, on {} again", graph_[*known].name, from)
                 : fmt::format("host {} moved from {} to {}", graph_[*known].name, from,
                               graph_.describe(at)));
    name_host(*known, claim);
    return;
  }
  std::string name(claim.name);
  for (unsigned i = 1; name.empty() || graph_.find_host(name); ++i) {
    name = i == 1 ? fmt::format("nid-{}", claim.nid.value)
                  : fmt::format("nid-{}.{}", claim.nid.value, i);
  }
  const HostId h = graph_.add_host({.name = name, .nid = claim.nid, .at = at});
  note_host(h);
  suspect_namesakes(name);
  changed(Change::Kind::host_added, graph_[h],
          fmt::format("host {} (NID {}) found on {}", name, claim.nid.value, graph_.describe(at)));
}

bool Discovery::is_crowded(Attachment at) const {
  const auto found = hosts_at_.find(at);
  return found != hosts_at_.end() && found->second >= settings_.hosts_per_port;
}

void Discovery::note_host(HostId h) {
  const Host& host = graph_[h];
  auto [found, is_new] = memories_.try_emplace(host.nid);
  Memory& memory = found->second;
  if (is_new || memory.at != host.at) {
    if (!is_new) {
      leave_port(memory.at);
    }
    memory.at = host.at;
    ++hosts_at_[host.at];
  }
  if (is_new || host.up != (memory.until == never)) {
    memory.since = now_;
  }
  if (host.up != (memory.until == never)) {
    forgetting_.erase({memory.until, host.nid});
    memory.until = host.up ? never : now_ + settings_.host_memory_ns;
    if (!host.up) {
      forgetting_.emplace(memory.until, host.nid);
    }
  }
}

void Discovery::leave_port(Attachment at) {
  const auto found = hosts_at_.find(at);
  if (--found->second == 0) {
    hosts_at_.erase(found);
  }
  if (crowded_.contains(at) && !is_crowded(at)) {
    crowded_.erase(at);
    suspect(at);
  }
}

/// Forgets hosts whose time has passed (rule 7).
void Discovery::forget_hosts() {
  while (!forgetting_.empty() && forgetting_.begin()->first <= now_) {
    const Nid nid = forgetting_.begin()->second;
    forgetting_.erase(forgetting_.begin());
    if (is_in_use_ && is_in_use_(nid)) {
      Memory& memory = memories_.at(nid);
      memory.until = now_ + settings_.host_memory_ns;
      forgetting_.emplace(memory.until, nid);
    } else {
      forget_host(graph_.find_host(nid).value());
    }
  }
}

void Discovery::forget_host(HostId h) {
  const Host host = graph_[h];
  leave_port(memories_.at(host.nid).at);
  memories_.erase(host.nid);
  graph_.forget(h);
  ++hosts_forgotten_;
  suspect(host.nid);
  suspect_namesakes(host.name);
  changed(Change::Kind::host_forgotten, host,
          fmt::format("host {} (NID {}) is forgotten: it was down for {} s", host.name,
                      host.nid.value, settings_.host_memory_ns / 1'000'000'000));
}

/// Names a host by its hello, unless the name is taken.
void Discovery::name_host(HostId h, const Claim& claim) {
  if (claim.name.empty() || claim.name == graph_[h].name || graph_.find_host(claim.name)) {
    return;
  }
  const std::string before = graph_[h].name;
  graph_.rename(h, std::string(claim.name));
  suspect_namesakes(before);
  suspect_namesakes(claim.name);
  changed(Change::Kind::host_renamed, graph_[h],
          fmt::format("host {} is now called {}", before, claim.name));
}

/// The port that this one hears, as far as known.
std::optional<Attachment> Discovery::peer_of(Attachment at) const {
  const PortWord* word = word_at(at);
  if (word == nullptr || word->said.has_nid()) {
    return std::nullopt;
  }
  const auto s = graph_.find_switch(word->said.neighbour().name());
  if (!s || !names(word->said, at, *s) || word->said.neighbour().port() >= graph_[*s].ports) {
    return std::nullopt;
  }
  return Attachment{*s, static_cast<Port>(word->said.neighbour().port())};
}

Discovery::Word Discovery::word_of(Attachment at, Attachment about) const {
  const bool connected = stations_[at.at.value].connected;
  const PortWord* word = word_at(at);
  if (word == nullptr || is_excused(at)) {
    const auto link = graph_.link_at(at);
    const bool known = link && other_end(graph_[*link], at) == about;
    return known ? Word::was_yes : connected ? Word::no : Word::was_no;
  }
  if (peer_of(at) == about) {
    return connected ? Word::yes : Word::was_yes;
  }
  return connected ? Word::no : Word::was_no;
}

std::string Discovery::what_is_wrong(Attachment at, Attachment about) const {
  const PortWord* word = word_at(at);
  if (word == nullptr || !word->said.up()) {
    return fmt::format("{} is down", graph_.describe(at));
  }
  if (word->said.has_nid()) {
    return fmt::format("{} is now an edge port", graph_.describe(at));
  }
  if (!word->said.has_neighbour()) {
    return fmt::format("{} does not hear {}", graph_.describe(at), graph_.describe(about));
  }
  return fmt::format("{} hears {} port {}", graph_.describe(at), word->said.neighbour().name(),
                     word->said.neighbour().port());
}

std::optional<Discovery::Claim> Discovery::claim_at(Attachment at) const {
  const PortWord* word = word_at(at);
  if (word == nullptr) {
    return std::nullopt;
  }
  const control::Port& said = word->said;
  const control::Neighbour& other = said.neighbour();
  const std::string_view name = is_name_for_files(other.name()) ? other.name() : std::string_view();
  if (said.has_nid()) {
    const bool heard = other.has_nid() && other.nid() == said.nid();
    return Claim{Nid{said.nid()}, true, said.up(), heard ? name : std::string_view()};
  }
  if (other.has_nid()) {
    return Claim{Nid{other.nid()}, false, said.up(), name};
  }
  return std::nullopt;
}

/// The most credible of the ports that claim a host that is up.
std::optional<Attachment> Discovery::best_claim(Nid nid) const {
  const auto claims = claims_.find(nid.value);
  if (claims == claims_.end()) {
    return std::nullopt;
  }
  const auto known = graph_.find_host(nid);
  const auto weight = [&](Attachment at) {
    const bool here = known && graph_[*known].plugged && graph_[*known].at == at;
    return std::tuple(claim_at(at)->guarded, stations_[at.at.value].connected, here);
  };
  std::optional<Attachment> best;
  for (const Attachment at : claims->second) {
    const auto claim = claim_at(at);
    if (claim && claim->nid == nid && claim->up && (!best || weight(*best) < weight(at))) {
      best = at;
    }
  }
  return best;
}

std::optional<Attachment> Discovery::other_place_of(HostId host) const {
  const Attachment own = graph_[host].at;
  const auto here = claim_at(own);
  const bool guarded = here && here->nid == graph_[host].nid && here->guarded;
  const auto claims = claims_.find(graph_[host].nid.value);
  if (claims == claims_.end()) {
    return std::nullopt;
  }
  for (const Attachment at : claims->second) {
    const auto claim = claim_at(at);
    if (at != own && claim && claim->up && claim->guarded == guarded &&
        stations_[at.at.value].connected) {
      return at;
    }
  }
  return std::nullopt;
}

std::uint32_t Discovery::speed_of(Attachment a, Attachment b) const {
  std::uint32_t speed = 0;
  for (const Attachment at : {a, b}) {
    const PortWord* word = word_at(at);
    const std::uint32_t own = word == nullptr ? 0 : word->said.speed_mbps();
    speed = speed == 0 ? own : own == 0 ? speed : std::min(speed, own);
  }
  return speed;
}

} // namespace tributary::topology
