#include "controlplane/retransmit/peer_table.hpp"

#include <algorithm>
#include <iterator>

namespace tributary::retransmit {

namespace {

/// Weight of one exception; 0: the peer is alive.
std::uint32_t failures_of(Cause cause) {
  switch (cause) {
  case Cause::repeated_timeouts: return 1;
  case Cause::unreachable_peer: return 2;
  case Cause::busy_storm:
  case Cause::restarted_peer: break;
  }
  return 0;
}

} // namespace

std::string_view name_of(PeerState state) {
  switch (state) {
  case PeerState::failing: return "failing";
  case PeerState::quarantined: return "quarantined";
  case PeerState::probing: return "probing";
  }
  return "unknown";
}

std::string_view name_of(ReportOutcome heard) {
  switch (heard) {
#define TRIBUTARY_X(name, text)                                                                    \
  case ReportOutcome::name: return #name;
    TRIBUTARY_RETRANSMIT_OUTCOMES(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}

// ---- reports of hosts ----

bool PeerTable::has_allowance(Account& account, std::uint32_t times, TimeNs now) const {
  if (elapsed_ns(now, account.window_began) >= settings_.window_ns) {
    account.window_began = now;
    account.heard = 0;
  }
  if (account.heard >= settings_.most_of_a_host) {
    return false;
  }
  account.heard += std::min(times, settings_.most_of_a_host - account.heard);
  return true;
}

ReportOutcome PeerTable::report(const Reporter& reporter, const PeerId& about, Cause cause,
                                std::uint32_t times, TimeNs now) {
  const PeerId peer{about.nid, about.vni, reporter.job};
  const AccountId who{reporter.nid, reporter.job};
  if (peer.nid == reporter.nid) {
    return count(ReportOutcome::about_itself);
  }
  forget_idle(now);
  const auto [known, is_new] = reporters_.try_emplace(who);
  Account& account = known->second;
  if (is_new) {
    account.window_began = now;
    windows_.emplace(now, who);
  }
  const TimeNs began = account.window_began;
  const bool allowed = has_allowance(account, std::max(times, 1U), now);
  if (account.window_began != began) {
    windows_.erase({began, who});
    windows_.emplace(account.window_began, who);
  }
  if (!allowed) {
    return count(ReportOutcome::flooded);
  }
  const std::uint32_t weight = failures_of(cause);
  if (weight == 0 || times == 0 || !settings_.enabled) {
    return count(ReportOutcome::noted);
  }
  if (!account.reported.contains(peer) && account.reported.size() >= settings_.most_of_a_host) {
    return count(ReportOutcome::flooded);
  }
  const Entry entry = find_or_add(peer, now);
  if (entry == peers_.end()) {
    return count(ReportOutcome::no_room);
  }
  if (entry->second.by_operator) {
    return count(ReportOutcome::counted); // quarantined by the operator; reports do not matter
  }
  Reporting* const reporting = reporting_of(entry, reporter, now);
  if (reporting == nullptr) {
    return count(ReportOutcome::counted); // enough reporters
  }
  reporting->place = reporter.place;
  reporting->last = now;
  const std::uint32_t missing =
      settings_.failures - std::min(reporting->failures, settings_.failures);
  reporting->failures += times >= missing ? missing : std::min(missing, times * weight);
  decide(entry, now);
  return count(ReportOutcome::counted);
}

PeerTable::Entry PeerTable::find_or_add(const PeerId& peer, TimeNs now) {
  if (const Entry found = peers_.find(peer); found != peers_.end()) {
    return found;
  }
  const std::size_t used = std::min(peers_.size(), settings_.capacity);
  if (const auto own = peers_of_.find(peer.job);
      !peer.job.empty() && own != peers_of_.end() && own->second >= settings_.capacity - used) {
    return peers_.end();
  }
  if (peers_.size() >= settings_.capacity) {
    if (failing_.empty()) {
      return peers_.end();
    }
    erase(peers_.find(failing_.begin()->second), "");
  }
  const Entry entry = peers_.try_emplace(peer).first;
  entry->second.since = now;
  failing_.emplace(now, peer);
  ++peers_of_[peer.job];
  return entry;
}

Reporting* PeerTable::reporting_of(Entry entry, const Reporter& reporter, TimeNs now) {
  std::vector<Reporting>& reportings = entry->second.reportings;
  const auto found = std::ranges::find(reportings, reporter.nid, &Reporting::nid);
  if (found != reportings.end()) {
    if (!found->quarantined && elapsed_ns(now, found->first) > settings_.window_ns) {
      found->first = now;
      found->failures = 0;
    }
    return &*found;
  }
  if (reportings.size() == most_reporters) {
    const auto oldest = std::ranges::min_element(
        reportings, {}, [](const Reporting& one) { return std::pair(one.quarantined, one.last); });
    if (oldest->quarantined || elapsed_ns(now, oldest->last) <= settings_.window_ns) {
      return nullptr;
    }
    drop_reporting(entry, static_cast<std::size_t>(std::distance(reportings.begin(), oldest)));
  }
  Account& account = reporters_.at({reporter.nid, reporter.job});
  account.reported.insert(entry->first);
  reportings.push_back({.nid = reporter.nid,
                        .place = reporter.place,
                        .first = now,
                        .last = now,
                        .counts = account.reported.size() <= settings_.most_reported});
  return &reportings.back();
}

void PeerTable::drop_reporting(Entry entry, std::size_t i) {
  std::vector<Reporting>& reportings = entry->second.reportings;
  if (const auto account = reporters_.find({reportings[i].nid, entry->first.job});
      account != reporters_.end()) {
    account->second.reported.erase(entry->first);
  }
  version_ += reportings[i].quarantined ? 1 : 0;
  reportings.erase(reportings.begin() + static_cast<std::ptrdiff_t>(i));
}

void PeerTable::decide(Entry entry, TimeNs now) {
  FailingPeer& peer = entry->second;
  std::uint64_t failures = 0;
  std::set<std::uint64_t> places;
  for (Reporting& reporting : peer.reportings) {
    const bool is_recent = elapsed_ns(now, reporting.last) <= settings_.window_ns;
    if (is_recent && reporting.counts) {
      failures += reporting.failures;
      places.insert(reporting.place);
    }
    if (is_recent && !reporting.quarantined && reporting.failures >= settings_.failures) {
      reporting.quarantined = true;
      ++version_;
      if (!peer.for_all) {
        changes_.push_back({.kind = PeerChange::Kind::quarantined_for_one,
                            .peer = entry->first,
                            .reporter = reporting.nid,
                            .why = "its transfers with it fail again and again"});
      }
      begin_quarantine(entry, now);
    }
  }
  if (!peer.for_all && failures >= settings_.failures && places.size() >= settings_.reporters) {
    set_for_all(entry, true);
    changes_.push_back({.kind = PeerChange::Kind::quarantined_for_all,
                        .peer = entry->first,
                        .why = "transfers of several hosts with it fail again and again"});
    begin_quarantine(entry, now);
  }
  if (peer.state == PeerState::failing) {
    set_deadline(entry, now + settings_.window_ns + 1);
  }
}

void PeerTable::begin_quarantine(Entry entry, TimeNs now) {
  FailingPeer& peer = entry->second;
  if (peer.state != PeerState::failing) {
    return;
  }
  ++quarantined_;
  failing_.erase({peer.since, entry->first});
  peer.state = PeerState::quarantined;
  peer.since = now;
  peer.back_off_ns = settings_.first_probe_ns;
  peer.probe_at = now + peer.back_off_ns;
  set_deadline(entry, peer.probe_at + most_silent * settings_.probe_limit_ns);
}

void PeerTable::set_for_all(Entry entry, bool for_all) {
  FailingPeer& peer = entry->second;
  if (peer.for_all == for_all) {
    return;
  }
  peer.for_all = for_all;
  peer.was_for_all |= for_all;
  ++version_;
  const PeerId& id = entry->first;
  const QuarantineScope scope{id.vni, id.job};
  if (for_all) {
    quarantined_for_all_[scope].insert(id.nid);
  } else if (const auto found = quarantined_for_all_.find(scope);
             found != quarantined_for_all_.end()) {
    found->second.erase(id.nid);
    if (found->second.empty()) {
      quarantined_for_all_.erase(found);
    }
  }
}

// ---- probes ----

std::vector<PeerId> PeerTable::ask_to_probe(const Reporter& reporter, std::size_t most,
                                            TimeNs now) {
  std::vector<PeerId> to_probe;
  const auto account = reporters_.find({reporter.nid, reporter.job});
  if (account == reporters_.end()) {
    return to_probe;
  }
  for (const PeerId& id : account->second.reported) {
    const Entry entry = peers_.find(id);
    FailingPeer& peer = entry->second;
    if (to_probe.size() == most) {
      break;
    }
    if (peer.by_operator) {
      continue;
    }
    const bool is_asked_already = peer.state == PeerState::probing && peer.prober == reporter.nid;
    if (peer.state == PeerState::quarantined && peer.probe_at <= now) {
      peer.state = PeerState::probing;
      peer.prober = reporter.nid;
      peer.probe_at = never;
      set_deadline(entry, now + settings_.probe_limit_ns);
    } else if (!is_asked_already) { // an answer to it may have been lost
      continue;
    }
    to_probe.push_back(id);
  }
  return to_probe;
}

bool PeerTable::is_awaited(const Reporter& reporter) const {
  const auto account = reporters_.find({reporter.nid, reporter.job});
  return account != reporters_.end() &&
         std::ranges::any_of(account->second.reported, [this](const PeerId& id) {
           return peers_.at(id).state != PeerState::failing;
         });
}

void PeerTable::probed(const Reporter& reporter, const PeerId& id, bool answered, TimeNs now) {
  const Entry entry = peers_.find({id.nid, id.vni, reporter.job});
  if (entry == peers_.end() || entry->second.state != PeerState::probing ||
      entry->second.prober != reporter.nid) {
    return;
  }
  FailingPeer& peer = entry->second;
  const auto reporting = std::ranges::find(peer.reportings, reporter.nid, &Reporting::nid);
  if (!answered) {
    if (reporting != peer.reportings.end()) {
      reporting->silent = 0;
    }
    probe_failed(entry, now);
    return;
  }
  if (reporting != peer.reportings.end()) {
    drop_reporting(entry,
                   static_cast<std::size_t>(std::distance(peer.reportings.begin(), reporting)));
  }
  if (!std::ranges::any_of(peer.reportings, &Reporting::quarantined)) {
    erase(entry, "it has answered a probe");
    return;
  }
  // It answers one reporter; the others have to probe it themselves.
  set_for_all(entry, false);
  peer.state = PeerState::quarantined;
  peer.prober.reset();
  peer.probe_at = now;
  set_deadline(entry, now + most_silent * settings_.probe_limit_ns);
}

void PeerTable::probe_failed(Entry entry, TimeNs now) {
  FailingPeer& peer = entry->second;
  ++peer.probes;
  peer.state = PeerState::quarantined;
  peer.prober.reset();
  peer.back_off_ns = std::min(2 * peer.back_off_ns, settings_.longest_probe_ns);
  peer.probe_at = now + peer.back_off_ns;
  set_deadline(entry, peer.probe_at + most_silent * settings_.probe_limit_ns);
}

void PeerTable::hasten(const PeerId& id, TimeNs now) {
  const Entry entry = peers_.find(id);
  FailingPeer& peer = entry->second;
  if (peer.state == PeerState::quarantined && !peer.by_operator) {
    peer.back_off_ns = settings_.first_probe_ns;
    peer.probe_at = std::min(peer.probe_at, now + peer.back_off_ns);
    set_deadline(entry, peer.probe_at + most_silent * settings_.probe_limit_ns);
  }
}

// ---- the operator ----

bool PeerTable::quarantine(const PeerId& id, TimeNs now) {
  const Entry entry = find_or_add(id, now);
  if (entry == peers_.end()) {
    return false;
  }
  FailingPeer& peer = entry->second;
  if (peer.by_operator) {
    return true;
  }
  if (peer.state == PeerState::failing) {
    ++quarantined_;
    failing_.erase({peer.since, id});
  }
  peer.by_operator = true;
  while (!peer.reportings.empty()) {
    drop_reporting(entry, peer.reportings.size() - 1);
  }
  peer.state = PeerState::quarantined;
  peer.since = now;
  peer.probe_at = never;
  peer.prober.reset();
  set_for_all(entry, true);
  set_deadline(entry, never);
  changes_.push_back(
      {.kind = PeerChange::Kind::quarantined_for_all, .peer = id, .why = "by request"});
  return true;
}

bool PeerTable::release(const PeerId& id) {
  bool any = false;
  for (Entry entry = peers_.lower_bound({id.nid, id.vni});
       entry != peers_.end() && entry->first.nid == id.nid && entry->first.vni == id.vni;) {
    const Entry one = entry++;
    if (one->second.state != PeerState::failing) {
      erase(one, "by request");
      any = true;
    }
  }
  return any;
}

// ---- time ----

void PeerTable::set_deadline(Entry entry, TimeNs at) {
  FailingPeer& peer = entry->second;
  if (peer.deadline != never) {
    deadlines_.erase({peer.deadline, entry->first});
  }
  peer.deadline = at;
  if (at != never) {
    deadlines_.emplace(at, entry->first);
  }
}

void PeerTable::poll(TimeNs now) {
  while (next_deadline() <= now) {
    look_at(peers_.find(deadlines_.begin()->second), now);
  }
  forget_idle(now);
}

void PeerTable::look_at(Entry entry, TimeNs now) {
  FailingPeer& peer = entry->second;
  if (peer.state == PeerState::failing) {
    erase(entry, "");
    return;
  }
  if (peer.state == PeerState::quarantined) {
    erase(entry, "no host is left that could probe it");
    return;
  }
  // It should have reported the result of its probe.
  const auto reporting = std::ranges::find(peer.reportings, *peer.prober, &Reporting::nid);
  if (reporting != peer.reportings.end() && ++reporting->silent >= most_silent) {
    drop_reporting(entry,
                   static_cast<std::size_t>(std::distance(peer.reportings.begin(), reporting)));
  }
  if (peer.reportings.empty()) {
    erase(entry, "no host is left that could probe it");
    return;
  }
  if (!peer.for_all && !std::ranges::any_of(peer.reportings, &Reporting::quarantined)) {
    erase(entry, "no host is left for which it was quarantined");
    return;
  }
  probe_failed(entry, now);
}

void PeerTable::erase(Entry entry, std::string_view why) {
  set_for_all(entry, false);
  while (!entry->second.reportings.empty()) {
    drop_reporting(entry, entry->second.reportings.size() - 1);
  }
  set_deadline(entry, never);
  if (entry->second.state == PeerState::failing) {
    failing_.erase({entry->second.since, entry->first});
  } else {
    --quarantined_;
    ++version_;
    changes_.push_back({.kind = PeerChange::Kind::released,
                        .peer = entry->first,
                        .why = why,
                        .was_for_all = entry->second.was_for_all});
  }
  if (const auto own = peers_of_.find(entry->first.job); --own->second == 0) {
    peers_of_.erase(own);
  }
  peers_.erase(entry);
}

/// Hosts that no peer refers to and that were silent for a window.
void PeerTable::forget_idle(TimeNs now) {
  while (!windows_.empty() && elapsed_ns(now, windows_.begin()->first) > settings_.window_ns) {
    const AccountId who = windows_.begin()->second;
    windows_.erase(windows_.begin());
    const auto account = reporters_.find(who);
    if (account->second.reported.empty()) {
      reporters_.erase(account);
    } else {
      account->second.window_began = now;
      account->second.heard = 0;
      windows_.emplace(now, who);
    }
  }
}

void PeerTable::reconfigure(const QuarantineSettings& settings, TimeNs now) {
  if (settings == settings_) {
    return;
  }
  settings_ = settings;
  if (!settings.enabled) {
    for (Entry entry = peers_.begin(); entry != peers_.end();) {
      const Entry one = entry++;
      if (!one->second.by_operator) {
        erase(one, "quarantine is switched off");
      }
    }
  }
  poll(now);
}

// ---- queries ----

std::vector<Nid> PeerTable::quarantined_for(const Reporter& host, Vni vni, std::size_t most) const {
  std::set<Nid> quarantined;
  for (const QuarantineScope& scope : {QuarantineScope{vni, ""}, QuarantineScope{vni, host.job}}) {
    if (const auto found = quarantined_for_all_.find(scope); found != quarantined_for_all_.end()) {
      quarantined.insert(found->second.begin(), found->second.end());
    }
  }
  if (const auto account = reporters_.find({host.nid, host.job}); account != reporters_.end()) {
    for (const PeerId& id : account->second.reported) {
      if (id.vni != vni) {
        continue;
      }
      const auto& reportings = peers_.at(id).reportings;
      const auto reporting = std::ranges::find(reportings, host.nid, &Reporting::nid);
      if (reporting != reportings.end() && reporting->quarantined) {
        quarantined.insert(id.nid);
      }
    }
  }
  quarantined.erase(host.nid); // a host is not kept from itself
  std::vector<Nid> list(quarantined.begin(), quarantined.end());
  list.resize(std::min(list.size(), most));
  return list;
}

const FailingPeer* PeerTable::find(const PeerId& peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : &found->second;
}

} // namespace tributary::retransmit
