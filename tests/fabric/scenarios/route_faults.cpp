// Unicast frames by the manager's routes while switches and links break: what switches do
// immediately, what the next tables do, and that every lost frame is accounted for.
#include "tests/fabric/scenarios/given_up.hpp"
#include "tests/fabric/scenarios/routed_fabric.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace tributary::fabric {

namespace of_route_faults {

/// To hosts drawn at random, at a rate that nearly fills the links.
void add_random_flows(RoutedFabric& f, int of_each_host, std::uint64_t frames) {
  for (HostIndex from = 0; from < f.hosts(); ++from) {
    for (int i = 0; i < of_each_host; ++i) {
      const auto to = static_cast<HostIndex>(f.random().below(f.hosts()));
      if (to != from) {
        f.flows.add({.from = from,
                     .to = to,
                     .frames = frames,
                     .frame_bytes = 120,
                     .gap_ns = microseconds(1) * static_cast<std::uint64_t>(of_each_host),
                     .start = TimeNs{f.random().below(microseconds(5))}});
      }
    }
  }
}

bool lost_only_by(const Flow& flow, std::initializer_list<std::string_view> allowed) {
  return std::ranges::all_of(flow.lost, [&](const auto& lost) {
    return std::ranges::find(allowed, lost.first) != allowed.end();
  });
}

/// A flow between healthy hosts: it lost frames on the way to, in, or out of the dead element until
/// its switches detected the fault, and none later.
void expect_detoured(RoutedFabric& f, const Flow& flow, TimeNs known) {
  f.run.expect(lost_only_by(flow, {"crash", "link_down", "port_down"}),
               "of a healthy flow nothing is lost but by what died");
  f.run.expect(flow.last_lost <= known + frame_time_ns,
               fmt::format("a healthy flow loses nothing once its switches know, but did {} ns on",
                           flow.last_lost.value - std::min(known, flow.last_lost).value));
}

/// One leaf dies; a while later the manager's new routes are installed, switch by switch.
RunReport routed_leaf_dies(const RunOptions& options) {
  RoutedFabric f(options, "kdft:3x3x2", lossless_channels());
  f.plan("vtftr_plus");
  const auto victim = f.leaf_of(static_cast<HostIndex>(f.random().below(f.hosts())));
  add_random_flows(f, 4, 250);
  const TimeNs dies{microseconds(300) + f.random().below(microseconds(300))};
  f.fabric().at(dies, [&] { f.kill(victim); });
  f.fabric().at(dies + microseconds(400), [&] {
    f.plan("vtftr_plus");
    f.publish_in_any_order(microseconds(3));
  });
  f.start();
  f.run.finish();
  f.run.expect(f.run.report().faults.of(Fault::switch_crash) == 1, "the fault struck");
  f.flows.expect_explained();
  f.flows.for_each([&](const Flow& flow) {
    const bool to_dead = f.leaf_of(flow.to) == victim;
    if (f.leaf_of(flow.from) != victim && !to_dead) {
      expect_detoured(f, flow, f.known(dies));
    } else if (f.leaf_of(flow.from) != victim) {
      f.run.expect(lost_only_by(flow, {"crash", "link_down", "port_down", "dest_dead", "no_vc"}),
                   "a frame to the dead leaf has a name that says so");
    }
  });
  f.run.expect(f.flows.lost("dest_dead") > 0, "frames to the dead leaf were named");
  return f.run.report();
}

/// A link between a leaf and a root goes down. The leaf, and frames that reach the root, take
/// another path immediately; only for that leaf itself the root has none, until the manager's new
/// routes lead over the other plane.
RunReport routed_link_dies(const RunOptions& options) {
  RoutedFabric f(options, "kdft:3x3x2,2", lossless_channels());
  f.plan("phase_search");
  add_random_flows(f, 4, 300);
  const std::vector<LinkIndex> trunks = f.trunks();
  const auto victim = static_cast<std::uint32_t>(f.random().below(trunks.size()));
  const Link& link = f.fabric().topology().links()[trunks[victim]];
  const SwitchIndex leaf = std::min(link.ends[0].node, link.ends[1].node); // roots are numbered
                                                                           // last
  const TimeNs dies{microseconds(100) + f.random().below(microseconds(100))};
  const TimeNs planned = dies + microseconds(300);
  constexpr std::uint64_t gap_ns = microseconds(2);
  f.fabric().at(dies, [&] {
    f.fabric().set_link_up(trunks[victim], false);
    f.graph.set_up(topology::LinkId{victim}, false);
  });
  f.fabric().at(planned, [&] {
    f.plan("phase_search");
    f.publish_in_any_order(gap_ns);
  });
  std::uint64_t carried_before = 0;
  const auto carried = [&] {
    return f.fabric().carried(trunks[victim], 0) + f.fabric().carried(trunks[victim], 1);
  };
  f.fabric().at(f.known(dies) + frame_time_ns, [&] { carried_before = carried(); });
  f.start();
  f.run.finish();
  f.run.expect(f.run.report().faults.of(Fault::link_down) == 1, "the fault struck");
  f.run.expect(carried() == carried_before, "one poll later nothing is sent into it");
  f.flows.expect_explained();
  const TimeNs restored = planned + f.switches() * gap_ns;
  f.flows.for_each([&](const Flow& flow) {
    if (f.leaf_of(flow.to) != leaf || f.leaf_of(flow.from) == leaf) {
      expect_detoured(f, flow, f.known(dies));
      return;
    }
    f.run.expect(lost_only_by(flow, {"link_down", "port_down", "dest_dead"}),
                 "a frame to a leaf whose link died has a name that says so");
    // Frames that old routes put into a queue toward that root are still lost there.
    f.run.expect(flow.last_lost <= restored + 100 * frame_time_ns, "and new routes bring it there");
  });
  return f.run.report();
}

/// Every host sends as fast as its link lets it, to hosts drawn at random, while switches die and
/// recover and links go up and down, and the manager follows: pauses everywhere, but no cycle.
RunReport routed_storm(const RunOptions& options) {
  constexpr std::array models{"kdft:3x3x2", "kdft:4x3x2", "kdft:2x2x3x1", "kdft:3x3x2,2"};
  const auto model = models[Random(options.seed).fork(0x73).below(models.size())];
  const bool three_dimensions = model == models[2];
  const std::uint8_t vcs = three_dimensions ? 3 : 2;
  FabricOptions fabric_options = lossless_channels(vcs, 4);
  fabric_options.switches.queues.watchdog = {.detection_ns = milliseconds(2),
                                             .restoration_ns = milliseconds(2)};
  RoutedFabric f(options, model, fabric_options);
  Random& random = f.random();
  f.plan("phase_search", vcs);
  for (HostIndex from = 0; from < f.hosts(); ++from) {
    for (int i = 0; i < 4; ++i) {
      const auto to = static_cast<HostIndex>(random.below(f.hosts()));
      if (to != from) {
        f.flows.add({.from = from,
                     .to = to,
                     .frames = 100 + random.below(200),
                     .frame_bytes = static_cast<std::uint32_t>(60 + random.below(61)),
                     .gap_ns = 0,
                     .most_waiting = 8});
      }
    }
  }
  const auto replan = [&] {
    f.plan("phase_search", vcs);
    f.publish_in_any_order(microseconds(1));
  };
  const std::vector<LinkIndex> trunks = f.trunks();
  const auto some_time = [&] { return TimeNs{microseconds(50) + random.below(microseconds(600))}; };
  for (std::uint64_t i = random.between(1, 4); i > 0; --i) {
    const LinkIndex link = trunks[random.below(trunks.size())];
    const TimeNs down = some_time();
    f.fabric().at(down, [&f, link] { f.fabric().set_link_up(link, false); });
    f.fabric().at(down + microseconds(random.between(20, 400)),
                  [&f, link] { f.fabric().set_link_up(link, true); });
  }
  const bool crash = random.chance(0.7);
  const auto victim = static_cast<SwitchIndex>(random.below(f.switches()));
  if (crash) {
    const TimeNs dies = some_time();
    const TimeNs back = dies + microseconds(random.between(200, 1'000));
    f.fabric().at(dies, [&f, victim] { f.kill(victim); });
    f.fabric().at(dies + microseconds(random.between(20, 100)), replan);
    f.fabric().at(back, [&f, victim] { f.bring_back(victim); });
    f.fabric().at(back + microseconds(random.between(20, 100)), replan);
  }
  f.start();
  f.run.finish();
  f.run.expect(f.run.report().faults.of(Fault::link_down) > 0, "faults struck");
  f.run.expect(given_up(f.fabric()).empty(), "nothing waits so long that the watchdog says so");
  f.run.expect(f.drops_of_queues() == 0, "no queue drops anything");
  f.run.expect(f.flows.all_sent(), "every host could send all it had");
  f.flows.expect_explained();
  return f.run.report();
}

constexpr std::array scenarios = {
    Scenario{"routed_leaf_dies", "a leaf switch dies under unicast traffic, then the routes change",
             routed_leaf_dies, 4},
    Scenario{"routed_link_dies", "a link dies under unicast traffic: switches detour on the spot",
             routed_link_dies, 4},
    Scenario{"routed_storm", "full load, pauses everywhere, switches and links break: no deadlock",
             routed_storm, 8},
};

} // namespace of_route_faults

std::span<const Scenario> route_fault_scenarios() { return of_route_faults::scenarios; }

} // namespace tributary::fabric
