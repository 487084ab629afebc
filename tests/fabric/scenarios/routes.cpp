// Unicast frames by the manager's routes, in a fat tree of two dimensions: all pairs, a leaf that
// dies under traffic, other tables in the middle of full load, a port that pauses without end.
#include "controlplane/routes/plan.hpp"
#include "controlplane/topology/builders.hpp"
#include "tests/fabric/flows.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tributary::fabric {

namespace {

using core::DropReason;

constexpr std::uint32_t gigabit = 1'000;

/// Tagged links between switches; virtual channels 0 and 1 are lossless.
FabricOptions lossless_channels() {
  FabricOptions options;
  options.vlan_id = 0;
  egress::PortSettings& queues = options.switches.queues;
  for (const TrafficClass c : {TrafficClass{0}, TrafficClass{1}}) {
    queues.classes[c.value].limit = {4096, 4096U * 128};
    options.switches.make_lossless(
        c, {.xoff = {16, 16 * 128}, .xon = {8, 8 * 128}, .headroom = {64, 64 * 128}});
  }
  options.host_queues.classes[0].obeys_pause = true;
  options.host_queues.watchdog.detection_ns = 0;
  return options;
}

/// A fat tree of two dimensions, switches by SwitchId of its graph, and routes as the control plane
/// plans them.
struct RoutedFabric {
  RoutedFabric(const RunOptions& options, const char* model, std::uint32_t mbps,
               const FabricOptions& fabric_options)
      : run(options, Topology(topology::build_model(model).graph).with_speed(mbps), fabric_options),
        flows(run.fabric()), graph(run.fabric().topology().graph()) {
    flows.allow_disorder(); // paths change
    flows.allow_other_classes();
  }

  [[nodiscard]] Fabric& fabric() { return run.fabric(); }
  [[nodiscard]] HostIndex hosts() const { return static_cast<HostIndex>(graph.hosts().size()); }
  [[nodiscard]] SwitchIndex leaf_of(HostIndex h) { return fabric().topology().edge_port(h).node; }

  /// Routes for the graph as it is, at each switch once it is published.
  void plan(const std::string& algorithm) {
    routes::Request request{.fabric = graph};
    request.settings.enabled = true;
    request.settings.algorithm = algorithm;
    request.epoch = ++epoch;
    const routes::Plan plan = routes::make_plan(request, [] { return TimeNs{}; });
    run.expect(plan.refused.empty(), "there are routes: " + plan.refused);
    for (SwitchIndex s = 0; s < plan.contents.size(); ++s) {
      if (plan.contents[s] == nullptr || plan.contents[s]->routes() == nullptr) {
        continue;
      }
      // The graph's switches have room for more ports than they have here.
      auto own = std::make_shared<routing::Routes>(*plan.contents[s]->routes());
      own->table.classes.resize(fabric().topology().ports(s).size());
      fabric().set_routes(s, std::move(own));
    }
  }
  void start() {
    run.start();
    flows.start([&](HostIndex h) { return run.program_of(h); });
  }
  /// A switch dies, and its links go down with it.
  void kill(SwitchIndex s) {
    fabric().crash(s);
    for (const LinkIndex link : fabric().topology().ports(s)) {
      fabric().set_link_up(link, false);
    }
    graph.set_up(topology::SwitchId{s}, false);
  }
  [[nodiscard]] std::uint64_t drops_of_queues() const {
    const RunReport report = run.report();
    return report.dropped(DropReason::queue_full) + report.dropped(DropReason::headroom_full) +
           report.dropped(DropReason::paused_too_long);
  }

  Run run;
  Flows flows;
  topology::Graph graph; ///< as the manager sees it
  std::uint64_t epoch = 0;
};

RunReport routed_all_pairs(const RunOptions& options) {
  RoutedFabric f(options, "kdft:4x3x2", gigabit, lossless_channels());
  f.plan("vtftr_plus");
  for (HostIndex from = 0; from < f.hosts(); ++from) {
    for (HostIndex to = 0; to < f.hosts(); ++to) {
      if (from != to) {
        f.flows.add({.from = from,
                     .to = to,
                     .frames = 5,
                     .frame_bytes = 94U + static_cast<std::uint32_t>(f.run.random().below(30)),
                     .gap_ns = microseconds(10) + f.run.random().below(microseconds(10))});
      }
    }
  }
  f.start();
  f.run.finish();
  f.run.expect(f.flows.all_received(), "every host reached every other one");
  const RunReport report = f.run.report();
  f.run.expect(report.dropped(DropReason::no_route) + report.dropped(DropReason::no_vc) +
                       report.dropped(DropReason::dest_dead) + f.drops_of_queues() ==
                   0,
               "and nothing was dropped");
  return f.run.report();
}

/// All hosts send to hosts of other leaves, drawn at random. One leaf dies; a while later the
/// manager's new routes are there, switch by switch.
RunReport routed_leaf_dies(const RunOptions& options) {
  RoutedFabric f(options, "kdft:3x3x2", gigabit, lossless_channels());
  f.plan("vtftr_plus");
  Random& random = f.run.random();
  const HostIndex victim_host = static_cast<HostIndex>(random.below(f.hosts()));
  const SwitchIndex victim = f.leaf_of(victim_host);
  std::vector<const Flow*> healthy;
  for (HostIndex from = 0; from < f.hosts(); ++from) {
    for (int i = 0; i < 4; ++i) {
      const HostIndex to = static_cast<HostIndex>(random.below(f.hosts()));
      if (to == from) {
        continue;
      }
      const Flow& flow = f.flows.add({.from = from,
                                      .to = to,
                                      .frames = 250,
                                      .frame_bytes = 120,
                                      .gap_ns = microseconds(5),
                                      .start = TimeNs{random.below(microseconds(5))}});
      if (f.leaf_of(from) != victim && f.leaf_of(to) != victim) {
        healthy.push_back(&flow);
      }
    }
  }
  f.start();
  const TimeNs dies{microseconds(500) + random.below(microseconds(500))};
  f.fabric().at(dies, [&] { f.kill(victim); });
  // What is sent from here on meets the detours that switches find themselves ...
  const TimeNs detoured = dies + microseconds(50);
  std::uint64_t lost_before = 0;
  const auto missing = [&] {
    std::uint64_t count = 0;
    for (const Flow* flow : healthy) {
      count += flow->sent - flow->received;
    }
    return count;
  };
  f.fabric().at(dies + milliseconds(1), [&] {
    f.plan("vtftr_plus");
    std::vector<SwitchIndex> order;
    for (SwitchIndex s = 0; s < f.fabric().topology().switch_count(); ++s) {
      if (s != victim) {
        order.push_back(s);
      }
    }
    random.shuffle(order);
    for (std::size_t i = 0; i < order.size(); ++i) {
      f.fabric().at(f.fabric().now() + i * microseconds(3),
                    [&f, s = order[i]] { f.fabric().publish(s); });
    }
  });
  f.fabric().run_until(detoured);
  lost_before = missing();
  f.run.finish();
  const RunReport report = f.run.report();
  f.run.expect(report.faults.of(Fault::switch_crash) == 1, "the fault struck");
  f.run.expect(missing() <= lost_before,
               "of healthy flows nothing is lost once their switches know");
  f.run.expect(f.drops_of_queues() == 0 && report.dropped(DropReason::no_route) == 0,
               "no queue drops anything, and nobody is without a route");
  // Every frame that did not come: dead hosts, dead links, and what switches named.
  const WireAccounting& wires = report.accounting;
  const std::uint64_t unicast_lost = f.flows.sent() - f.flows.received();
  const std::uint64_t named = report.dropped(DropReason::dest_dead) +
                              report.dropped(DropReason::no_vc) +
                              report.dropped(DropReason::port_down) + wires.of(Fate::link_down) +
                              wires.of(Fate::switch_silent) + wires.of(Fate::host_queue);
  f.run.expect(report.dropped(DropReason::dest_dead) > 0, "frames to the dead leaf are named");
  f.run.expect(unicast_lost >= named, "what is named is missing");
  f.run.expect(unicast_lost - named < 100,
               fmt::format("what no name explains was inside the dead leaf: {} frames",
                           unicast_lost - named));
  return f.run.report();
}

/// Every host sends to one partner as fast as its link lets it. Switches change between the tables
/// of two algorithms in any order, all the time.
RunReport routed_table_swap(const RunOptions& options) {
  RoutedFabric f(options, "kdft:3x3x3,2", gigabit, lossless_channels());
  f.plan("vtftr_plus");
  Random& random = f.run.random();
  std::vector<HostIndex> partners = f.run.all_hosts();
  random.shuffle(partners);
  for (HostIndex from = 0; from < f.hosts(); ++from) {
    if (partners[from] != from) {
      f.flows.add({.from = from,
                   .to = partners[from],
                   .frames = 700,
                   .frame_bytes = 120,
                   .gap_ns = 0,
                   .most_waiting = 16});
    }
  }
  f.start();
  constexpr std::uint64_t swaps = 20;
  for (std::uint64_t i = 1; i <= swaps; ++i) {
    f.fabric().at(f.fabric().now() + i * microseconds(25), [&f, &random, i] {
      f.plan(i % 2 == 0 ? "vtftr_plus" : "phase_search");
      for (SwitchIndex s = 0; s < f.fabric().topology().switch_count(); ++s) {
        f.fabric().at(f.fabric().now() + random.below(microseconds(25)),
                      [&f, s] { f.fabric().publish(s); });
      }
    });
  }
  f.run.finish();
  f.run.expect(f.epoch == swaps + 1, "the tables were swapped under load");
  const RunReport report = f.run.report();
  std::uint64_t drops = 0;
  for (const std::uint64_t of_reason : report.drops) {
    drops += of_reason;
  }
  f.run.expect(drops == 0, fmt::format("no swap drops anything, but {} were dropped", drops));
  f.run.expect(f.flows.all_received(), "and everything arrives");
  return f.run.report();
}

/// A root pauses virtual channel 0 toward one leaf, again and again, longer than the leaf's
/// watchdog allows: the leaf's hosts go round it.
RunReport routed_paused_port(const RunOptions& options) {
  FabricOptions fabric_options = lossless_channels();
  fabric_options.switches.queues.watchdog = {.detection_ns = milliseconds(1),
                                             .restoration_ns = milliseconds(2)};
  RoutedFabric f(options, "kdft:4x4x1,2", gigabit, fabric_options);
  f.plan("phase_search");
  Random& random = f.run.random();
  const auto sender = static_cast<HostIndex>(random.below(f.hosts()));
  const SwitchIndex leaf = f.leaf_of(sender);
  for (HostIndex to = 0; to < f.hosts(); ++to) {
    if (to != sender) {
      f.flows.add({.from = sender,
                   .to = to,
                   .frames = 300,
                   .frame_bytes = 120,
                   .gap_ns = microseconds(50)});
    }
  }
  // The root at one of the leaf's ports, which is behind that of its only host.
  const PortNumber stuck{static_cast<std::uint8_t>(1 + random.below(4))};
  const LinkEnd root = f.fabric().topology().neighbour(leaf, stuck);
  const TimeNs begin{milliseconds(1)};
  const TimeNs end = begin + milliseconds(8);
  for (TimeNs when = begin; when < end; when = when + microseconds(20)) {
    f.fabric().at(when, [&f, root] {
      wire::PauseFrame pause{ClassSet::of(TrafficClass{0}), {}};
      pause.quanta[0] = wire::longest_pause;
      std::array<std::byte, wire::pause_frame_bytes> bytes;
      wire::encode(pause, wire::port_mac(Nid{root.node}), bytes);
      f.fabric().count(Fault::pause_storm);
      f.fabric().send_from_agent(root.node, root.port, bytes);
    });
  }
  f.start();
  f.run.finish();
  const egress::QueueSnapshot queue = f.fabric().at_switch(leaf).queue(stuck, TrafficClass{0});
  const RunReport report = f.run.report();
  f.run.expect(report.faults.of(Fault::pause_storm) > 100 && queue.given_up_times > 0,
               "the port was given up");
  f.run.expect(f.flows.sent() - f.flows.received() == report.dropped(DropReason::paused_too_long),
               "only what waited there already was dropped");
  f.run.expect(report.dropped(DropReason::paused_too_long) < f.flows.sent() / 20,
               "all that came later went another way");
  f.run.expect(!queue.given_up, "and in the end the port is taken up again");
  return f.run.report();
}

constexpr std::array scenarios = {
    Scenario{"routed_all_pairs", "unicast by the manager's routes: every host reaches every other",
             routed_all_pairs, 4},
    Scenario{"routed_leaf_dies", "a leaf switch dies under unicast traffic, then the routes change",
             routed_leaf_dies, 4},
    Scenario{"routed_table_swap", "tables of routes change under full load: nothing is dropped",
             routed_table_swap, 4},
    Scenario{"routed_paused_port", "a port pauses a virtual channel for too long: frames go round",
             routed_paused_port, 4},
};

} // namespace

std::span<const Scenario> route_scenarios() { return scenarios; }

} // namespace tributary::fabric
