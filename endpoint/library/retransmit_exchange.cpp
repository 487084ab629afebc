#include "endpoint/library/retransmit_exchange.hpp"

#include "endpoint/rdma/transfer_status.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace tributary::library {

using manager_client::RdmaPeer;
using manager_client::RetransmitReport;

namespace {

RetransmitReport::Transfer report_of(const rdma::TransferStatus& t) {
  using Kind = rdma::TransferStatus::Kind;
  return {.peer = {t.peer.nid, t.vni},
          .message = t.message,
          .sends = t.kind == Kind::write || t.kind == Kind::peers_read,
          .frames = t.frames,
          .placed = t.placed,
          .retries = t.retries,
          .busy = t.busy};
}

} // namespace

void RetransmitExchange::gather(Rdma& rdma) {
  for (const Vni vni : rdma.vnis()) {
    note(vni);
  }
  while (const auto exception = rdma.take_exception()) {
    const RetransmitReport::What what{{exception->peer, exception->vni}, exception->kind};
    note(exception->vni);
    if (report_.exceptions.contains(what) ||
        report_.exceptions.size() < RetransmitReport::most_exceptions) {
      ++report_.exceptions[what];
    }
  }
  rdma.follow();
  for (const rdma::Completion& ended : rdma.take_probes()) {
    const auto probe = probes_.find(ended.user);
    if (probe == probes_.end()) {
      continue;
    }
    const bool answered = ended.cause == rdma::Cause::none || ended.cause == rdma::Cause::refused ||
                          ended.cause == rdma::Cause::ended || ended.cause == rdma::Cause::busy;
    report_.probes.insert_or_assign(probe->second, answered);
    probes_.erase(probe);
  }
  auto transfers = rdma.node().transfers();
  report_.in_progress = transfers.size();
  const auto worst =
      transfers.begin() +
      static_cast<std::ptrdiff_t>(std::min(transfers.size(), RetransmitReport::most_transfers));
  std::ranges::partial_sort(transfers, worst, std::ranges::greater{},
                            [](const rdma::TransferStatus& t) { return t.retries + t.busy; });
  report_.transfers.clear();
  for (auto one = transfers.begin(); one != worst; ++one) {
    note(one->vni);
    report_.transfers.push_back(report_of(*one));
  }
}

void RetransmitExchange::clear_reported(const RetransmitReport& arrived) {
  for (const auto& [what, times] : arrived.exceptions) {
    const auto found = report_.exceptions.find(what);
    if (found != report_.exceptions.end() && (found->second -= times) == 0) {
      report_.exceptions.erase(found);
    }
  }
  for (const auto& [peer, answered] : arrived.probes) {
    report_.probes.erase(peer);
  }
}

void RetransmitExchange::take(const manager_client::RetransmitNews& news, Rdma& rdma) {
  if (news.policies) {
    for (const auto& [vni, policy] : *news.policies) {
      rdma.set_policy(vni, policy);
    }
  }
  if (news.quarantined) {
    quarantine(*news.quarantined, rdma);
  }
  // A VNI that was added in between has had no answer yet.
  const auto is_answered = [this](const auto& list) {
    return !list || std::ranges::all_of(report_.vnis, [&](Vni vni) { return list->contains(vni); });
  };
  report_.policy_version = is_answered(news.policies) ? news.policy_version : 0;
  // Version 0 requests the list again: for refused peers there may be room then.
  report_.quarantined_version =
      is_answered(news.quarantined) && refused() == 0 ? news.quarantined_version : 0;
  for (const RdmaPeer& peer : news.probe) {
    probe(peer, rdma);
  }
}

void RetransmitExchange::quarantine(const std::map<Vni, std::set<Nid>>& quarantined, Rdma& rdma) {
  for (const auto& [vni, nids] : quarantined) {
    std::set<Nid>& before = quarantined_[vni];
    for (const Nid nid : before) {
      if (!nids.contains(nid)) {
        rdma.set_quarantined(nid, vni, false);
      }
    }
    std::set<Nid> now;
    for (const Nid nid : nids) {
      if (rdma.set_quarantined(nid, vni, true)) {
        now.insert(nid);
      }
    }
    before = std::move(now);
    refused_[vni] = nids.size() - before.size();
  }
}

std::size_t RetransmitExchange::refused() const {
  std::size_t sum = 0;
  for (const auto& [vni, peers] : refused_) {
    sum += peers;
  }
  return sum;
}

void RetransmitExchange::probe(const RdmaPeer& peer, Rdma& rdma) {
  if (std::ranges::any_of(probes_, [&](const auto& one) { return one.second == peer; })) {
    return;
  }
  const auto found = quarantined_.find(peer.vni);
  const bool is_quarantined = found != quarantined_.end() && found->second.contains(peer.nid);
  if (is_quarantined) {
    rdma.set_quarantined(peer.nid, peer.vni, false);
  }
  const std::uint64_t mark = Rdma::probe_mark(next_probe_++);
  const rdma::Begun begun = rdma.node().write({.peer = rdma.node().end_point_of(peer.nid, peer.vni),
                                               .vni = peer.vni,
                                               .memory = {},
                                               .key = {},
                                               .user = mark});
  if (is_quarantined) {
    rdma.set_quarantined(peer.nid, peer.vni, true);
  }
  if (begun.error == rdma::BeginError::none) {
    probes_.emplace(mark, peer);
    rdma.send();
  } // otherwise the manager asks again
}

} // namespace tributary::library
