#include "endpoint/manager_client/retransmit_report.hpp"

#include "lib/rdma_policy/policy_fields.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tributary::manager_client {
namespace {

namespace json = boost::json;

constexpr std::int64_t shortest_pause_ms = 100;
constexpr std::int64_t longest_pause_ms = 3'600'000;

json::object json_of(const RdmaPeer& peer) {
  return {{"nid", peer.nid.value}, {"vni", peer.vni.value}};
}

json::object body_of(const RetransmitReport& report) {
  json::array vnis;
  for (const Vni vni : report.vnis) {
    vnis.emplace_back(vni.value);
  }
  json::array exceptions;
  for (const auto& [what, times] : report.exceptions) {
    json::object one = json_of(what.peer);
    one["cause"] = rdma_policy::name_of(what.kind);
    one["times"] = times;
    exceptions.push_back(std::move(one));
  }
  json::array probes;
  for (const auto& [peer, answered] : report.probes) {
    json::object one = json_of(peer);
    one["answered"] = answered;
    probes.push_back(std::move(one));
  }
  json::array transfers;
  for (const RetransmitReport::Transfer& transfer : report.transfers) {
    json::object one = json_of(transfer.peer);
    one["message"] = transfer.message;
    one["sends"] = transfer.sends;
    one["frames"] = transfer.frames;
    one["placed"] = transfer.placed;
    one["retries"] = transfer.retries;
    one["busy"] = transfer.busy;
    transfers.push_back(std::move(one));
  }
  return {{"nid", report.nid.value},
          {"vnis", std::move(vnis)},
          {"policy_version", report.policy_version},
          {"quarantined_version", report.quarantined_version},
          {"exceptions", std::move(exceptions)},
          {"probes", std::move(probes)},
          {"in_progress", report.in_progress},
          {"transfers", std::move(transfers)}};
}

Nid nid_in(const json::value& value) { return Nid{value.to_number<std::uint32_t>()}; }
Vni vni_in(const json::object& object) { return Vni{object.at("vni").to_number<std::uint16_t>()}; }

/// A field that only one of the two programs knows keeps its built-in value.
rdma_policy::Policy policy_in(const json::object& fields) {
  rdma_policy::Policy policy;
  for (const rdma_policy::PolicyField& field : rdma_policy::policy_fields) {
    const json::value* const value = fields.if_contains(field.name);
    if (value == nullptr) {
      continue;
    }
    const auto number = value->to_number<std::uint64_t>();
    if (number < field.least || number > field.most) {
      throw std::invalid_argument(
          fmt::format("{} is {}, not {} to {}", field.name, number, field.least, field.most));
    }
    field.set(policy, number);
  }
  if (const std::string_view problem = rdma_policy::problem_of(policy); !problem.empty()) {
    throw std::invalid_argument(std::string(problem));
  }
  return policy;
}

RetransmitNews news_in(const json::object& answer) {
  RetransmitNews news;
  news.policy_version = answer.at("policy_version").to_number<std::uint64_t>();
  news.quarantined_version = answer.at("quarantined_version").to_number<std::uint64_t>();
  news.next_report = std::chrono::milliseconds(std::clamp(
      answer.at("next_report_ms").to_number<std::int64_t>(), shortest_pause_ms, longest_pause_ms));
  if (const json::value* const policies = answer.if_contains("policies")) {
    news.policies.emplace();
    for (const json::value& entry : policies->as_array()) {
      const json::object& one = entry.as_object();
      news.policies->insert_or_assign(vni_in(one), policy_in(one.at("policy").as_object()));
    }
  }
  if (const json::value* const quarantined = answer.if_contains("quarantined")) {
    news.quarantined.emplace();
    for (const json::value& entry : quarantined->as_array()) {
      const json::object& one = entry.as_object();
      std::set<Nid>& nids = (*news.quarantined)[vni_in(one)];
      for (const json::value& nid : one.at("nids").as_array()) {
        nids.insert(nid_in(nid));
      }
    }
  }
  for (const json::value& entry : answer.at("probe").as_array()) {
    if (news.probe.size() < RetransmitReport::most_probes) {
      const json::object& one = entry.as_object();
      news.probe.push_back({nid_in(one.at("nid")), vni_in(one)});
    }
  }
  return news;
}

} // namespace

RetransmitNews report(ManagerClient& manager, const RetransmitReport& report) {
  const Answer answer = manager.post("/api/v1/rdma/reports", body_of(report));
  throw_unless_done(answer, fmt::format("reporting the RDMA of NID {}", report.nid.value));
  try {
    return news_in(answer.body.as_object());
  } catch (const std::exception& error) {
    throw ManagerError(
        ManagerError::Kind::garbled,
        fmt::format("the fabric manager's answer about RDMA cannot be parsed: {}", error.what()));
  }
}

} // namespace tributary::manager_client
