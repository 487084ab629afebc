// Any bytes as a request of the manager's HTTP API, behind HTTP itself: method, target, body.
//
//   1  nothing but RequestError comes out, and its message is text that can be sent as JSON
//   2  what reaches the service is in the ranges that service.hpp and types.hpp guarantee
//   3  a body that is accepted is accepted again when the JSON library writes it

#include "controlplane/api/json_body.hpp"
#include "controlplane/api/request_error.hpp"
#include "controlplane/api/request_table.hpp"
#include "controlplane/rest/router.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/require.hpp"
#include "tributary/text.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <boost/json.hpp>

#include <string>

namespace tributary::fuzz {
namespace {

using namespace tributary::api;
using rest::find_route;
using rest::Match;

void check_name(const std::string& name) {
  TRIBUTARY_REQUIRE(!name.empty() && name.size() <= max_name_bytes && is_printable(name));
}
void check_nid(Nid nid) { TRIBUTARY_REQUIRE(wire::is_valid_nid(nid)); }
void check_group(const GroupRequest& r) {
  check_name(r.name);
  TRIBUTARY_REQUIRE(r.job.empty() || (check_name(r.job), true));
  TRIBUTARY_REQUIRE(r.size >= 1 && r.size <= max_contributions);
  TRIBUTARY_REQUIRE(r.trees == 1 || r.trees == 2);
  TRIBUTARY_REQUIRE(!r.root_rank || *r.root_rank < r.size);
}

/// Asserts for every request what the head of service.hpp says has been checked.
class DemandingService final : public ServiceOf<DemandingService> {
public:
  int calls = 0;

  template <typename Parsed, typename Handle>
  void admit(const Route&, const Caller& caller, Parsed request, Reply reply, Handle handle) {
    handle(caller, request, std::move(reply));
  }

  void create_job(const Caller&, const JobRequest& r, Reply reply) {
    check_name(r.job);
    TRIBUTARY_REQUIRE(r.multicast_limit.value_or(0) <= max_trees);
    done(reply);
  }
  void get_job(const Caller&, const JobName& r, Reply reply) { named(r.job, reply); }
  void list_jobs(const Caller&, const Nothing&, Reply reply) { done(reply); }
  void patch_job(const Caller&, const JobPatch& p, Reply reply) {
    for (const std::string& step : p.ended_steps) {
      check_name(step);
    }
    named(p.job, reply);
  }
  void delete_job(const Caller&, const JobName& r, Reply reply) { named(r.job, reply); }
  void create_multicast(const Caller&, const MulticastRequest& r, Reply reply) {
    TRIBUTARY_REQUIRE(!r.macs.empty());
    for (const Nid nid : r.macs) {
      check_nid(nid);
    }
    TRIBUTARY_REQUIRE(r.timeout.count() >= 0 && r.timeout <= max_collective_timeout);
    check_name(r.step);
    named(r.job, reply);
  }
  void delete_multicast(const Caller&, const TreeNumber& tree, Reply reply) {
    TRIBUTARY_REQUIRE(tree.value < max_trees);
    done(reply);
  }
  void create_group(const Caller&, const GroupRequest& r, Reply reply) {
    check_group(r);
    done(reply);
  }
  void join_group(const Caller&, const JoinRequest& r, Reply reply) {
    check_group(r.group);
    check_nid(r.nid);
    TRIBUTARY_REQUIRE(r.rank < r.group.size);
    TRIBUTARY_REQUIRE(r.wait.count() >= 0 && r.wait <= max_join_wait);
    done(reply);
  }
  void leave_group(const Caller&, const MemberRequest& r, Reply reply) { member(r, reply); }
  void renew_lease(const Caller&, const MemberRequest& r, Reply reply) { member(r, reply); }
  void get_group(const Caller&, const GroupName& r, Reply reply) {
    check_name(r.job);
    named(r.name, reply);
  }
  void delete_group(const Caller&, const GroupName& r, Reply reply) {
    check_name(r.job);
    named(r.name, reply);
  }
  void rebalance(const Caller&, const bool&, Reply reply) { reply({200, {}, 0}); }
  void view(const Caller&, const ViewRequest& r, Reply reply) {
    TRIBUTARY_REQUIRE(!r.id || (check_name(*r.id), true));
    TRIBUTARY_REQUIRE(r.limit >= 1 && r.limit <= ViewRequest::most);
    done(reply);
  }
  void view_jobs(const Caller& c, const ViewRequest& r, Reply reply) {
    view(c, r, std::move(reply));
  }
  void view_managers(const Caller&, const Nothing&, Reply reply) { done(reply); }
  void fail_over(const Caller&, const FailoverRequest& r, Reply reply) {
    check_name(r.to.empty() ? "-" : r.to);
    done(reply);
  }
  void adopt_fabric(const Caller&, const AdoptRequest& r, Reply reply) {
    TRIBUTARY_REQUIRE(r.fabric != 0);
    done(reply);
  }
  void view_routes(const Caller&, const Nothing&, Reply reply) { done(reply); }
  void paths(const Caller&, const PathRequest& r, Reply reply) {
    check_name(r.from);
    named(r.to, reply);
  }
  void faults(const Caller&, const std::size_t& limit, Reply reply) {
    TRIBUTARY_REQUIRE(limit >= 1 && limit <= ViewRequest::most);
    done(reply);
  }
  void drain(const Caller&, const DrainRequest& r, Reply reply) { named(r.at, reply); }
  void rdma_view(const Caller&, const RdmaViewRequest& r, Reply reply) {
    TRIBUTARY_REQUIRE(r.limit >= 1 && r.limit <= ViewRequest::most);
    done(reply);
  }
  void rdma_view_peers(const Caller& c, const RdmaViewRequest& r, Reply reply) {
    rdma_view(c, r, std::move(reply));
  }
  void rdma_set_policy(const Caller&, const RdmaPolicyPatch& p, Reply reply) {
    TRIBUTARY_REQUIRE(p.reset_all || !p.set.empty() || !p.reset.empty());
    done(reply);
  }
  void rdma_quarantine(const Caller&, const RdmaQuarantineRequest& r, Reply reply) {
    named(r.host, reply);
  }
  void rdma_report(const Caller&, const RdmaReport& r, Reply reply) {
    check_nid(r.nid);
    TRIBUTARY_REQUIRE(r.vnis.size() <= RdmaReport::most_vnis);
    TRIBUTARY_REQUIRE(r.exceptions.size() <= RdmaReport::most_exceptions);
    for (const RdmaReport::Exception& exception : r.exceptions) {
      check_nid(exception.peer.nid);
      TRIBUTARY_REQUIRE(exception.times >= 1);
    }
    TRIBUTARY_REQUIRE(r.probes.size() <= RdmaReport::most_probes);
    for (const RdmaReport::Probe& probe : r.probes) {
      check_nid(probe.peer.nid);
    }
    TRIBUTARY_REQUIRE(r.transfers.size() <= retransmit::Transfers::most_of_a_host);
    for (const auto& transfer : r.transfers) {
      check_nid(transfer.peer);
    }
    done(reply);
  }
  void allocate(const Caller&, const AllocationRequest& r, Reply reply) {
    TRIBUTARY_REQUIRE(!r.nodes.empty() && r.nodes.size() <= AllocationRequest::most_nodes);
    named(r.job, reply);
  }
  void renew_allocation(const Caller&, const JobName& r, Reply reply) { named(r.job, reply); }
  void report_node(const Caller&, const NodeReport& r, Reply reply) { named(r.name, reply); }
  void nodes(const Caller&, const NodesRequest&, Reply reply) { done(reply); }
  std::optional<MetricsPlace> metrics(MetricsPlace, std::string&) override { return {}; }
  std::string not_ready_because() override { return {}; }
  std::optional<Answer> refuse_job_events(const Caller&, const std::string&) override { return {}; }
  std::unique_ptr<EventReader> read_events(const Caller&, const EventsRequest&,
                                           std::function<void()>) override {
    return nullptr;
  }

private:
  void done(const Reply& reply) {
    ++calls;
    reply({});
  }
  void named(const std::string& name, const Reply& reply) {
    check_name(name);
    done(reply);
  }
  void member(const MemberRequest& r, const Reply& reply) {
    check_name(r.job);
    TRIBUTARY_REQUIRE(r.rank < max_contributions);
    named(r.group, reply);
  }
};

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_message(const RequestError& error) { TRIBUTARY_REQUIRE(is_printable(error.what())); }

/// Whether the body was accepted.
bool offer(DemandingService& service, const Route& route, const Call& call) {
  service.calls = 0;
  int replies = 0;
  try {
    service.serve(route, call, [&replies](Answer) { ++replies; });
  } catch (const RequestError& e) {
    check_message(e);
    TRIBUTARY_REQUIRE(replies == 0);
    return false;
  }
  TRIBUTARY_REQUIRE(service.calls == 1 && replies == 1);
  return true;
}

void run(Input input) {
  constexpr std::string_view methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
  const std::string_view method = methods[input.below(std::size(methods))];
  Call call;
  const std::string target = text_of(input.bytes(input.take<std::uint8_t>()));
  call.body = text_of(input.bytes(1U << 20));
  try {
    call.target = parse_target(target);
    static_cast<void>(events_request(call.target, target));
  } catch (const RequestError& e) {
    check_message(e);
  }
  DemandingService service;
  const Match match = find_route(service.routes(), method, call.target);
  TRIBUTARY_REQUIRE(match.route == nullptr || !match.allowed.empty());
  if (match.route == nullptr || match.route->kind != Route::Kind::service) {
    return;
  }
  call.parameters = match.parameters;
  if (offer(service, *match.route, call) && match.route->has_body) {
    call.body = boost::json::serialize(parse_body(call.body));
    TRIBUTARY_REQUIRE(offer(service, *match.route, call));
  }
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::run({data, size});
  return 0;
}
