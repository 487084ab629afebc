#include "controlplane/fabric_controller/rdma_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tributary::fabric_controller {

using retransmit::PeerChange;
using retransmit::PeerId;

namespace {

/// A report costs the manager less than a millisecond: a second is shared by this many hosts.
constexpr std::uint64_t reports_per_second = 1000;
constexpr std::uint64_t report_ms = 5000;
/// For hosts with failing peers, or with a probe to report.
constexpr std::uint64_t urgent_report_ms = 1000;

std::uint64_t place_of(topology::Attachment at) {
  return std::uint64_t{at.at.value} << 32U | at.port;
}

} // namespace

RdmaControl::RdmaControl(const RdmaSettings& settings, turns::Environment& environment,
                         const topology::Discovery& discovery, RouteControl& routes,
                         std::uint64_t version, turns::EventReporter report_event)
    : environment_(environment), discovery_(discovery), routes_(routes),
      report_event_(std::move(report_event)), document_(version),
      peers_(settings.quarantine, version), suspects_(settings.suspect),
      suspect_settings_(settings.suspect), suspect_jobs_(settings.suspect_jobs),
      exceptions_(settings.quarantine.window_ns) {}

void RdmaControl::restore(const records::Snapshot& past, TimeNs now) {
  std::map<retransmit::Scope, retransmit::PolicyDocument::Settings> stored;
  for (const records::RdmaSettingRecord& record : past.rdma_settings) {
    stored[record.vni][record.field] = record.value;
  }
  for (const std::string& left_out : document_.restore(stored)) {
    report_event_("rdma", fmt::format("a stored setting is left out: {}", left_out));
  }
  for (const records::RdmaQuarantineRecord& record : past.rdma_quarantines) {
    static_cast<void>(peers_.quarantine({record.nid, record.vni}, now));
  }
  static_cast<void>(peers_.take_changes()); // already known
}

void RdmaControl::reconfigure(const RdmaSettings& settings, TimeNs now) {
  if (const std::string problem = document_.configure(settings.policy); !problem.empty()) {
    report_event_(
        "rdma",
        fmt::format(
            "the policy of the file is not applied, and the previous one stays in force: {}",
            problem));
  }
  peers_.reconfigure(settings.quarantine, now);
  exceptions_.reconfigure(settings.quarantine.window_ns);
  suspect_settings_ = settings.suspect;
  suspect_jobs_ = settings.suspect_jobs;
  suspects_.reconfigure(settings.suspect, now);
  look_for_suspects_ = true;
}

api::RdmaInstruction RdmaControl::report(const api::RdmaReport& report, topology::Attachment place,
                                         TimeNs now) {
  ++reports_;
  const retransmit::Reporter reporter{report.nid, place_of(place), report.job};
  for (const api::RdmaReport::Probe& probe : report.probes) {
    peers_.probed(reporter, probe.peer, probe.answered, now);
  }
  const std::uint64_t flooded =
      peers_.heard()[static_cast<std::size_t>(retransmit::ReportOutcome::flooded)];
  for (const api::RdmaReport::Exception& one : report.exceptions) {
    const auto heard = peers_.report(reporter, one.peer, one.cause, one.times, now);
    const bool counts =
        heard == retransmit::ReportOutcome::counted || heard == retransmit::ReportOutcome::noted;
    // A flood must not displace the reports of others: its first refused report is enough.
    if (heard == retransmit::ReportOutcome::flooded &&
        peers_.heard()[static_cast<std::size_t>(heard)] > flooded + 1) {
      continue;
    }
    exceptions_.add({.number = 0,
                     .time = environment_.wall_time(),
                     .reporter = report.nid,
                     .peer = one.peer.nid,
                     .vni = one.peer.vni,
                     .cause = one.cause,
                     .times = one.times,
                     .heard = retransmit::name_of(heard)},
                    counts, now);
  }
  transfers_.report({report.nid, report.job}, report.in_progress, report.transfers, now);
  api::RdmaInstruction instruction;
  instruction.probe = peers_.ask_to_probe(reporter, api::RdmaReport::most_probes, now);
  const std::uint64_t hosts = discovery_.graph().hosts().size();
  const std::uint64_t fair = 1000 * hosts / reports_per_second;
  const bool urgent =
      !report.exceptions.empty() || !instruction.probe.empty() || peers_.is_awaited(reporter);
  instruction.next_report_ms = std::max(urgent ? urgent_report_ms : report_ms, fair);
  environment_.request_reconcile();
  return instruction;
}

void RdmaControl::refuse(std::size_t exceptions) {
  for (; exceptions > 0; --exceptions) {
    static_cast<void>(peers_.refuse());
  }
}

std::vector<records::Change> RdmaControl::patch(const api::RdmaPolicyPatch& patch,
                                                std::string& error) {
  std::vector<retransmit::Setting> settings;
  for (const auto& [name, value] : patch.set) {
    const auto setting = retransmit::read_setting(name, value, error);
    if (!setting) {
      return {};
    }
    settings.push_back(*setting);
  }
  // Both or neither: the resulting policy may be valid only as a whole.
  retransmit::PolicyDocument wanted = document_;
  std::vector<std::string> erased;
  if (!patch.reset.empty() || patch.reset_all) {
    error = wanted.reset(patch.vni, patch.reset, erased);
  }
  if (error.empty() && !settings.empty()) {
    error = wanted.set(patch.vni, settings);
  }
  if (!error.empty()) {
    return {};
  }
  std::vector<records::Change> changes;
  for (const std::string& name : erased) {
    changes.emplace_back(records::EraseRdmaSetting{patch.vni, name});
  }
  for (const retransmit::Setting& setting : settings) {
    changes.emplace_back(records::RdmaSettingRecord{patch.vni, setting.field, setting.value});
  }
  if (wanted.version() != document_.version()) {
    document_ = std::move(wanted);
    report_event_("rdma", fmt::format("the retransmit policy of {} is changed, version {}",
                                      retransmit::name_of(patch.vni), document_.version()));
  }
  return changes;
}

bool RdmaControl::quarantine(const PeerId& peer, bool quarantine, TimeNs now) {
  const bool done = quarantine ? peers_.quarantine(peer, now) : peers_.release(peer);
  environment_.request_reconcile();
  return done;
}

// ---- in a turn ----

std::string RdmaControl::describe(const PeerId& peer) const {
  const auto host = discovery_.graph().find_host(peer.nid);
  return fmt::format("{} (NID {}, VNI {})", host ? discovery_.graph()[*host].name : "a host",
                     peer.nid.value, peer.vni.value);
}

/// Reports only peers that are quarantined for all: those quarantined for one host concern that
/// host only.
void RdmaControl::report_peers() {
  for (const PeerChange& change : peers_.take_changes()) {
    if (change.kind == PeerChange::Kind::quarantined_for_all) {
      report_event_("rdma",
                    fmt::format("peer {} is quarantined: {}", describe(change.peer), change.why),
                    {.code = "peer_quarantined",
                     .switches = {},
                     .peer = change.peer,
                     .severity = turns::Severity::warning});
    } else if (change.kind == PeerChange::Kind::released && change.was_for_all) {
      report_event_("rdma",
                    fmt::format("peer {} is released: {}", describe(change.peer), change.why),
                    {.code = "peer_released", .switches = {}, .peer = change.peer});
    }
  }
}

/// Reports of one job's hosts count once, and may be lies: a suspicion needs several jobs, or the
/// administrator's own hosts.
std::map<std::string, retransmit::Behind> RdmaControl::behind_switches() const {
  const topology::Graph& graph = discovery_.graph();
  struct Words {
    std::set<Nid> of_administrator;
    std::set<Nid> of_all;
    std::set<std::string_view> jobs;
  };
  std::map<topology::SwitchId, Words> words;
  for (const auto& [scope, nids] : peers_.quarantined_for_all()) {
    const auto& [vni, job] = scope;
    for (const Nid nid : nids) {
      const auto* const peer = peers_.find({nid, vni, job});
      const auto host = graph.find_host(nid);
      if (peer->by_operator || !host || !graph[*host].up || !graph[*host].plugged) {
        continue;
      }
      Words& there = words[graph[*host].at.at];
      there.of_all.insert(nid);
      if (job.empty()) {
        there.of_administrator.insert(nid);
      } else {
        there.jobs.insert(job);
      }
    }
  }
  std::set<Nid> quarantined;
  std::map<topology::SwitchId, retransmit::Behind> behind;
  for (const auto& [at, there] : words) {
    const std::set<Nid>& believed =
        there.jobs.size() >= suspect_jobs_ ? there.of_all : there.of_administrator;
    behind[at].quarantined = believed.size();
    quarantined.insert(believed.begin(), believed.end());
  }
  std::erase_if(
      behind, [this](const auto& one) { return one.second.quarantined < suspect_settings_.peers; });
  if (behind.empty()) {
    return {};
  }
  for (const topology::Host& host : graph.hosts()) {
    const auto found = behind.find(host.at.at);
    if (found != behind.end() && host.up && host.plugged && !quarantined.contains(host.nid)) {
      ++found->second.others;
    }
  }
  std::map<std::string, retransmit::Behind> named;
  for (const auto& [at, there] : behind) {
    named.emplace(graph[at].name, there);
  }
  return named;
}

bool RdmaControl::follow_suspects(TimeNs now) {
  using Kind = retransmit::SuspectChange::Kind;
  const topology::Graph& graph = discovery_.graph();
  const auto changes = suspects_.take_changes();
  for (const retransmit::SuspectChange& change : changes) {
    std::string text;
    std::string_view code = "switch_suspect";
    const bool is_worse = change.kind == Kind::suspected || change.kind == Kind::avoided;
    switch (change.kind) {
    case Kind::suspected:
      text = fmt::format("switch {} is suspected: {} hosts behind it that are up do not answer, {} "
                         "others are not quarantined",
                         change.at, change.behind.quarantined, change.behind.others);
      break;
    case Kind::avoided:
      text = fmt::format("suspected switch {} is avoided: all hosts behind it are quarantined",
                         change.at);
      break;
    case Kind::tried_again:
      text = fmt::format("suspected switch {} is tried again", change.at);
      if (const auto at = graph.find_switch(change.at)) {
        peers_.probe_soon(
            [&](Nid nid) {
              const auto host = graph.find_host(nid);
              return host && graph[*host].at.at == *at;
            },
            now);
      }
      break;
    case Kind::cleared:
      text = fmt::format("switch {} is not suspected any more", change.at);
      code = "switch_cleared";
      break;
    }
    report_event_("fault", text,
                  {.code = code,
                   .switches = {change.at},
                   .severity = is_worse ? turns::Severity::error : turns::Severity::info});
    routes_.suspicion(is_worse ? faults::Cause::fault : faults::Cause::recovery, std::move(text),
                      suspects_.avoided(), now);
  }
  return !changes.empty();
}

std::span<const std::string_view> RdmaControl::after() const {
  static constexpr std::string_view names[] = {"topology"};
  return names;
}

bool RdmaControl::handle(const turns::Turn& turn) {
  const TimeNs now = turn.now;
  peers_.poll(now);
  transfers_.poll(now);
  suspects_.poll(now);
  report_peers();
  if (std::exchange(look_for_suspects_, false) ||
      std::exchange(seen_version_, peers_.version()) != peers_.version()) {
    suspects_.update(behind_switches(), now);
  }
  return follow_suspects(now);
}

TimeNs RdmaControl::next_deadline(const turns::Turn& /*turn*/) const {
  return std::min({peers_.next_deadline(), transfers_.next_deadline(), suspects_.next_deadline()});
}

} // namespace tributary::fabric_controller
