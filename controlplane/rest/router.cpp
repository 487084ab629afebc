#include "controlplane/rest/router.hpp"

#include "controlplane/api/job_requests.hpp"
#include "controlplane/api/json_body.hpp"
#include "controlplane/api/rdma_requests.hpp"
#include "controlplane/api/requests.hpp"

#include <boost/json.hpp>

#include <array>
#include <utility>

namespace tributary::rest {

using api::check_name;
using api::parse_body;
using api::Reply;
using api::Service;
using api::View;

namespace {

namespace json = boost::json;
using http::verb;
using Kind = Route::Kind;
using Ask = void (*)(Service&, const Call&, Reply);

template <View what> void ask_view(Service& service, const Call& call, Reply reply) {
  service.view(call.caller, api::view_request(what, call.target), std::move(reply));
}
template <View what> void ask_one(Service& service, const Call& call, Reply reply) {
  check_name("what the path names", call.parameters[0]);
  service.view(call.caller, {.what = what, .id = call.parameters[0]}, std::move(reply));
}

constexpr Ask create_job = [](Service& service, const Call& call, Reply reply) {
  service.create_job(call.caller, api::job_request(parse_body(call.body)), std::move(reply));
};
constexpr Ask list_jobs = [](Service& service, const Call& call, Reply reply) {
  service.list_jobs(call.caller, std::move(reply));
};
constexpr Ask get_job = [](Service& service, const Call& call, Reply reply) {
  check_name("the job in the path", call.parameters[0]);
  service.get_job(call.caller, call.parameters[0], std::move(reply));
};
constexpr Ask patch_job = [](Service& service, const Call& call, Reply reply) {
  check_name("the job in the path", call.parameters[0]);
  service.patch_job(call.caller, api::job_patch(call.parameters[0], parse_body(call.body)),
                    std::move(reply));
};
constexpr Ask delete_job = [](Service& service, const Call& call, Reply reply) {
  check_name("the job in the path", call.parameters[0]);
  service.delete_job(call.caller, call.parameters[0], std::move(reply));
};
constexpr Ask create_multicast = [](Service& service, const Call& call, Reply reply) {
  service.create_multicast(call.caller, api::multicast_request(parse_body(call.body)),
                           std::move(reply));
};
constexpr Ask delete_multicast = [](Service& service, const Call& call, Reply reply) {
  service.delete_multicast(call.caller, api::tree_number(call.parameters[0]), std::move(reply));
};

constexpr Ask create_group = [](Service& service, const Call& call, Reply reply) {
  service.create_group(call.caller, api::group_request(parse_body(call.body)), std::move(reply));
};
constexpr Ask get_group = [](Service& service, const Call& call, Reply reply) {
  check_name("the job in the path", call.parameters[0]);
  check_name("the group in the path", call.parameters[1]);
  service.get_group(call.caller, call.parameters[0], call.parameters[1], std::move(reply));
};
constexpr Ask delete_group = [](Service& service, const Call& call, Reply reply) {
  check_name("the job in the path", call.parameters[0]);
  check_name("the group in the path", call.parameters[1]);
  service.delete_group(call.caller, call.parameters[0], call.parameters[1], std::move(reply));
};
constexpr Ask join_group = [](Service& service, const Call& call, Reply reply) {
  service.join_group(call.caller,
                     api::join_request(call.parameters[0], call.target, parse_body(call.body)),
                     std::move(reply));
};
constexpr Ask leave_group = [](Service& service, const Call& call, Reply reply) {
  service.leave_group(
      call.caller, api::member_request(call.parameters[0], call.parameters[1], call.parameters[2]),
      std::move(reply));
};
constexpr Ask renew_lease = [](Service& service, const Call& call, Reply reply) {
  service.renew_lease(
      call.caller, api::member_request(call.parameters[0], call.parameters[1], call.parameters[2]),
      std::move(reply));
};

constexpr Ask rebalance = [](Service& service, const Call& call, Reply reply) {
  service.rebalance(call.caller, api::dry_run_of(call.target), std::move(reply));
};

constexpr Ask get_routes = [](Service& service, const Call& call, Reply reply) {
  service.routes(call.caller, std::move(reply));
};
constexpr Ask get_paths = [](Service& service, const Call& call, Reply reply) {
  service.paths(call.caller, api::path_request(call.target), std::move(reply));
};
constexpr Ask get_faults = [](Service& service, const Call& call, Reply reply) {
  service.faults(call.caller, api::limit_of(call.target), std::move(reply));
};
template <api::DrainRequest::Verb what>
void ask_drain(Service& service, const Call& call, Reply reply) {
  service.drain(call.caller, api::drain_request(what, call.parameters[0], call.target),
                std::move(reply));
}

template <api::RdmaView what> void ask_rdma(Service& service, const Call& call, Reply reply) {
  service.rdma_view(call.caller, api::rdma_view_request(what, call.target), std::move(reply));
}
constexpr Ask set_rdma_policy = [](Service& service, const Call& call, Reply reply) {
  service.rdma_set_policy(call.caller, api::rdma_policy_patch(parse_body(call.body)),
                          std::move(reply));
};
template <bool park> void ask_rdma_park(Service& service, const Call& call, Reply reply) {
  service.rdma_park(call.caller,
                    api::rdma_park_request(park, call.parameters[0], call.parameters[1]),
                    std::move(reply));
}
constexpr Ask report_rdma = [](Service& service, const Call& call, Reply reply) {
  service.rdma_report(call.caller, api::rdma_report(parse_body(call.body)), std::move(reply));
};

constexpr Ask allocate = [](Service& service, const Call& call, Reply reply) {
  service.allocate(call.caller, api::allocation_request(parse_body(call.body)), std::move(reply));
};
constexpr Ask renew_allocation = [](Service& service, const Call& call, Reply reply) {
  check_name("the job in the path", call.parameters[0]);
  service.renew_allocation(call.caller, call.parameters[0], std::move(reply));
};
constexpr Ask report_node = [](Service& service, const Call& call, Reply reply) {
  service.report_node(call.caller, api::node_report(call.parameters[0], parse_body(call.body)),
                      std::move(reply));
};
constexpr Ask list_nodes = [](Service& service, const Call& call, Reply reply) {
  service.nodes(call.caller, api::nodes_request(call.target), std::move(reply));
};
constexpr Ask get_node = [](Service& service, const Call& call, Reply reply) {
  check_name("the node in the path", call.parameters[0]);
  service.nodes(call.caller, {.id = call.parameters[0]}, std::move(reply));
};

constexpr auto no_body = Route::Body::none;
constexpr auto body = Route::Body::of_known_caller;
constexpr auto administrators_body = Route::Body::of_administrator;

constexpr std::array all_routes = {
    Route{verb::post, "/fabric/collectives/jobs", Kind::service, administrators_body, create_job},
    Route{verb::get, "/fabric/collectives/jobs", Kind::service, no_body, list_jobs},
    Route{verb::get, "/fabric/collectives/jobs/{job}", Kind::service, no_body, get_job},
    Route{verb::patch, "/fabric/collectives/jobs/{job}", Kind::service, body, patch_job},
    Route{verb::delete_, "/fabric/collectives/jobs/{job}", Kind::service, no_body, delete_job},
    Route{verb::post, "/fabric/collectives/multicasts", Kind::service, body, create_multicast},
    Route{verb::delete_, "/fabric/collectives/multicasts/{mcast}", Kind::service, no_body,
          delete_multicast},

    Route{verb::post, "/api/v1/groups", Kind::service, body, create_group},
    Route{verb::get, "/api/v1/groups", Kind::service, no_body, ask_view<View::groups>},
    Route{verb::get, "/api/v1/groups/{job}/{name}", Kind::service, no_body, get_group},
    Route{verb::delete_, "/api/v1/groups/{job}/{name}", Kind::service, no_body, delete_group},
    Route{verb::post, "/api/v1/groups/{name}/members", Kind::service, body, join_group},
    Route{verb::delete_, "/api/v1/groups/{job}/{name}/members/{rank}", Kind::service, no_body,
          leave_group},
    Route{verb::put, "/api/v1/groups/{job}/{name}/members/{rank}/lease", Kind::service, no_body,
          renew_lease},

    Route{verb::post, "/api/v1/rebalance", Kind::service, no_body, rebalance},
    Route{verb::get, "/api/v1/topology", Kind::service, no_body, ask_view<View::topology>},
    Route{verb::get, "/api/v1/switches", Kind::service, no_body, ask_view<View::switches>},
    Route{verb::get, "/api/v1/switches/{id}", Kind::service, no_body, ask_one<View::switches>},
    Route{verb::get, "/api/v1/hosts", Kind::service, no_body, ask_view<View::hosts>},
    Route{verb::get, "/api/v1/hosts/{id}", Kind::service, no_body, ask_one<View::hosts>},
    Route{verb::get, "/api/v1/links", Kind::service, no_body, ask_view<View::links>},
    Route{verb::get, "/api/v1/links/{id}", Kind::service, no_body, ask_one<View::links>},
    Route{verb::get, "/api/v1/trees", Kind::service, no_body, ask_view<View::trees>},
    Route{verb::get, "/api/v1/trees/{id}", Kind::service, no_body, ask_one<View::trees>},
    Route{verb::get, "/api/v1/transactions", Kind::service, no_body, ask_view<View::transactions>},
    Route{verb::get, "/api/v1/transactions/{id}", Kind::service, no_body,
          ask_one<View::transactions>},
    Route{verb::get, "/api/v1/jobs", Kind::service, no_body, ask_view<View::jobs>},
    Route{verb::get, "/api/v1/jobs/{id}", Kind::service, no_body, ask_one<View::jobs>},
    Route{verb::get, "/api/v1/loads", Kind::service, no_body, ask_view<View::loads>},
    Route{verb::get, "/api/v1/loads/{id}", Kind::service, no_body, ask_one<View::loads>},
    Route{verb::get, "/api/v1/memory", Kind::service, no_body, ask_view<View::memory>},
    Route{verb::get, "/api/v1/memory/{id}", Kind::service, no_body, ask_one<View::memory>},

    Route{verb::get, "/api/v1/routes", Kind::service, no_body, get_routes},
    Route{verb::get, "/api/v1/paths", Kind::service, no_body, get_paths},
    Route{verb::get, "/api/v1/faults", Kind::service, no_body, get_faults},
    Route{verb::get, "/api/v1/switches/{id}/drain", Kind::service, no_body,
          ask_drain<api::DrainRequest::Verb::look>},
    Route{verb::post, "/api/v1/switches/{id}/drain", Kind::service, no_body,
          ask_drain<api::DrainRequest::Verb::drain>},
    Route{verb::delete_, "/api/v1/switches/{id}/drain", Kind::service, no_body,
          ask_drain<api::DrainRequest::Verb::undrain>},

    Route{verb::get, "/api/v1/rdma/policy", Kind::service, no_body,
          ask_rdma<api::RdmaView::policy>},
    Route{verb::patch, "/api/v1/rdma/policy", Kind::service, administrators_body, set_rdma_policy},
    Route{verb::get, "/api/v1/rdma/peers", Kind::service, no_body, ask_rdma<api::RdmaView::peers>},
    Route{verb::get, "/api/v1/rdma/transfers", Kind::service, no_body,
          ask_rdma<api::RdmaView::transfers>},
    Route{verb::get, "/api/v1/rdma/exceptions", Kind::service, no_body,
          ask_rdma<api::RdmaView::exceptions>},
    Route{verb::put, "/api/v1/rdma/parked/{vni}/{host}", Kind::service, no_body,
          ask_rdma_park<true>},
    Route{verb::delete_, "/api/v1/rdma/parked/{vni}/{host}", Kind::service, no_body,
          ask_rdma_park<false>},
    Route{verb::post, "/api/v1/rdma/reports", Kind::service, body, report_rdma},

    Route{verb::post, "/api/v1/allocations", Kind::service, body, allocate},
    Route{verb::put, "/api/v1/allocations/{job}/lease", Kind::service, no_body, renew_allocation},
    Route{verb::get, "/api/v1/nodes", Kind::service, no_body, list_nodes},
    Route{verb::get, "/api/v1/nodes/{id}", Kind::service, no_body, get_node},
    Route{verb::put, "/api/v1/nodes/{id}", Kind::service, body, report_node},

    Route{verb::get, "/api/v1/events", Kind::events, no_body, nullptr},
    Route{verb::get, "/healthz", Kind::health, no_body, nullptr},
    Route{verb::get, "/readyz", Kind::readiness, no_body, nullptr},
    Route{verb::get, "/metrics", Kind::metrics, no_body, nullptr},
    Route{verb::get, "/openapi.json", Kind::openapi, no_body, nullptr},
    Route{verb::get, "/", Kind::page, no_body, nullptr},
    Route{verb::get, "/view/{file}", Kind::page, no_body, nullptr},
};

/// Whether the segments match the pattern; fills `parameters` with the segments for its braces.
bool matches(std::string_view pattern, const std::vector<std::string>& segments,
             std::vector<std::string>& parameters) {
  parameters.clear();
  for (const std::string& segment : segments) {
    if (pattern.empty()) {
      return false;
    }
    pattern.remove_prefix(1); // its slash
    const std::string_view expected = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(expected.size());
    if (expected.starts_with('{')) {
      parameters.push_back(segment);
    } else if (expected != segment) {
      return false;
    }
  }
  return pattern.empty() || pattern == "/";
}

} // namespace

std::span<const Route> routes() { return all_routes; }

Match find_route(verb method, const api::Target& target) {
  Match match;
  const verb wanted = method == verb::head ? verb::get : method;
  std::vector<std::string> parameters;
  for (const Route& route : all_routes) {
    if (!matches(route.path, target.segments, parameters)) {
      continue;
    }
    if (route.method == wanted && match.route == nullptr) {
      match.route = &route;
      match.parameters = parameters;
    }
    const auto name = http::to_string(route.method);
    match.allowed += match.allowed.empty() ? "" : ", ";
    match.allowed.append(name.data(), name.size());
    match.allowed += route.method == verb::get ? ", HEAD" : "";
  }
  return match;
}

} // namespace tributary::rest
