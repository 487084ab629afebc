// api::Service: retransmit handling of RDMA.
#include "controlplane/api/rdma_views.hpp"
#include "controlplane/api/status.hpp"
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {

void Manager::rdma_view_peers(const api::Caller& caller, const api::RdmaViewRequest& request,
                              api::Reply reply) {
  rdma_view(caller, request, std::move(reply));
}

void Manager::rdma_view(const api::Caller& /*caller*/, const api::RdmaViewRequest& request,
                        api::Reply reply) {
  const api::RdmaReadView read_view = rdma_.read_view();
  boost::json::object body;
  switch (request.what) {
  case api::RdmaView::policy: body = api::rdma_policy_json(read_view, request.vni); break;
  case api::RdmaView::peers: body = api::rdma_peers_json(read_view, request.limit, time()); break;
  case api::RdmaView::transfers: body = api::rdma_transfers_json(read_view, request.limit); break;
  case api::RdmaView::exceptions:
    body = api::rdma_exceptions_json(read_view, request.limit, time());
    break;
  }
  reply({200, std::move(body), 0});
}

void Manager::rdma_set_policy(const api::Caller& /*caller*/, const api::RdmaPolicyPatch& patch,
                              api::Reply reply) {
  std::string error;
  std::vector<records::Change> changes = rdma_.patch(patch, error);
  if (!error.empty()) {
    return replies_.give(std::move(reply), api::error_answer(400, error), false);
  }
  store_.add(std::move(changes));
  replies_.give(std::move(reply), {200, api::rdma_policy_json(rdma_.read_view(), patch.vni), 0},
                true);
}

void Manager::rdma_quarantine(const api::Caller& /*caller*/,
                              const api::RdmaQuarantineRequest& request, api::Reply reply) {
  const auto host = host_called(graph(), request.host);
  if (!host) {
    return reply(
        api::error_answer(404, fmt::format("no host \"{}\" in the fabric, by name or NID; look at "
                                           "tributaryctl fabric show hosts",
                                           request.host)));
  }
  const retransmit::PeerId peer{graph()[*host].nid, request.vni};
  if (!rdma_.quarantine(peer, request.quarantine, now())) {
    return replies_.give(
        std::move(reply),
        api::error_answer(409, request.quarantine
                                   ? "as many peers are quarantined as there is room for; "
                                     "look at tributaryctl rdma show peers"
                                   : fmt::format("host \"{}\" is not quarantined in VNI {}",
                                                 request.host, request.vni.value)),
        false);
  }
  if (request.quarantine) {
    store_.add({records::RdmaQuarantineRecord{peer.vni, peer.nid}});
  } else {
    store_.add({records::EraseRdmaQuarantine{peer.vni, peer.nid}});
  }
  replies_.give(std::move(reply),
                {200,
                 boost::json::object{{"nid", peer.nid.value},
                                     {"host", graph()[*host].name},
                                     {"vni", peer.vni.value},
                                     {"quarantined", request.quarantine}},
                 0},
                true);
}

void Manager::rdma_report(const api::Caller& caller, const api::RdmaReport& report,
                          api::Reply reply) {
  const api::OnlyJob only = access_.only_job_of(caller);
  if (only) {
    if (const std::string why = registry_.refuse_report(*only, report.nid, report.vnis);
        !why.empty()) {
      return reply(api::error_answer(403, why));
    }
  }
  const auto host = graph().find_host(report.nid);
  if (!host || !graph()[*host].plugged) {
    return reply(api::error_answer(
        404, fmt::format("no switch has seen a host of NID {}; has it announced itself, and does "
                         "its switch have a channel to this manager?",
                         report.nid.value)));
  }
  api::RdmaReport allowed = report;
  allowed.job = only.value_or("");
  // A job may not report hosts that are not its own, or VNIs that it does not name.
  const auto is_foreign = [&](Nid nid, Vni vni) {
    return std::ranges::find(report.vnis, vni) == report.vnis.end() ||
           (only && !registry_.may_speak_of(*only, nid));
  };
  const auto is_about_foreign = [&](const auto& one) {
    return is_foreign(one.peer.nid, one.peer.vni);
  };
  rdma_.refuse(std::erase_if(allowed.exceptions, is_about_foreign));
  std::erase_if(allowed.probes, is_about_foreign); // not requested
  std::erase_if(allowed.transfers,
                [&](const retransmit::Transfer& one) { return is_foreign(one.peer, one.vni); });
  const api::RdmaInstruction instruction = rdma_.report(allowed, graph()[*host].at, now());
  reply({200, api::rdma_instruction_json(rdma_.read_view(), allowed, instruction), 0});
}

} // namespace tributary::manager
