// Parts of a switch that cannot keep up: links that come and go, rings between workers that are too
// short, workers that are late.
#include "tests/fabric/flows.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>

namespace tributary::fabric {

namespace of_slow_parts {

constexpr std::uint32_t gigabit = 1'000;

/// A link of the group's tree goes down and up repeatedly while frames wait for it.
RunReport flapping_link(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.unicast_routes = true;
  fabric_options.switches.workers = 1 + static_cast<std::uint32_t>(options.seed % 2);
  Run run(options, two_level(4, 5).with_speed(gigabit / 10), fabric_options);
  Fabric& fabric = run.fabric();
  const auto& topology = fabric.topology();
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 60};
  setup.parameters.retry_ns = milliseconds(1);
  run.add_group(setup);
  // More than the link carries, from its switch's hosts to host 0, so that its queue is never
  // empty.
  const HostIndex first = 10;
  const SwitchIndex below = topology.edge_port(first).node;
  const LinkIndex link = topology.ports(below)[0];
  Flows flows(fabric);
  for (HostIndex h = first; h < first + 5; ++h) {
    flows.add({.from = h, .to = 0, .frames = 800, .gap_ns = microseconds(20)});
  }
  run.start();
  flows.start([&](HostIndex h) { return run.program_of(h); });
  TimeNs when = fabric.now();
  for (int i = 0; i < 20; ++i) {
    when = when + run.random().between(microseconds(100), microseconds(900));
    fabric.at(when, [&fabric, link] { fabric.set_link_up(link, false); });
    when = when + run.random().between(microseconds(1), microseconds(300));
    fabric.at(when, [&fabric, link] { fabric.set_link_up(link, true); });
  }
  run.finish();
  run.expect(fabric.fault_counts().of(Fault::link_down) == 20, "the fault struck");
  const egress::QueueSnapshot queue = fabric.at_switch(below).queue(PortNumber{0}, {});
  run.expect(queue.dropped(core::DropReason::port_down) > 0,
             "what waited when the link went down was dropped");
  run.expect(queue.frames > 1'000, "and frames went over it when it was up");
  run.expect(fabric.accounting().of(Fate::link_down) > 0, "what was on the link was lost");
  run.expect(flows.received() > flows.sent() / 8, "most of the time it was up");
  return run.report();
}

/// Frames cross between three workers over rings of a few frames, for a while.
RunReport full_handoff_rings(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.switches.workers = 3;
  fabric_options.switches.poll_delay_ns = microseconds(3);
  Run run(options, two_level(4, 6), fabric_options);
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 60, .gap_ns = 10'000};
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
  setup.parameters.retry_ns = milliseconds(1);
  const Group& group = run.add_group(setup);
  Fabric& fabric = run.fabric();
  run.start();
  const auto set_rings = [&fabric](std::size_t frames) {
    for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
      fabric.set_handoff_frames(s, frames);
    }
  };
  set_rings(2);
  fabric.at(fabric.now() + milliseconds(20), [set_rings] { set_rings(4096); });
  run.finish();
  run.expect(fabric.drops(core::DropReason::handoff_full) > 0, "the fault struck");
  run.expect(group.statistics().retried > 0, "the group lost something, and asked again");
  return run.report();
}

/// One of two workers of a switch polls only rarely.
struct SlowWorker {
  SlowWorker(const RunOptions& options, std::size_t receive_frames, std::uint64_t interval_ns)
      : run(options, two_level(2, 8), fabric_options(receive_frames)) {
    GroupSetup setup{.hosts = run.all_hosts(), .pieces = 80, .gap_ns = 2'000};
    setup.parameters.retry_ns = milliseconds(10);
    group = &run.add_group(setup);
    run.start();
    const auto worker = static_cast<std::uint32_t>(run.random().below(2));
    run.fabric().set_poll_interval(0, worker, interval_ns);
    run.fabric().set_poll_interval(1, worker, interval_ns);
  }
  static FabricOptions fabric_options(std::size_t receive_frames) {
    FabricOptions options;
    options.switches.workers = 2;
    options.switches.receive_frames = receive_frames;
    return options;
  }
  Run run;
  Group* group = nullptr;
};

RunReport slow_worker(const RunOptions& options) {
  constexpr std::uint64_t interval_ns = microseconds(200);
  SlowWorker s(options, 4096, interval_ns);
  s.run.finish();
  s.run.expect(s.group->longest_ns() >= interval_ns, "the fault struck: results waited for it");
  s.run.expect(s.group->statistics().full == 80 && s.group->statistics().retried == 0,
               "nothing was lost, and nothing asked for twice");
  return s.run.report();
}

RunReport slow_worker_misses_frames(const RunOptions& options) {
  SlowWorker s(options, 2, microseconds(200));
  s.run.finish();
  s.run.expect(s.run.fabric().accounting().of(Fate::missed) > 0,
               "the fault struck: ports had no room for what came");
  s.run.expect(s.group->statistics().retried > 0, "the group lost something, and asked again");
  return s.run.report();
}

constexpr std::array scenarios = {
    Scenario{"flapping_link", "a link with a full queue goes down and comes back twenty times",
             flapping_link},
    Scenario{"full_handoff_rings", "rings between workers are full: handoff_full",
             full_handoff_rings},
    Scenario{"slow_worker", "a worker polls every 200 us: late, and nothing is lost", slow_worker},
    Scenario{"slow_worker_misses_frames", "the same, with ports that hold two frames",
             slow_worker_misses_frames},
};

} // namespace of_slow_parts

std::span<const Scenario> slow_part_scenarios() { return of_slow_parts::scenarios; }

} // namespace tributary::fabric
