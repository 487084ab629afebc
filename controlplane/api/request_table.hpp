// Every request of the API, in one table: method, path, who may send it, what it needs, and its
// handler. The HTTP server routes by it, access control reads it before a handler is called, and
// openapi.json, which repeats it for machines, is compared with it by a test.
//
// `Handlers` is the class whose functions handle the requests:
//
//   class Manager : public ServiceOf<Manager> {
//     void create_job(const Caller&, const JobRequest&, Reply);    one for each row
//     template <typename Request, typename Handle>
//     void admit(const Route&, const Caller&, Request, Reply, Handle);
//   };
//
// `admit` calls `handle(caller, request, reply)` when the caller may send the request and what it
// needs is there; otherwise it answers.
#pragma once

#include "controlplane/api/job_requests.hpp"
#include "controlplane/api/json_body.hpp"
#include "controlplane/api/rdma_requests.hpp"
#include "controlplane/api/requests.hpp"
#include "controlplane/api/route.hpp"
#include "controlplane/api/service.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace tributary::api {

/// Identifies a function among the handlers.
template <auto handler> inline constexpr char id_of = 0;

/// What a handler takes beside the caller and the reply.
template <auto handler> struct RequestOf;
template <typename H, typename R, void (H::*handler)(const Caller&, const R&, Reply)>
struct RequestOf<handler> {
  using Type = R;
};

template <typename Handlers> struct Request {
  Route route;
  /// Parses the call and passes it to the handler. Throws RequestError. nullptr for routes that the
  /// server answers itself.
  void (*ask)(Handlers& handlers, const Route& route, const Call& call, Reply reply) = nullptr;
  const char* handler = nullptr; ///< `id_of` it
};

namespace table {

/// Calls the parser with the parts of the call that it takes: parameters of the path, the target
/// with its query, the body.
template <auto parse> auto parsed(const Call& call) {
  using Body = const boost::json::object&;
  using Text = const std::string&;
  using Parse = decltype(parse);
  const auto& at = call.parameters;
  if constexpr (std::is_invocable_v<Parse>) {
    return parse();
  } else if constexpr (std::is_invocable_v<Parse, Body>) {
    return parse(parse_body(call.body));
  } else if constexpr (std::is_invocable_v<Parse, const Target&>) {
    return parse(call.target);
  } else if constexpr (std::is_invocable_v<Parse, Text>) {
    return parse(at[0]);
  } else if constexpr (std::is_invocable_v<Parse, Text, Body>) {
    return parse(at[0], parse_body(call.body));
  } else if constexpr (std::is_invocable_v<Parse, Text, const Target&>) {
    return parse(at[0], call.target);
  } else if constexpr (std::is_invocable_v<Parse, Text, const Target&, Body>) {
    return parse(at[0], call.target, parse_body(call.body));
  } else if constexpr (std::is_invocable_v<Parse, Text, Text>) {
    return parse(at[0], at[1]);
  } else {
    return parse(at[0], at[1], at[2]);
  }
}

/// What a request has to do with the store: Route::changes and Route::decides.
enum class Effect : std::uint8_t { shows, decides, changes };

template <auto handler, typename Handlers, typename Parsed>
void hand_over(Handlers& handlers, const Route& route, const Caller& caller, Parsed request,
               Reply reply) {
  handlers.admit(route, caller, std::move(request), std::move(reply),
                 [&handlers](const Caller& from, const auto& admitted, Reply to) {
                   (handlers.*handler)(from, admitted, std::move(to));
                 });
}

template <typename Handlers, auto parse, auto handler>
constexpr Request<Handlers> row(std::string_view method, std::string_view path, bool has_body,
                                Who who, Effect effect) {
  constexpr auto ask = [](Handlers& handlers, const Route& route, const Call& call, Reply reply) {
    hand_over<handler>(handlers, route, call.caller, parsed<parse>(call), std::move(reply));
  };
  return {{.method = method,
           .path = path,
           .has_body = has_body,
           .who = who,
           .changes = effect == Effect::changes,
           .decides = effect != Effect::shows},
          ask,
          &id_of<handler>};
}
template <typename Handlers>
constexpr Request<Handlers> server(std::string_view path, Route::Kind kind) {
  return {{.method = "GET", .path = path, .kind = kind}};
}

inline Nothing none() { return {}; }
template <View what> ViewRequest list_of(const Target& target) {
  return view_request(what, target);
}
template <View what> ViewRequest one_of(const std::string& id) {
  check_name("what the path names", id);
  return {.what = what, .id = id};
}
template <DrainRequest::Verb verb>
DrainRequest drain_by(const std::string& at, const Target& target) {
  return drain_request(verb, at, target);
}
template <RdmaView what> RdmaViewRequest rdma_view_of(const Target& target) {
  return rdma_view_request(what, target);
}
template <bool quarantine>
RdmaQuarantineRequest quarantining(const std::string& vni, const std::string& host) {
  return rdma_quarantine_request(quarantine, vni, host);
}

// The columns.
constexpr bool body = true;
constexpr bool no_body = false;
constexpr Effect changes = Effect::changes;
constexpr Effect decides = Effect::decides;
constexpr Effect reads = Effect::shows;
constexpr Who anyone{};
constexpr Who known{Who::Is::known};
constexpr Who viewer{Who::Is::viewer};
constexpr Who job{Who::Is::job};
constexpr Who administrator(std::string_view what) { return {Who::Is::administrator, what}; }

} // namespace table

// clang-format off
template <typename H> constexpr auto request_table() {
  using namespace table;
  using Kind = Route::Kind;
  using Verb = DrainRequest::Verb;
  constexpr Who jobs = administrator("jobs are");
  constexpr Who job_list = administrator("the list of jobs is");
  constexpr Who drains = administrator("taking switches out of use is");
  constexpr Who peers = administrator("what hosts say of each other is");
  constexpr Who quarantines = administrator("quarantining peers is");
  return std::array{
    // The Slingshot-shaped contract.
    row<H, job_request, &H::create_job>("POST", "/fabric/collectives/jobs", body, jobs, changes),
    row<H, none, &H::list_jobs>("GET", "/fabric/collectives/jobs", no_body, job_list, decides),
    row<H, job_name, &H::get_job>("GET", "/fabric/collectives/jobs/{job}", no_body, job, decides),
    row<H, job_patch, &H::patch_job>("PATCH", "/fabric/collectives/jobs/{job}", body, job, changes),
    row<H, job_name, &H::delete_job>("DELETE", "/fabric/collectives/jobs/{job}", no_body, jobs, changes),
    row<H, multicast_request, &H::create_multicast>("POST", "/fabric/collectives/multicasts", body, job, changes),
    row<H, tree_number, &H::delete_multicast>("DELETE", "/fabric/collectives/multicasts/{mcast}", no_body, anyone, changes),

    // Groups.
    row<H, group_request, &H::create_group>("POST", "/api/v1/groups", body, job, changes),
    row<H, list_of<View::groups>, &H::view>("GET", "/api/v1/groups", no_body, viewer, reads),
    row<H, group_name, &H::get_group>("GET", "/api/v1/groups/{job}/{name}", no_body, job, decides),
    row<H, group_name, &H::delete_group>("DELETE", "/api/v1/groups/{job}/{name}", no_body, job, changes),
    row<H, join_request, &H::join_group>("POST", "/api/v1/groups/{name}/members", body, job, changes),
    row<H, member_request, &H::leave_group>("DELETE", "/api/v1/groups/{job}/{name}/members/{rank}", no_body, job, changes),
    row<H, member_request, &H::renew_lease>("PUT", "/api/v1/groups/{job}/{name}/members/{rank}/lease", no_body, anyone, decides),

    // Views.
    row<H, list_of<View::topology>, &H::view>("GET", "/api/v1/topology", no_body, viewer, reads),
    row<H, list_of<View::switches>, &H::view>("GET", "/api/v1/switches", no_body, viewer, reads),
    row<H, one_of<View::switches>, &H::view>("GET", "/api/v1/switches/{id}", no_body, viewer, reads),
    row<H, list_of<View::hosts>, &H::view>("GET", "/api/v1/hosts", no_body, viewer, reads),
    row<H, one_of<View::hosts>, &H::view>("GET", "/api/v1/hosts/{id}", no_body, viewer, reads),
    row<H, list_of<View::links>, &H::view>("GET", "/api/v1/links", no_body, viewer, reads),
    row<H, one_of<View::links>, &H::view>("GET", "/api/v1/links/{id}", no_body, viewer, reads),
    row<H, list_of<View::trees>, &H::view>("GET", "/api/v1/trees", no_body, viewer, reads),
    row<H, one_of<View::trees>, &H::view>("GET", "/api/v1/trees/{id}", no_body, viewer, reads),
    row<H, list_of<View::transactions>, &H::view>("GET", "/api/v1/transactions", no_body, viewer, reads),
    row<H, one_of<View::transactions>, &H::view>("GET", "/api/v1/transactions/{id}", no_body, viewer, reads),
    row<H, list_of<View::jobs>, &H::view_jobs>("GET", "/api/v1/jobs", no_body, job_list, reads),
    row<H, one_of<View::jobs>, &H::view_jobs>("GET", "/api/v1/jobs/{id}", no_body, job_list, reads),
    row<H, list_of<View::loads>, &H::view>("GET", "/api/v1/loads", no_body, viewer, reads),
    row<H, one_of<View::loads>, &H::view>("GET", "/api/v1/loads/{id}", no_body, viewer, reads),
    row<H, list_of<View::memory>, &H::view>("GET", "/api/v1/memory", no_body, viewer, reads),
    row<H, one_of<View::memory>, &H::view>("GET", "/api/v1/memory/{id}", no_body, viewer, reads),

    // Trees, routes and faults.
    row<H, dry_run_of, &H::rebalance>("POST", "/api/v1/rebalance", no_body, administrator("moving trees is"), reads),
    row<H, none, &H::view_managers>("GET", "/api/v1/managers", no_body, viewer, reads),
    row<H, adopt_request, &H::adopt_fabric>("POST", adoptions_path, body, administrator("taking a fabric over is"), decides),
    row<H, failover_request, &H::fail_over>("POST", "/api/v1/failovers", body, administrator("changing the leader is"), decides),
    row<H, none, &H::view_routes>("GET", "/api/v1/routes", no_body, viewer, reads),
    row<H, path_request, &H::paths>("GET", "/api/v1/paths", no_body, viewer, reads),
    row<H, limit_of, &H::faults>("GET", "/api/v1/faults", no_body, Who{Who::Is::administrator_or_open_view, "the log of faults is"}, reads),
    row<H, drain_by<Verb::drain>, &H::drain>("POST", "/api/v1/switches/{id}/drain", no_body, drains, changes),
    row<H, drain_by<Verb::undrain>, &H::drain>("DELETE", "/api/v1/switches/{id}/drain", no_body, drains, changes),
    row<H, drain_by<Verb::look>, &H::drain>("GET", "/api/v1/switches/{id}/drain", no_body, drains, reads),

    // RDMA.
    row<H, rdma_view_of<RdmaView::policy>, &H::rdma_view>("GET", "/api/v1/rdma/policy", no_body, viewer, reads),
    row<H, rdma_policy_patch, &H::rdma_set_policy>("PATCH", "/api/v1/rdma/policy", body, administrator("the retransmit policy is"), changes),
    row<H, rdma_view_of<RdmaView::peers>, &H::rdma_view_peers>("GET", "/api/v1/rdma/peers", no_body, peers, reads),
    row<H, rdma_view_of<RdmaView::transfers>, &H::rdma_view_peers>("GET", "/api/v1/rdma/transfers", no_body, peers, reads),
    row<H, rdma_view_of<RdmaView::exceptions>, &H::rdma_view_peers>("GET", "/api/v1/rdma/exceptions", no_body, peers, reads),
    row<H, quarantining<true>, &H::rdma_quarantine>("PUT", "/api/v1/rdma/quarantined/{vni}/{host}", no_body, quarantines, changes),
    row<H, quarantining<false>, &H::rdma_quarantine>("DELETE", "/api/v1/rdma/quarantined/{vni}/{host}", no_body, quarantines, changes),
    row<H, rdma_report, &H::rdma_report>("POST", "/api/v1/rdma/reports", body, known, reads),

    // Jobs' allocations and nodes.
    row<H, allocation_request, &H::allocate>("POST", "/api/v1/allocations", body, anyone, changes),
    row<H, job_name, &H::renew_allocation>("PUT", "/api/v1/allocations/{job}/lease", no_body, job, decides),
    row<H, nodes_request, &H::nodes>("GET", "/api/v1/nodes", no_body, viewer, reads),
    row<H, node_named, &H::nodes>("GET", "/api/v1/nodes/{id}", no_body, viewer, reads),
    row<H, node_report, &H::report_node>("PUT", "/api/v1/nodes/{id}", body, anyone, reads),

    // What the server answers itself.
    server<H>("/api/v1/events", Kind::events),
    server<H>("/healthz", Kind::health),
    server<H>("/readyz", Kind::readiness),
    server<H>("/leader", Kind::leadership),
    server<H>("/metrics", Kind::metrics),
    server<H>("/openapi.json", Kind::openapi),
    server<H>("/", Kind::page),
    server<H>("/view/{file}", Kind::page),
  };
}
// clang-format on

/// A service whose requests are handled by functions of `Handlers`, which derives from it.
template <typename Handlers> class ServiceOf : public Service {
public:
  [[nodiscard]] std::span<const Route> routes() const final { return table().routes; }
  /// The same, without an object.
  [[nodiscard]] static std::span<const Route> all_routes() { return table().routes; }
  void serve(const Route& route, const Call& call, Reply reply) final {
    const auto at = static_cast<std::size_t>(&route - table().routes.data());
    table().requests.at(at).ask(static_cast<Handlers&>(*this), route, call, std::move(reply));
  }
  /// Sends a request that needs no parsing, as the first row with this handler.
  template <auto handler>
  void ask(const Caller& caller, typename RequestOf<handler>::Type request, Reply reply) {
    const auto row =
        std::ranges::find(table().requests, &id_of<handler>, &Request<Handlers>::handler);
    table::hand_over<handler>(static_cast<Handlers&>(*this), row->route, caller, std::move(request),
                              std::move(reply));
  }

private:
  struct Table {
    decltype(request_table<Handlers>()) requests = request_table<Handlers>();
    std::array<Route, std::tuple_size_v<decltype(requests)>> routes{};
  };
  static const Table& table() {
    static constexpr Table made = [] {
      Table one;
      std::ranges::transform(one.requests, one.routes.begin(), &Request<Handlers>::route);
      return one;
    }();
    return made;
  }
};

} // namespace tributary::api
