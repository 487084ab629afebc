// Unicast frames by the manager's routes without faults: all pairs, other tables in the middle of
// full load, a port that pauses without end.
#include "tests/fabric/scenarios/given_up.hpp"
#include "tests/fabric/scenarios/routed_fabric.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <fmt/format.h>

#include <array>
#include <set>
#include <vector>

namespace tributary::fabric {

namespace of_routes {

using core::DropReason;

RunReport routed_all_pairs(const RunOptions& options) {
  RoutedFabric f(options, "kdft:4x3x2", lossless_channels());
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

/// Every host sends to one partner as fast as its link lets it. Switches change between the tables
/// of two algorithms in any order, all the time.
RunReport routed_table_swap(const RunOptions& options) {
  RoutedFabric f(options, "kdft:3x3x3,2", lossless_channels());
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
    f.fabric().at(f.fabric().now() + i * microseconds(25), [&f, i] {
      f.plan(i % 2 == 0 ? "vtftr_plus" : "phase_search");
      f.publish_in_any_order(microseconds(1));
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
/// watchdog allows: the leaf's hosts detour around it.
RunReport routed_paused_port(const RunOptions& options) {
  FabricOptions fabric_options = lossless_channels();
  fabric_options.switches.queues.watchdog = {.detection_ns = milliseconds(1),
                                             .restoration_ns = milliseconds(2)};
  RoutedFabric f(options, "kdft:4x4x1,2", fabric_options);
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
  f.run.expect(report.faults.of(Fault::pause_storm) > 100, "the fault struck");
  f.run.expect(given_up(f.fabric()) ==
                   std::set<std::array<std::uint32_t, 3>>{{leaf, stuck.value, 0}},
               "the watchdog names the port and the class that were paused, and no other");
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
    Scenario{"routed_table_swap", "tables of routes change under full load: nothing is dropped",
             routed_table_swap, 4},
    Scenario{"routed_paused_port", "a port pauses a virtual channel for too long: frames go round",
             routed_paused_port, 4},
};

} // namespace of_routes

std::span<const Scenario> route_scenarios() { return of_routes::scenarios; }

} // namespace tributary::fabric
