// Neighbours that pause without end: the watchdog gives up the frames waiting for them and reports
// the port and the class; all other traffic continues.
#include "tests/fabric/flows.hpp"
#include "tests/fabric/scenarios/given_up.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>
#include <set>

namespace tributary::fabric {

namespace of_pauses {

constexpr std::uint32_t gigabit = 1'000;
constexpr TrafficClass lossless{3};
constexpr std::uint64_t detection_ns = milliseconds(4);
constexpr std::uint64_t restoration_ns = milliseconds(6);

FabricOptions with_watchdog() {
  FabricOptions options;
  options.unicast_routes = true;
  options.vlan_id = 0;
  options.tag_hosts = true;
  egress::PortSettings& queues = options.switches.queues;
  queues.classes[lossless.value].limit = {4096, 4096U * 128};
  queues.watchdog = {.detection_ns = detection_ns, .restoration_ns = restoration_ns};
  options.switches.make_lossless(
      lossless, {.xoff = {8, 8 * 128}, .xon = {4, 4 * 128}, .headroom = {24, 24 * 128}});
  options.host_queues.classes[lossless.value].obeys_pause = true;
  options.host_queues.watchdog.detection_ns = 0;
  return options;
}

/// Two switches. The last host pauses the class from `begin` to `end`, again and again; the first
/// one sends to it, the second one to its neighbour, behind the same port.
struct PausingPeer {
  explicit PausingPeer(const RunOptions& options)
      : run(options, chain(2, 4).with_speed(gigabit), with_watchdog()), flows(run.fabric()),
        peer(static_cast<HostIndex>(run.fabric().topology().host_count() - 1)) {
    begin = TimeNs{milliseconds(1) + run.random().below(milliseconds(1))};
    end = begin + milliseconds(12);
    to_peer = &flows.add({.from = 0,
                          .to = peer,
                          .traffic_class = lossless,
                          .frames = 600,
                          .gap_ns = microseconds(50)});
    to_neighbour = &flows.add({.from = 1,
                               .to = peer - 1,
                               .traffic_class = lossless,
                               .frames = 600,
                               .gap_ns = microseconds(50)});
  }
  /// Every `interval_ns`, of these classes.
  void pause_repeatedly(ClassSet classes, std::uint64_t interval_ns) {
    wire::PauseFrame pause{classes, {}};
    classes.for_each([&](TrafficClass c) { pause.quanta[c.value] = wire::longest_pause; });
    for (TimeNs when = begin; when < end; when = when + interval_ns) {
      run.fabric().at(when, [this, pause] {
        run.fabric().count(Fault::pause_storm);
        run.fabric().send_pause_from_host(peer, pause);
      });
    }
    run.fabric().at(end, [this, classes] {
      run.fabric().send_pause_from_host(peer, {classes, {}});
    });
  }
  void start() {
    run.start();
    flows.start([&](HostIndex h) { return run.program_of(h); });
  }
  [[nodiscard]] egress::QueueSnapshot queue_toward_peer(TrafficClass c) {
    const LinkEnd& port = run.fabric().topology().edge_port(peer);
    return run.fabric().at_switch(port.node).queue(port.port, c);
  }
  void expect_named() {
    const LinkEnd& port = run.fabric().topology().edge_port(peer);
    run.expect(
        given_up(run.fabric()) ==
            std::set<std::array<std::uint32_t, 3>>{{port.node, port.port.value, lossless.value}},
        "the watchdog named the port and the class that were paused, and no other");
  }

  Run run;
  Flows flows;
  HostIndex peer;
  TimeNs begin;
  TimeNs end;
  const Flow* to_peer = nullptr;
  const Flow* to_neighbour = nullptr;
};

/// Pause frames of all classes without end. Reductions have a class that ignores pauses.
RunReport pause_storm(const RunOptions& options) {
  PausingPeer p(options);
  Run& run = p.run;
  Fabric& fabric = run.fabric();
  const Group& group = run.add_group({.hosts = run.all_hosts(), .pieces = 200});
  p.pause_repeatedly(ClassSet::all(), microseconds(20));
  p.start();
  run.finish();
  run.expect(fabric.fault_counts().of(Fault::pause_storm) > 500, "the fault struck");
  p.expect_named();
  const egress::QueueSnapshot paused = p.queue_toward_peer(lossless);
  run.expect(paused.pauses_received > 500, "the pauses were heard");
  run.expect(paused.dropped(core::DropReason::paused_too_long) > 0,
             "what waited was dropped in the watchdog's name");
  run.expect(p.to_peer->received + paused.dropped(core::DropReason::paused_too_long) ==
                 p.to_peer->frames,
             "and nothing else was lost");
  run.expect(p.to_peer->last_received > p.end + restoration_ns,
             "the class was taken up again when the storm was over");
  run.expect(p.to_neighbour->all_received(), "the neighbour lost nothing");
  run.expect(p.queue_toward_peer(TrafficClass{0}).pauses_ignored > 500,
             "the class of reductions does not obey");
  run.expect(group.statistics().retried == 0, "so the group did not feel it");
  return run.report();
}

/// A receiver that takes no more frames, and repeats its pauses: a sender to its neighbour waits
/// until the watchdog ends that.
RunReport stuck_receiver(const RunOptions& options) {
  PausingPeer p(options);
  Run& run = p.run;
  Fabric& fabric = run.fabric();
  p.pause_repeatedly(ClassSet::of(lossless), wire::pause_ns(wire::longest_pause, gigabit) / 2);
  p.start();
  const TimeNs found_out = p.begin + detection_ns;
  fabric.run_until(p.begin + detection_ns / 2);
  const std::uint64_t halfway = p.to_neighbour->received;
  fabric.run_until(TimeNs{found_out.value - microseconds(20)});
  run.expect(given_up(run.fabric()).empty(), "no class is given up before its time");
  run.expect(p.to_neighbour->received == halfway && halfway < p.to_neighbour->frames,
             "the flow to the neighbour stands still behind the stuck one");
  fabric.run_until(found_out + milliseconds(2));
  run.expect(p.queue_toward_peer(lossless).given_up, "the watchdog has given it up");
  run.expect(p.to_neighbour->received > halfway, "the flow to the neighbour moves again");
  run.finish();
  p.expect_named();
  run.expect(p.to_neighbour->all_received(), "the neighbour lost nothing");
  run.expect(p.to_peer->received +
                     p.queue_toward_peer(lossless).dropped(core::DropReason::paused_too_long) ==
                 p.to_peer->frames,
             "what the stuck one did not get was dropped in the watchdog's name");
  run.expect(!p.queue_toward_peer(lossless).given_up, "and in the end it is taken up again");
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"pause_storm", "a peer sends pause frames without end", pause_storm},
    Scenario{"stuck_receiver", "a receiver takes nothing: the watchdog names port and class",
             stuck_receiver},
};

} // namespace of_pauses

std::span<const Scenario> pause_scenarios() { return of_pauses::scenarios; }

} // namespace tributary::fabric
