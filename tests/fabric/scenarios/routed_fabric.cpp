#include "tests/fabric/scenarios/routed_fabric.hpp"

#include "controlplane/route_controller/plan.hpp"
#include "controlplane/topology/builders.hpp"
#include "lib/rdma_policy/policy.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace tributary::fabric {

FabricOptions lossless_channels(std::uint8_t channels, std::uint32_t frames) {
  FabricOptions options;
  options.vlan_id = 0;
  egress::PortSettings& queues = options.switches.queues;
  const auto depth = [](std::uint32_t n) { return egress::Depth{n, n * 128}; };
  for (TrafficClass c{0}; c.value < channels; ++c.value) {
    queues.classes[c.value].limit = depth(4096);
    options.switches.make_lossless(
        c, {.xoff = depth(frames), .xon = depth(frames / 2), .headroom = depth(64)});
  }
  options.host_queues.classes[0].obeys_pause = true;
  options.host_queues.watchdog.detection_ns = 0;
  return options;
}

std::string set_planned_routes(Fabric& fabric, const topology::Graph& graph,
                               const std::string& algorithm, std::uint8_t vcs,
                               std::uint64_t epoch) {
  route_controller::Request request{.fabric = graph};
  request.settings.enabled = true;
  request.settings.algorithm = algorithm;
  request.settings.vcs = vcs;
  request.epoch = epoch;
  request.sprayed_dscps = std::uint64_t{1} << rdma_policy::Policy{}.dscp_sprayed;
  const route_controller::Plan plan = route_controller::make_plan(request, [] { return TimeNs{}; });
  for (SwitchIndex s = 0; s < plan.contents.size(); ++s) {
    if (plan.contents[s] == nullptr || plan.contents[s]->routes() == nullptr) {
      continue;
    }
    // The graph's switches have room for more ports than they have here.
    auto own = std::make_shared<forwarding_table::Routes>(*plan.contents[s]->routes());
    own->table.classes.resize(fabric.topology().ports(s).size());
    fabric.set_routes(s, std::move(own));
  }
  return plan.refused;
}

RoutedFabric::RoutedFabric(const RunOptions& options, const Topology& topology,
                           const FabricOptions& fabric_options)
    : run(options, topology.with_speed(gigabit), fabric_options), flows(run.fabric()),
      graph(run.fabric().topology().graph()) {
  flows.allow_disorder(); // paths change
  flows.allow_other_classes();
}

RoutedFabric::RoutedFabric(const RunOptions& options, const char* model,
                           const FabricOptions& fabric_options)
    : RoutedFabric(options, Topology(topology::build_model(model).graph), fabric_options) {}

std::vector<LinkIndex> RoutedFabric::trunks() {
  std::vector<LinkIndex> found;
  const std::vector<Link>& links = fabric().topology().links();
  for (LinkIndex l = 0; l < links.size(); ++l) {
    if (links[l].ends[0].kind == LinkEnd::Kind::in_switch) {
      found.push_back(l);
    }
  }
  return found;
}

void RoutedFabric::plan(const std::string& algorithm, std::uint8_t vcs) {
  const std::string refused = set_planned_routes(fabric(), graph, algorithm, vcs, ++epoch);
  run.expect(refused.empty(), "there are routes: " + refused);
}

void RoutedFabric::publish_in_any_order(std::uint64_t gap_ns) {
  std::vector<SwitchIndex> order;
  for (SwitchIndex s = 0; s < switches(); ++s) {
    if (fabric().at_switch(s).answers()) {
      order.push_back(s);
    }
  }
  random().shuffle(order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    fabric().at(fabric().now() + i * gap_ns, [this, s = order[i]] { fabric().publish(s); });
  }
}

void RoutedFabric::start() {
  run.start();
  flows.start([&](HostIndex h) { return run.program_of(h); });
}

void RoutedFabric::kill(SwitchIndex s) {
  fabric().crash(s);
  for (const LinkIndex link : fabric().topology().ports(s)) {
    fabric().set_link_up(link, false);
  }
  graph.set_up(topology::SwitchId{s}, false);
}

void RoutedFabric::bring_back(SwitchIndex s) {
  fabric().restart(s);
  for (const LinkIndex link : fabric().topology().ports(s)) {
    fabric().set_link_up(link, true);
  }
  graph.set_up(topology::SwitchId{s}, true);
}

std::uint64_t RoutedFabric::drops_of_queues() const {
  using core::DropReason;
  const RunReport report = run.report();
  return report.dropped(DropReason::queue_full) + report.dropped(DropReason::headroom_full) +
         report.dropped(DropReason::paused_too_long);
}

} // namespace tributary::fabric
