// The campaign: each seed has its own network with all faults mixed.
//
// At least five switches and sixteen members per group; one to three groups, each in a class of its
// own choice, some of them lossless; one to three workers a switch; engines of one to eight
// descriptors; queues of eight to 64 frames; unicast by static routes, or by those of the control
// plane, in virtual channels. During the faults, links lose, duplicate, delay, reorder and damage
// frames, links and switches fail, links, workers and hand-off rings are too slow or too short,
// many send to one, hosts pause without end, tables change, members are late or stopped, or
// contribute with a wrong operator, and strangers send what they should not. Then the faults stop,
// and everything must complete.
#include "tests/fabric/flows.hpp"
#include "tests/fabric/scenarios/routed_fabric.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>
#include <string>

namespace tributary::fabric {

namespace of_mixed {

constexpr std::uint64_t pieces = 16;

class Mixed {
public:
  explicit Mixed(const RunOptions& options)
      : routed_(Random(options.seed).fork(6).chance(0.4)), random_(Random(options.seed).fork(5)),
        run_(options, network(), fabric_options()), flows_(run_.fabric()) {}

  RunReport go() {
    add_groups();
    run_.fabric().set_faults(weather());
    aim();
    add_flows();
    add_routes();
    run_.start();
    begin_ = run_.fabric().now();
    flows_.start([this](HostIndex h) { return run_.program_of(h); });
    schedule_failures();
    schedule_slowness();
    schedule_pauses();
    schedule_table_changes();
    schedule_strangers();
    schedule_replays();
    run_.fabric().run_until(begin_ + fault_period_ns_);
    run_.finish();
    if (few_descriptors_) {
      run_.fabric().count(Fault::few_descriptors,
                          run_.fabric().engines(&core::EngineCounters::arm_failures));
    }
    run_.expect(run_.report().largest_group >= 17, "sixteen leaves and a root");
    return run_.report();
  }

private:
  Topology network() {
    const auto switches = static_cast<std::uint32_t>(random_.between(5, 12));
    const auto hosts = static_cast<std::uint32_t>(random_.between(20, 48));
    return random_.chance(0.2) ? two_level(4, hosts / 4)
                               : random_network(switches, hosts, switches / 2, random_);
  }

  FabricOptions fabric_options() {
    FabricOptions options;
    options.switches.workers = 1 + static_cast<std::uint32_t>(random_.below(3));
    options.switches.poll_delay_ns = random_.between(50, 2'000);
    options.switches.no_buffer = random_.chance(0.3) ? 0.5 : 0;
    options.switches.settings.drop_foreign = random_.chance(0.3);
    few_descriptors_ = random_.chance(0.3);
    if (few_descriptors_) {
      options.switches.settings.descriptors_per_engine =
          static_cast<std::uint32_t>(random_.between(1, 4));
    }
    if (random_.chance(0.5)) {
      options.vlan_id = static_cast<std::uint16_t>(random_.below(wire::max_vlan_id + 1));
      options.tag_hosts = random_.chance(0.5);
    }
    add_queues(options);
    return options;
  }

  void add_queues(FabricOptions& options) {
    options.unicast_routes = !routed_;
    options.device_frames = random_.between(1, 4);
    egress::PortSettings& queues = options.switches.queues;
    queues.watchdog = {.detection_ns = milliseconds(random_.between(2, 50)),
                       .restoration_ns = milliseconds(random_.between(2, 50))};
    const bool shallow = random_.chance(0.5);
    ClassSet::all().for_each([&](TrafficClass c) {
      egress::ClassSettings& of = queues.classes[c.value];
      const auto most = static_cast<std::uint32_t>(shallow ? random_.between(8, 64) : 512);
      of.limit = {most, most * static_cast<std::uint32_t>(random_.between(100, 200))};
      of.service = random_.chance(0.3) ? egress::Service::strict : egress::Service::weighted;
      of.weight = static_cast<std::uint16_t>(random_.between(1, 8));
      of.obeys_pause = random_.chance(0.3);
      options.host_queues.classes[c.value].obeys_pause = random_.chance(0.8);
      if (random_.chance(0.3)) {
        const auto xoff = static_cast<std::uint32_t>(random_.between(2, 16));
        const auto headroom = static_cast<std::uint32_t>(random_.between(0, 32));
        options.switches.make_lossless(c, {.xoff = {xoff, xoff * 150},
                                           .xon = {xoff / 2, xoff * 75},
                                           .headroom = {headroom, headroom * 150}});
      }
    });
  }

  /// Each kind of chance fault is on in about half of the runs.
  LinkFaults weather() {
    const auto sometimes = [&](double most) {
      return random_.chance(0.5) ? most * static_cast<double>(random_.below(1'000)) / 1e3 : 0.0;
    };
    return {.loss = sometimes(0.05),
            .duplicate = sometimes(0.04),
            .reorder = sometimes(0.08),
            .wire_damage = sometimes(0.02),
            .header_damage = sometimes(0.02),
            .jitter_ns = random_.chance(0.3) ? random_.below(microseconds(100)) : 0,
            .hold_ns = random_.between(microseconds(2), microseconds(500))};
  }

  void add_groups() {
    const std::uint64_t count = random_.between(1, 3);
    for (std::uint64_t i = 0; i < count; ++i) {
      GroupSetup setup{.vni = Vni{static_cast<std::uint16_t>(0x400 + i)},
                       .hosts = run_.choose_hosts(17 + random_.below(16)),
                       .pieces = pieces,
                       .gap_ns = random_.between(1'000, 50'000)};
      setup.root_rank = static_cast<std::uint32_t>(random_.below(setup.hosts.size()));
      setup.traffic_class = some_class();
      setup.parameters.retry_ns = milliseconds(random_.between(1, 32));
      setup.parameters.armed = !random_.chance(0.05);
      setup.parameters.first_sequence = SequenceNumber{static_cast<std::uint32_t>(
          random_.chance(0.5) ? random_.between(1'010, 1'021) : random_.below(1'022))};
      Group& group = run_.add_group(setup);
      if (random_.chance(0.3)) {
        group.misbehave(some_rank(group), random_.below(pieces),
                        {.not_before = TimeNs{random_.below(milliseconds(80))}});
      }
      if (random_.chance(0.05)) {
        group.misbehave(some_rank(group), random_.below(pieces),
                        {.not_before = TimeNs{seconds(1) + random_.below(seconds(3))}});
      }
      if (random_.chance(0.2)) {
        group.misbehave(some_rank(group), random_.below(pieces),
                        {.opcode = random_.pick(std::span<const wire::Opcode>(wire::all_opcodes))});
      }
    }
  }

  /// Only a tag carries one.
  TrafficClass some_class() {
    return TrafficClass{static_cast<std::uint8_t>(
        run_.fabric().options().tag_hosts ? random_.below(traffic_classes) : 0)};
  }

  /// For any network. Switches have no detours: no manager recomputes routes.
  void add_routes() {
    if (!routed_) {
      return;
    }
    flows_.allow_other_classes();
    Fabric& fabric = run_.fabric();
    const std::uint8_t vcs = fabric.options().vlan_id ? 2 : 1;
    const std::string refused =
        set_planned_routes(fabric, fabric.topology().graph(), "general", vcs, 1);
    run_.expect(refused.empty(), "there are routes: " + refused);
  }

  /// Many hosts send to one, together nearly 200 Mb/s, over a link that has at most 100.
  void add_flows() {
    flows_.allow_disorder();
    if (!random_.chance(0.3)) {
      return;
    }
    const auto hosts = run_.choose_hosts(random_.between(4, 16));
    const TrafficClass c = some_class();
    incast_onto_ = hosts[0];
    for (std::size_t i = 1; i < hosts.size(); ++i) {
      run_.fabric().count(Fault::incast);
      flows_.add({.from = hosts[i],
                  .to = hosts[0],
                  .traffic_class = c,
                  .frames = random_.between(20, 100),
                  .frame_bytes = static_cast<std::uint32_t>(random_.between(60, 120)),
                  .gap_ns = microseconds(5) * hosts.size(),
                  .start = TimeNs{random_.below(milliseconds(20))}});
    }
  }

  std::uint32_t some_rank(const Group& group) {
    return static_cast<std::uint32_t>(random_.below(group.size()));
  }
  const Group& some_group() { return *run_.groups()[random_.below(run_.groups().size())]; }
  TimeNs some_time() { return begin_ + random_.below(fault_period_ns_ / 2); }
  /// The latest end of a failure that begins then: all end with the fault period.
  TimeNs until(TimeNs from) {
    const std::uint64_t left = (begin_ + fault_period_ns_).value - from.value;
    return from + random_.between(microseconds(1), left - 1);
  }

  void schedule_failures() {
    Fabric& fabric = run_.fabric();
    const auto& topology = fabric.topology();
    if (random_.chance(0.3)) {
      const auto link = static_cast<LinkIndex>(random_.below(topology.links().size()));
      const TimeNs from = some_time();
      fabric.at(from, [&fabric, link] { fabric.set_link_up(link, false); });
      fabric.at(until(from), [&fabric, link] { fabric.set_link_up(link, true); });
    }
    if (random_.chance(0.25)) {
      const auto s = static_cast<SwitchIndex>(random_.below(topology.switch_count()));
      const TimeNs from = some_time();
      if (random_.chance(0.5)) {
        fabric.at(from, [&fabric, s] { fabric.crash(s); });
        fabric.at(until(from), [&fabric, s] { fabric.restart(s); });
      } else {
        const std::uint64_t silence = elapsed_ns(until(from), from);
        fabric.at(from, [&fabric, s, silence] { fabric.silence(s, silence); });
      }
    }
    if (random_.chance(0.2)) {
      const Group& group = some_group();
      const HostIndex host = group.host(some_rank(group));
      const TimeNs from = some_time();
      fabric.at(from, [&fabric, host] {
        fabric.count(Fault::dead_member);
        fabric.set_host_alive(host, false);
      });
      fabric.at(until(from), [&fabric, host] { fabric.set_host_alive(host, true); });
    }
  }

  /// Slow links, slow workers, and rings between workers that hold little.
  void schedule_slowness() {
    Fabric& fabric = run_.fabric();
    const auto& topology = fabric.topology();
    const std::uint64_t slow_links = random_.chance(0.5) ? random_.between(1, 8) : 0;
    const auto slow_down = [&](LinkIndex link, std::uint32_t mbps) {
      const TimeNs from = begin_ + random_.below(milliseconds(10));
      fabric.at(from, [&fabric, link, mbps] { fabric.set_link_speed(link, mbps); });
      fabric.at(until(from), [&fabric, link] { fabric.set_link_speed(link, 0); });
    };
    for (std::uint64_t i = 0; i < slow_links; ++i) {
      slow_down(static_cast<LinkIndex>(random_.below(topology.links().size())),
                static_cast<std::uint32_t>(random_.between(20, 500)));
    }
    if (incast_onto_) {
      slow_down(topology.link_of(*incast_onto_),
                static_cast<std::uint32_t>(random_.between(5, 100)));
    }
    const auto s = static_cast<SwitchIndex>(random_.below(topology.switch_count()));
    const TimeNs from = begin_ + random_.below(milliseconds(10));
    if (random_.chance(0.2)) {
      const auto worker =
          static_cast<std::uint32_t>(random_.below(fabric.at_switch(s).worker_count()));
      const std::uint64_t interval_ns = microseconds(random_.between(5, 500));
      fabric.at(from, [&fabric, s, worker, interval_ns] {
        fabric.set_poll_interval(s, worker, interval_ns);
      });
      fabric.at(until(from), [&fabric, s, worker] { fabric.set_poll_interval(s, worker, 0); });
    }
    if (random_.chance(0.2) && fabric.at_switch(s).worker_count() > 1) {
      const std::uint64_t frames = random_.between(1, 8);
      fabric.at(from, [&fabric, s, frames] { fabric.set_handoff_frames(s, frames); });
      fabric.at(until(from), [&fabric, s] { fabric.set_handoff_frames(s, 4096); });
    }
  }

  /// A host pauses some classes again and again.
  void schedule_pauses() {
    if (!random_.chance(0.2)) {
      return;
    }
    Fabric& fabric = run_.fabric();
    const auto host = static_cast<HostIndex>(random_.below(fabric.topology().host_count()));
    wire::PauseFrame pause{ClassSet(static_cast<std::uint8_t>(random_.between(1, 255))), {}};
    pause.classes.for_each([&](TrafficClass c) {
      pause.quanta[c.value] = static_cast<std::uint16_t>(random_.below(0x10000));
    });
    const TimeNs from = some_time();
    const TimeNs end = until(from);
    const std::uint64_t interval_ns = microseconds(random_.between(100, 3'000));
    for (TimeNs when = from; when < end; when = when + interval_ns) {
      fabric.at(when, [&fabric, host, pause] {
        fabric.count(Fault::pause_storm);
        fabric.send_pause_from_host(host, pause);
      });
    }
  }

  void schedule_table_changes() {
    if (!random_.chance(0.3)) {
      return;
    }
    Fabric& fabric = run_.fabric();
    const Group& group = some_group();
    const TreeNumber tree = group.setup().tree;
    const TimeNs when = some_time();
    if (random_.chance(0.5)) {
      const auto& parts = run_.tree_of(group);
      const TreePart part = parts[random_.below(parts.size())];
      fabric.at(when, [&fabric, tree, part] {
        fabric.count(Fault::table_change);
        fabric.remove(tree, part.at);
        fabric.publish(part.at);
      });
      fabric.at(until(when), [&fabric, tree, part] {
        fabric.set_part(tree, part);
        fabric.publish(part.at);
      });
      return;
    }
    fabric.at(when, [this, &fabric, &group, tree] {
      fabric.count(Fault::table_change);
      fabric.remove(tree);
      fabric.install(tree, multicast_tree(fabric.topology(), group.host(group.setup().root_rank),
                                          group.setup().hosts, random_));
      for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
        fabric.at(fabric.now() + random_.below(microseconds(50)),
                  [&fabric, s] { fabric.publish(s); });
      }
    });
  }

  /// A frame like a contribution of this group, from one of its hosts, with one error in it.
  void schedule_strangers() {
    Fabric& fabric = run_.fabric();
    const std::uint64_t frames = random_.chance(0.4) ? random_.between(1, 30) : 0;
    for (std::uint64_t i = 0; i < frames; ++i) {
      const Group& group = some_group();
      const HostIndex host = group.host(some_rank(group));
      wire::ReductionFrame f;
      f.source_nid = Topology::nid(host);
      f.vni = group.setup().vni;
      f.tree = group.setup().tree;
      f.cookie = group.setup().cookie;
      f.reduction = ReductionId{static_cast<std::uint8_t>(random_.below(8))};
      f.word.seqno = f.word.resno = SequenceNumber{group.setup().parameters.first_sequence.value() +
                                                   static_cast<std::uint32_t>(random_.below(4))};
      f.word.count = 1;
      Fault fault = Fault::foreign_cookie;
      switch (random_.below(3)) {
      case 0: f.cookie.value ^= static_cast<std::uint32_t>(random_.between(1, 0xFFFFFFFF)); break;
      case 1:
        f.vni.value = 0x7FF;
        fault = Fault::foreign_vni;
        break;
      default:
        f.source_nid = Nid{1};
        fault = Fault::spoofed_source;
        break;
      }
      fabric.at(some_time(), [&fabric, fault, host, f] {
        std::array<std::byte, wire::reduction_frame_bytes> bytes;
        wire::encode(f, bytes);
        fabric.count(fault);
        fabric.send_from_host(host, bytes);
      });
    }
  }

  /// Arms or results are lost one by one.
  void aim() {
    if (!random_.chance(0.4)) {
      return;
    }
    const bool results = random_.chance(0.5);
    run_.fabric().aim({.fits =
                           [results](const Passage& p) {
                             return p.reduction && p.reduction->word.arm &&
                                    (p.reduction->word.count > 0) == results;
                           },
                       .skip = random_.below(200),
                       .take = random_.between(1, 6)});
  }

  /// Frames of hosts are recorded, and sent again by the same hosts at a later time.
  void schedule_replays() {
    if (!random_.chance(0.4)) {
      return;
    }
    Fabric& fabric = run_.fabric();
    fabric.observe([this](const Passage& p) {
      if (p.from.kind == LinkEnd::Kind::host && p.reduction && recorded_.size() < 500) {
        recorded_.emplace_back(p.from.node, std::vector(p.bytes.begin(), p.bytes.end()));
      }
    });
    for (std::uint64_t i = random_.between(1, 40); i > 0; --i) {
      fabric.at(some_time(), [this, &fabric] {
        if (!recorded_.empty()) {
          const auto& [host, bytes] = recorded_[random_.below(recorded_.size())];
          fabric.count(Fault::stale_replay);
          fabric.send_from_host(host, bytes);
        }
      });
    }
  }

  static constexpr std::uint64_t fault_period_ns_ = milliseconds(200);
  bool few_descriptors_ = false;
  const bool routed_;
  Random random_;
  Run run_;
  Flows flows_;
  std::optional<HostIndex> incast_onto_;
  TimeNs begin_;
  std::vector<std::pair<HostIndex, std::vector<std::byte>>> recorded_;
};

RunReport mixed(const RunOptions& options) { return Mixed(options).go(); }

constexpr std::array scenarios = {
    Scenario{"mixed", "all faults mixed, every seed its own network", mixed, 1'000},
};

} // namespace of_mixed

std::span<const Scenario> mixed_scenarios() { return of_mixed::scenarios; }

std::span<const Fault> mixed_faults() {
  static constexpr std::array faults = {
      Fault::loss,         Fault::duplicate,       Fault::reorder,
      Fault::jitter,       Fault::wire_corruption, Fault::header_corruption,
      Fault::link_down,    Fault::switch_crash,    Fault::switch_silence,
      Fault::table_change, Fault::no_buffer,       Fault::late_member,
      Fault::dead_member,  Fault::wrong_opcode,    Fault::foreign_cookie,
      Fault::foreign_vni,  Fault::spoofed_source,  Fault::few_descriptors,
      Fault::aimed_loss,   Fault::stale_replay,    Fault::slow_link,
      Fault::slow_worker,  Fault::full_ring,       Fault::incast,
      Fault::pause_storm};
  return faults;
}

std::span<const core::DropReason> mixed_drops() {
  using core::DropReason;
  static constexpr std::array drops = {DropReason::queue_full, DropReason::headroom_full,
                                       DropReason::paused_too_long, DropReason::port_down,
                                       DropReason::handoff_full};
  return drops;
}

} // namespace tributary::fabric
