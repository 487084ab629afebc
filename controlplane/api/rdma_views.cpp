#include "controlplane/api/rdma_views.hpp"

#include "controlplane/api/view_figures.hpp"
#include "lib/rdma_policy/policy_fields.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace tributary::api {
namespace {

namespace json = boost::json;
using retransmit::PeerState;

/// Most quarantined peers of one VNI in an answer to a host.
constexpr std::size_t most_quarantined = 4096;

std::string host_name(const topology::Graph& graph, Nid nid) {
  const auto host = graph.find_host(nid);
  return host ? graph[*host].name : std::string();
}

json::object peer_json(const topology::Graph& graph, Nid nid, Vni vni) {
  return {{"nid", nid.value}, {"host", host_name(graph, nid)}, {"vni", vni.value}};
}

json::object scope_json(const retransmit::PolicyDocument& document, retransmit::Scope scope) {
  json::object set;
  if (const auto found = document.differences().find(scope);
      found != document.differences().end()) {
    for (const auto& [name, value] : found->second) {
      set[name] = value;
    }
  }
  json::object object;
  object["vni"] = scope ? json::value(scope->value) : json::value(nullptr);
  object["policy"] = json_of(document.of(scope));
  object["set"] = std::move(set);
  return object;
}

void family(std::string& text, std::string_view name, std::string_view type,
            std::string_view help) {
  fmt::format_to(std::back_inserter(text), "# TYPE {0} {1}\n# HELP {0} {2}\n", name, type, help);
}

} // namespace

json::object json_of(const retransmit::Policy& policy) {
  json::object object;
  for (const rdma_policy::PolicyField& field : rdma_policy::policy_fields) {
    object[field.name] = field.get(policy);
  }
  return object;
}

json::object rdma_policy_json(const RdmaReadView& read_view, std::optional<Vni> vni) {
  json::array policies;
  if (vni) {
    policies.push_back(scope_json(read_view.document, vni));
  } else {
    policies.push_back(scope_json(read_view.document, std::nullopt));
    for (const Vni one : read_view.document.vnis()) {
      policies.push_back(scope_json(read_view.document, one));
    }
  }
  return {{"version", read_view.document.version()}, {"policies", std::move(policies)}};
}

json::object rdma_peers_json(const RdmaReadView& read_view, std::size_t limit, TimeNs now) {
  json::array peers;
  for (const auto& [id, peer] : read_view.peers.peers()) {
    if (peers.size() == limit) {
      break;
    }
    json::object object = peer_json(read_view.graph, id.nid, id.vni);
    object["state"] = retransmit::name_of(peer.state);
    object["for_all"] = peer.for_all;
    object["by_operator"] = peer.by_operator;
    object["job"] = id.job;
    object["since_seconds"] = seconds(elapsed_ns(now, peer.since));
    object["probe_in_seconds"] = seconds_until(peer.probe_at, now);
    object["failed_probes"] = peer.probes;
    json::array reporters;
    for (const retransmit::Reporting& reporting : peer.reportings) {
      reporters.push_back({{"nid", reporting.nid.value},
                           {"host", host_name(read_view.graph, reporting.nid)},
                           {"failures", reporting.failures},
                           {"quarantined", reporting.quarantined},
                           {"probes", peer.prober == reporting.nid}});
    }
    object["reporters"] = std::move(reporters);
    peers.push_back(std::move(object));
  }
  json::array suspects;
  for (const auto& [at, suspect] : read_view.suspects.all()) {
    suspects.push_back({{"switch", at},
                        {"quarantined", suspect.behind.quarantined},
                        {"others", suspect.behind.others},
                        {"since_seconds", seconds(elapsed_ns(now, suspect.since))},
                        {"avoided", suspect.avoided},
                        {"until_seconds", seconds_until(suspect.until, now)}});
  }
  const std::size_t more = read_view.peers.peers().size() - peers.size();
  return {{"quarantined", read_view.peers.quarantined()},
          {"peers", std::move(peers)},
          {"more", more},
          {"suspects", std::move(suspects)}};
}

json::object rdma_transfers_json(const RdmaReadView& read_view, std::size_t limit) {
  struct Line {
    Nid host;
    const retransmit::Transfer* transfer;
    [[nodiscard]] std::uint64_t trouble() const {
      return std::uint64_t{transfer->retries} + transfer->busy;
    }
  };
  std::vector<Line> lines;
  for (const auto& [host, report] : read_view.transfers.hosts()) {
    for (const retransmit::Transfer& transfer : report.transfers) {
      lines.push_back({host.first, &transfer});
    }
  }
  const std::size_t shown = std::min(limit, lines.size());
  std::ranges::partial_sort(lines, lines.begin() + static_cast<std::ptrdiff_t>(shown),
                            std::ranges::greater{}, &Line::trouble);
  json::array transfers;
  for (std::size_t i = 0; i < shown; ++i) {
    const retransmit::Transfer& transfer = *lines[i].transfer;
    json::object object = peer_json(read_view.graph, transfer.peer, transfer.vni);
    object["at"] = json::object{{"nid", lines[i].host.value},
                                {"host", host_name(read_view.graph, lines[i].host)}};
    object["message"] = transfer.message;
    object["sends"] = transfer.sends;
    object["frames"] = transfer.frames;
    object["placed"] = transfer.placed;
    object["retries"] = transfer.retries;
    object["busy"] = transfer.busy;
    transfers.push_back(std::move(object));
  }
  return {{"in_progress", read_view.transfers.in_progress()},
          {"hosts", read_view.transfers.hosts().size()},
          {"transfers", std::move(transfers)},
          {"more", lines.size() - shown}};
}

json::object rdma_exceptions_json(const RdmaReadView& read_view, std::size_t limit, TimeNs now) {
  json::array by_cause;
  for (const retransmit::Cause cause : retransmit::causes) {
    by_cause.push_back({{"cause", retransmit::name_of(cause)},
                        {"recent", read_view.exceptions.recent(cause, now)},
                        {"total", read_view.exceptions.total(cause)}});
  }
  json::object heard;
  for (std::size_t i = 0; i < retransmit::report_outcomes; ++i) {
    heard[retransmit::name_of(static_cast<retransmit::ReportOutcome>(i))] =
        read_view.peers.heard()[i];
  }
  json::array latest;
  const auto& kept = read_view.exceptions.latest();
  for (auto one = kept.rbegin(); one != kept.rend() && latest.size() < limit; ++one) {
    json::object object = peer_json(read_view.graph, one->peer, one->vni);
    object["number"] = one->number;
    object["time"] = one->time;
    object["reporter"] = json::object{{"nid", one->reporter.value},
                                      {"host", host_name(read_view.graph, one->reporter)}};
    object["cause"] = retransmit::name_of(one->cause);
    object["times"] = one->times;
    object["heard"] = one->heard;
    latest.push_back(std::move(object));
  }
  return {{"window_seconds", seconds(read_view.peers.settings().window_ns)},
          {"causes", std::move(by_cause)},
          {"heard", std::move(heard)},
          {"exceptions", std::move(latest)}};
}

json::object rdma_instruction_json(const RdmaReadView& read_view, const RdmaReport& report,
                                   const RdmaInstruction& instruction) {
  json::object answer{{"policy_version", read_view.document.version()},
                      {"quarantined_version", read_view.peers.version()},
                      {"next_report_ms", instruction.next_report_ms}};
  if (report.policy_version != read_view.document.version()) {
    json::array policies;
    for (const Vni vni : report.vnis) {
      policies.push_back({{"vni", vni.value}, {"policy", json_of(read_view.document.of(vni))}});
    }
    answer["policies"] = std::move(policies);
  }
  if (report.quarantined_version != read_view.peers.version()) {
    json::array quarantined;
    for (const Vni vni : report.vnis) {
      json::array nids;
      for (const Nid nid : read_view.peers.quarantined_for({.nid = report.nid, .job = report.job},
                                                           vni, most_quarantined)) {
        nids.push_back(nid.value);
      }
      quarantined.push_back({{"vni", vni.value}, {"nids", std::move(nids)}});
    }
    answer["quarantined"] = std::move(quarantined);
  }
  json::array probe;
  for (const retransmit::PeerId& peer : instruction.probe) {
    probe.push_back({{"nid", peer.nid.value}, {"vni", peer.vni.value}});
  }
  answer["probe"] = std::move(probe);
  return answer;
}

void rdma_metrics(const RdmaReadView& read_view, std::string& text) {
  const auto line = [&text](std::string_view name, std::string_view labels, std::uint64_t value) {
    fmt::format_to(std::back_inserter(text), "{}{} {}\n", name, labels, value);
  };
  family(text, "tributary_rdma_policy_version", "gauge", "Version of the retransmit policy.");
  line("tributary_rdma_policy_version", "", read_view.document.version());
  family(text, "tributary_rdma_peers", "gauge", "Peers that transfers fail with, by state.");
  std::array<std::uint64_t, 3> states{};
  std::uint64_t for_all = 0;
  for (const auto& [id, peer] : read_view.peers.peers()) {
    ++states[static_cast<std::size_t>(peer.state)];
    for_all += peer.for_all ? 1 : 0;
  }
  for (const PeerState state : {PeerState::failing, PeerState::quarantined, PeerState::probing}) {
    line("tributary_rdma_peers", fmt::format("{{state=\"{}\"}}", retransmit::name_of(state)),
         states[static_cast<std::size_t>(state)]);
  }
  family(text, "tributary_rdma_peers_quarantined_for_all", "gauge",
         "Peers quarantined for all hosts.");
  line("tributary_rdma_peers_quarantined_for_all", "", for_all);
  family(text, "tributary_rdma_suspected_switches", "gauge",
         "Switches behind which several peers are quarantined.");
  line("tributary_rdma_suspected_switches", "", read_view.suspects.all().size());
  family(text, "tributary_rdma_transfers_in_progress", "gauge",
         "Transfers in progress at hosts that report.");
  line("tributary_rdma_transfers_in_progress", "", read_view.transfers.in_progress());
  family(text, "tributary_rdma_reports", "counter", "Reports of hosts.");
  line("tributary_rdma_reports_total", "", read_view.reports);
  family(text, "tributary_rdma_exceptions", "counter", "Exceptions that hosts reported, by cause.");
  for (const retransmit::Cause cause : retransmit::causes) {
    line("tributary_rdma_exceptions_total",
         fmt::format("{{cause=\"{}\"}}", retransmit::name_of(cause)),
         read_view.exceptions.total(cause));
  }
  family(text, "tributary_rdma_exceptions_heard", "counter", "What became of exceptions.");
  for (std::size_t i = 0; i < retransmit::report_outcomes; ++i) {
    line("tributary_rdma_exceptions_heard_total",
         fmt::format("{{heard=\"{}\"}}",
                     retransmit::name_of(static_cast<retransmit::ReportOutcome>(i))),
         read_view.peers.heard()[i]);
  }
}

} // namespace tributary::api
