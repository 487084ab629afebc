// Many senders to one port: drops of a lossy class are named and recovered; a lossless one loses
// nothing, and makes the senders behind it wait.
#include "tests/fabric/flows.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>

namespace tributary::fabric {

namespace of_incast {

constexpr std::uint32_t gigabit = 1'000;
constexpr TrafficClass lossless{3};
constexpr TrafficClass other{5};
constexpr std::uint32_t frame_bytes = 94;
constexpr std::uint64_t frame_ns = 8 * (frame_bytes + 24 + 4); ///< with a tag, at 1 Gb/s

/// In frames of that length; bytes do not bind.
egress::Depth frames(std::uint32_t n) { return {n, n * 2 * frame_bytes}; }

FabricOptions with_queues_of(std::uint32_t n) {
  FabricOptions options;
  options.unicast_routes = true;
  for (auto& c : options.switches.queues.classes) {
    c.limit = frames(n);
  }
  return options;
}

/// The class is lossless on all links, hosts' among them.
void make_lossless(FabricOptions& options, TrafficClass c, std::uint32_t xoff,
                   std::uint32_t headroom) {
  options.vlan_id = 7;
  options.tag_hosts = true;
  options.switches.queues.classes[c.value].limit = frames(64 * (xoff + headroom));
  options.switches.make_lossless(
      c, {.xoff = frames(xoff), .xon = frames(xoff / 2), .headroom = frames(headroom)});
  options.host_queues.classes[c.value].obeys_pause = true;
}

/// `senders` hosts of four leaf switches, or more if they need more, send to host 0, as fast as
/// their links can.
struct Incast {
  Incast(const RunOptions& options, const FabricOptions& fabric_options, std::uint32_t senders,
         TrafficClass c, std::uint64_t frames_each)
      : run(options, network(senders).with_speed(gigabit), fabric_options), flows(run.fabric()) {
    auto hosts = run.all_hosts();
    run.random().shuffle(hosts);
    std::erase(hosts, HostIndex{0});
    hosts.resize(senders);
    for (const HostIndex from : hosts) {
      flows.add({.from = from,
                 .to = 0,
                 .traffic_class = c,
                 .frames = frames_each,
                 .frame_bytes = frame_bytes,
                 .gap_ns = frame_ns,
                 .start = TimeNs{microseconds(20) + run.random().below(microseconds(2))}});
    }
  }
  static Topology network(std::uint32_t senders) {
    const std::uint32_t leaves = std::max(4U, (senders + 49) / 50);
    return two_level(leaves, 1 + (senders + leaves - 1) / leaves);
  }
  void start() {
    run.start();
    flows.start([&](HostIndex h) { return run.program_of(h); });
  }
  [[nodiscard]] egress::QueueSnapshot bottleneck(TrafficClass c) {
    const LinkEnd& port = run.fabric().topology().edge_port(0);
    return run.fabric().at_switch(port.node).queue(port.port, c);
  }
  [[nodiscard]] std::uint64_t in_hosts_queues_lost() {
    return run.fabric().accounting().of(Fate::host_queue);
  }

  Run run;
  Flows flows;
};

RunReport incast_lossy(const RunOptions& options) {
  Incast incast(options, with_queues_of(24), 32, TrafficClass{0}, 120);
  Run& run = incast.run;
  std::vector<HostIndex> members = {0};
  for (const HostIndex h : run.choose_hosts(20)) {
    if (h != 0 && members.size() < 17) {
      members.push_back(h);
    }
  }
  GroupSetup setup{.hosts = members, .pieces = 60, .gap_ns = 4'000};
  setup.parameters.retry_ns = milliseconds(1);
  const Group& group = run.add_group(setup);
  incast.start();
  run.fabric().count(Fault::incast);
  run.finish();
  const std::uint64_t dropped = run.fabric().drops(core::DropReason::queue_full);
  run.expect(incast.flows.all_sent(), "all senders sent all they had");
  run.expect(incast.bottleneck(TrafficClass{0}).dropped(core::DropReason::queue_full) > 0,
             "the receiver's port dropped what found no room");
  run.expect(incast.bottleneck(TrafficClass{0}).highest.frames == 24, "its queue was full");
  run.expect(incast.flows.received() + dropped + incast.in_hosts_queues_lost() >=
                 incast.flows.sent(),
             "what did not come was dropped by a queue");
  run.expect(group.statistics().retried > 0, "the group lost something, and asked again");
  return run.report();
}

RunReport lossless_incast_of(const RunOptions& options, std::uint32_t senders,
                             std::uint64_t frames_each) {
  FabricOptions fabric_options = with_queues_of(512);
  fabric_options.switches.workers = 1 + static_cast<std::uint32_t>(options.seed % 3);
  make_lossless(fabric_options, lossless, 12, 40);
  Incast incast(options, fabric_options, senders, lossless, frames_each);
  Run& run = incast.run;
  const Group& group = run.add_group({.hosts = run.all_hosts(), .pieces = 30});
  incast.start();
  run.finish();
  run.fabric().count(Fault::incast);
  run.expect(incast.flows.all_received(), "nothing was lost");
  run.expect(run.fabric().drops(core::DropReason::queue_full) +
                     run.fabric().drops(core::DropReason::headroom_full) +
                     incast.in_hosts_queues_lost() ==
                 0,
             "no queue dropped anything");
  std::uint64_t paused_hosts = 0;
  for (const HostIndex h : run.all_hosts()) {
    paused_hosts += run.fabric().host_queue(h, lossless).paused_ns > 0 ? 1 : 0;
  }
  run.expect(paused_hosts >= 16, "senders were paused");
  run.expect(group.statistics().retried == 0, "the group in its own class did not feel it");
  return run.report();
}

RunReport incast_lossless(const RunOptions& options) { return lossless_incast_of(options, 32, 60); }

RunReport incast_of_a_thousand(const RunOptions& options) {
  return lossless_incast_of(options, 1'000, 40);
}

struct Times {
  std::uint64_t behind_ns = 0; ///< the flow behind the paused port, in the paused class
  std::uint64_t other_ns = 0;  ///< the flow in another class
};

/// Two switches. Hosts of the first one send to hosts of the second: to a slow one, to a fast one
/// in the same class, and to a fast one in another class.
Times head_of_line(Run& run, bool congested) {
  Fabric& fabric = run.fabric();
  Flows flows(fabric);
  const auto& topology = fabric.topology();
  std::vector<HostIndex> near;
  std::vector<HostIndex> far;
  for (const HostIndex h : run.all_hosts()) {
    (topology.edge_port(h).node == 0 ? near : far).push_back(h);
  }
  run.start();
  if (congested) {
    fabric.set_link_speed(topology.link_of(far[0]), gigabit / 20);
    for (std::size_t i = 2; i < near.size(); ++i) {
      flows.add({.from = near[i],
                 .to = far[0],
                 .traffic_class = lossless,
                 .frames = 100,
                 .gap_ns = frame_ns});
    }
  }
  // Each a tenth of the rate of the link between the switches.
  const Flow& behind = flows.add({.from = near[0],
                                  .to = far[1],
                                  .traffic_class = lossless,
                                  .frames = 300,
                                  .gap_ns = 10 * frame_ns});
  const Flow& beside = flows.add({.from = near[1],
                                  .to = far[2],
                                  .traffic_class = other,
                                  .frames = 300,
                                  .gap_ns = 10 * frame_ns});
  flows.start([](HostIndex) { return nullptr; });
  run.finish();
  run.expect(flows.all_received(), "nothing was lost");
  return {behind.took_ns(), beside.took_ns()};
}

RunReport head_of_line_blocking(const RunOptions& options) {
  FabricOptions fabric_options = with_queues_of(512);
  make_lossless(fabric_options, lossless, 8, 24);
  make_lossless(fabric_options, other, 8, 24);
  const Topology topology = chain(2, 8).with_speed(gigabit);
  Run alone(options, topology, fabric_options);
  const Times before = head_of_line(alone, false);
  Run run(options, topology, fabric_options);
  const Times with = head_of_line(run, true);
  run.fabric().count(Fault::incast);
  run.expect(alone.report().violations.empty(), "the run without congestion held");
  std::uint64_t pauses = 0;
  for (std::uint8_t p = 0; p < run.fabric().topology().ports(1).size(); ++p) {
    pauses += run.fabric().at_switch(1).pauses_sent(PortNumber{p}, lossless);
  }
  run.expect(pauses > 0, "the second switch paused the first");
  run.expect(with.behind_ns > 3 * before.behind_ns,
             "a flow to another port behind the same paused one is slowed");
  run.expect(with.other_ns < before.other_ns + before.other_ns / 4,
             "a flow in another class is not");
  return run.report();
}

/// One port, a strict class and two weighted ones that offer more than its rate.
RunReport service_by_class(const RunOptions& options) {
  constexpr TrafficClass urgent{6};
  constexpr TrafficClass heavy{2};
  constexpr TrafficClass light{1};
  FabricOptions fabric_options = with_queues_of(64);
  fabric_options.vlan_id = 7;
  fabric_options.tag_hosts = true;
  auto& classes = fabric_options.switches.queues.classes;
  classes[urgent.value].service = egress::Service::strict;
  classes[heavy.value].weight = 3;
  Run run(options, chain(1, 8).with_speed(gigabit), fabric_options);
  Flows flows(run.fabric());
  const auto to_first = [&](HostIndex from, TrafficClass c, std::uint64_t part_of_link) {
    return &flows.add({.from = from,
                       .to = 0,
                       .traffic_class = c,
                       .frames = 4'000 / part_of_link,
                       .gap_ns = frame_ns * part_of_link,
                       .start = TimeNs{run.random().below(microseconds(1))}});
  };
  const Flow& strict = *to_first(1, urgent, 4);
  const Flow& of_heavy = *to_first(2, heavy, 1);
  const Flow& of_light = *to_first(3, light, 1);
  run.start();
  flows.start([](HostIndex) { return nullptr; });
  const TimeNs begin = run.fabric().now();
  run.fabric().run_until(begin + milliseconds(2));
  run.fabric().count(Fault::incast);
  const std::uint64_t heavy_then = of_heavy.received;
  const std::uint64_t light_then = of_light.received;
  run.fabric().run_until(begin + milliseconds(3));
  const std::uint64_t heavy_got = of_heavy.received - heavy_then;
  const std::uint64_t light_got = of_light.received - light_then;
  run.expect(!of_heavy.all_sent() && !of_light.all_sent(), "both still wanted more than there was");
  run.expect(10 * heavy_got > 27 * light_got && 10 * heavy_got < 33 * light_got,
             "of what the strict class left, a class of weight 3 got three times that of weight 1");
  run.finish();
  run.expect(strict.all_received(), "the strict class lost nothing");
  const auto full = [&](TrafficClass c) {
    const LinkEnd& port = run.fabric().topology().edge_port(0);
    return run.fabric()
        .at_switch(port.node)
        .queue(port.port, c)
        .dropped(core::DropReason::queue_full);
  };
  run.expect(full(urgent) == 0 && full(heavy) > 0 && full(light) > full(heavy),
             "the weighted ones lost what found no room, by their own queues");
  return run.report();
}

/// A switch that pauses too late: frames in flight find no room.
RunReport headroom_too_small(const RunOptions& options) {
  FabricOptions fabric_options = with_queues_of(512);
  fabric_options.switches.poll_delay_ns = microseconds(20);
  make_lossless(fabric_options, lossless, 6, 2);
  Incast incast(options, fabric_options, 12, lossless, 80);
  Run& run = incast.run;
  incast.start();
  run.fabric().count(Fault::incast);
  run.finish();
  const std::uint64_t dropped = run.fabric().drops(core::DropReason::headroom_full);
  run.expect(dropped > 0, "what came after the headroom was used up was dropped by that name");
  run.expect(incast.flows.received() + dropped == incast.flows.sent(), "and nothing else was lost");
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"incast_lossy", "32 senders onto one port: named drops, the group recovers",
             incast_lossy},
    Scenario{"incast_lossless", "32 senders onto one port in a paused class: nothing is lost",
             incast_lossless},
    Scenario{"incast_of_a_thousand", "the same with 1,000 senders, group and all",
             incast_of_a_thousand, 1},
    Scenario{"head_of_line_blocking", "who waits behind a paused port, and who does not",
             head_of_line_blocking},
    Scenario{"service_by_class", "a strict class before two weighted ones, one port for all",
             service_by_class},
    Scenario{"headroom_too_small", "senders are paused too late: headroom_full",
             headroom_too_small},
};

} // namespace of_incast

std::span<const Scenario> incast_scenarios() { return of_incast::scenarios; }

} // namespace tributary::fabric
