// Scenarios without faults.
#include "controlplane/topology/builders.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>

namespace tributary::fabric {

namespace of_basic {

/// Sixteen hosts under four leaf switches and a root switch, as in the demo.
RunReport demo(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  Group& group = run.add_group({.hosts = run.all_hosts(), .pieces = 64});
  run.start();
  run.finish();
  run.expect_no_waste();
  const collective::Statistics s = group.statistics();
  run.expect(s.full == 64, "every reduction reached the root as one frame");
  run.expect(s.reduction_frames == 64, "one frame per reduction");
  run.expect(s.retried == 0 && s.double_counted == 0, "nothing was retried");
  return run.report();
}

/// The same with the engines disarmed: all contributions reach the root one by one.
RunReport disarmed(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 64};
  setup.parameters.armed = false;
  Group& group = run.add_group(setup);
  run.start();
  run.finish();
  run.expect_no_waste(false);
  const collective::Statistics s = group.statistics();
  run.expect(s.unreduced == 64, "every reduction reached the root unreduced");
  run.expect(s.reduction_frames == 64 * 15, "fifteen frames per reduction");
  run.expect(run.fabric().engines(&core::EngineCounters::contributions) == 0,
             "no engine touched a contribution");
  return run.report();
}

/// Fabrics as the control plane builds them: a fat tree, a torus, a dragonfly, a k-dimension fat
/// tree.
RunReport models_of_the_control_plane(const RunOptions& options) {
  constexpr std::array models = {"ft3:4", "torus:3x3x2", "dragonfly:3,2,1", "kdft:3x3x2"};
  Run run(options, Topology(topology::build_model(models[options.seed % models.size()]).graph));
  auto hosts = run.all_hosts();
  run.random().shuffle(hosts);
  const Group& group = run.add_group({.hosts = hosts, .pieces = 40});
  run.start();
  run.finish();
  run.expect_no_waste();
  run.expect(group.statistics().full == 40, "every reduction reached the root as one frame");
  return run.report();
}

RunReport deep_chain(const RunOptions& options) {
  Run run(options, chain(12, 2));
  Group& group = run.add_group({.hosts = run.all_hosts(), .root_rank = 5, .pieces = 40});
  run.start();
  run.finish();
  run.expect_no_waste();
  run.expect(group.statistics().full == 40, "twelve switches in a row still send one frame");
  return run.report();
}

/// Several groups with different roots, VNIs and members share switches and hosts.
RunReport several_groups(const RunOptions& options) {
  Random random = Random(options.seed).fork(1);
  FabricOptions fabric_options;
  fabric_options.switches.workers = 1 + static_cast<std::uint32_t>(random.below(3));
  Run run(options, random_network(8, 48, 4, random), fabric_options);
  for (std::uint16_t i = 0; i < 4; ++i) {
    auto hosts = run.choose_hosts(16 + run.random().below(24));
    const auto root = static_cast<std::uint32_t>(run.random().below(hosts.size()));
    run.add_group({.vni = Vni{static_cast<std::uint16_t>(0x400 + i)},
                   .hosts = std::move(hosts),
                   .root_rank = root,
                   .pieces = 30});
  }
  run.start();
  run.finish();
  run.expect_no_waste();
  return run.report();
}

/// Two groups whose members are below the same leaf switch send through its one uplink, each with
/// all eight reductions in flight: neither takes the other's descriptors.
RunReport two_groups_over_one_uplink(const RunOptions& options) {
  Run run(options, two_level(2, 8));
  std::vector<HostIndex> below;
  for (const HostIndex h : run.all_hosts()) {
    if (h >= 8) {
      below.push_back(h);
    }
  }
  std::array<Group*, 2> groups{};
  for (HostIndex root = 0; root < groups.size(); ++root) {
    std::vector<HostIndex> hosts = below;
    hosts.insert(hosts.begin(), root);
    groups[root] = &run.add_group({.vni = Vni{static_cast<std::uint16_t>(0x400 + root)},
                                   .hosts = std::move(hosts),
                                   .pieces = 64});
  }
  run.start();
  run.finish();
  run.expect_no_waste();
  run.expect(run.fabric().engines(&core::EngineCounters::arm_failures) == 0,
             "every arm found room");
  for (const Group* group : groups) {
    run.expect(group->statistics().reduction_frames == 64, "one frame at the root per reduction");
  }
  return run.report();
}

/// Ports of each switch split over two workers, so that frames cross between them.
RunReport two_workers(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.switches.workers = 2;
  Run run(options, two_level(4, 5), fabric_options);
  Group& group = run.add_group({.hosts = run.all_hosts(), .pieces = 64});
  run.start();
  run.finish();
  run.expect_no_waste();
  run.expect(group.statistics().full == 64, "every reduction reached the root as one frame");
  return run.report();
}

/// More sequences than there are numbers, so that they wrap.
RunReport sequence_wrap(const RunOptions& options) {
  Run run(options, two_level(2, 2));
  Group& group = run.add_group({.hosts = run.all_hosts(), .pieces = 10'000, .gap_ns = 2'000});
  run.start();
  run.finish();
  run.expect_no_waste();
  run.expect(group.statistics().full == 10'000, "every reduction reached the root as one frame");
  return run.report();
}

/// The dialect of the public host library: pre-arms, no signatures, a cookie by pattern.
RunReport cxi_dialect(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 64};
  setup.parameters.dialect = collective::Dialect::cxi;
  Group& group = run.add_group(setup);
  run.start();
  run.finish();
  run.expect_no_waste();
  run.expect(group.statistics().full == 64, "every reduction reached the root as one frame");
  run.expect(group.statistics().pre_arms > 0, "leaves heard pre-arms");
  run.expect(run.fabric().engines(&core::EngineCounters::rearms) > 0, "engines were armed twice");
  return run.report();
}

RunReport thousand_switches(const RunOptions& options) {
  Random random = Random(options.seed).fork(2);
  FabricOptions fabric_options;
  // For all eight reductions of both groups, where they share a port upward.
  fabric_options.switches.settings.descriptors_per_engine = 16;
  Run run(options, random_network(1'000, 4'000, 200, random), fabric_options);
  Group& group = run.add_group({.hosts = run.all_hosts(), .pieces = 6});
  auto some = run.choose_hosts(500);
  Group& other = run.add_group({.vni = Vni{0x500}, .hosts = std::move(some), .pieces = 12});
  run.start();
  run.finish();
  run.expect_no_waste();
  run.expect(group.statistics().full == 6,
             "four thousand contributions reach the root as one frame");
  run.expect(other.statistics().full == 12, "the other group's too");
  return run.report();
}

/// A host that only counts received frames.
class Listener final : public HostProgram {
public:
  void receive(std::span<const std::byte>, TrafficClass, TimeNs, HostPort&) override { ++heard; }
  void wake(TimeNs, HostPort&) override {}
  [[nodiscard]] TimeNs next_wake() const override { return never; }
  std::uint64_t heard = 0;
};

/// A frame of the fabric header and a little more, to a host or to a tree.
std::vector<std::byte> plain_frame(Nid from, wire::FabricAddress to) {
  wire::ReductionFrame f;
  f.source_nid = from;
  std::array<std::byte, wire::reduction_frame_bytes> bytes;
  wire::encode(f, bytes);
  std::byte* portals = bytes.data() + wire::ethernet_header_bytes;
  wire::store_be<std::uint16_t>(portals + wire::portals_offset::total_length, 40);
  wire::store_be<std::uint32_t>(portals + wire::portals_offset::dfa, to.value);
  wire::write_fabric_header_checksum(portals);
  return {bytes.begin(), bytes.begin() + wire::ethernet_header_bytes + 40};
}

/// Unicast follows its routes, ordinary multicast its tree, while a group reduces.
RunReport unicast_and_multicast(const RunOptions& options) {
  Random random = Random(options.seed).fork(6);
  FabricOptions fabric_options;
  fabric_options.unicast_routes = true;
  fabric_options.switches.workers = 2;
  Run run(options, random_network(7, 30, 5, random), fabric_options);
  auto hosts = run.choose_hosts(30);
  const std::vector<HostIndex> members(hosts.begin(), hosts.begin() + 20);
  const std::vector<HostIndex> others(hosts.begin() + 20, hosts.end());
  run.add_group({.hosts = members, .pieces = 40});
  Fabric& fabric = run.fabric();
  const TreeNumber ordinary{4'321};
  auto parts = multicast_tree(fabric.topology(), others[0], others, run.random());
  for (TreePart& part : parts) {
    part.wait_count = 0;
  }
  fabric.install(ordinary, parts);
  std::vector<Listener> listeners(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    fabric.attach(others[i], listeners[i]);
  }
  run.start();
  constexpr std::uint64_t rounds = 20;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    fabric.at(fabric.now() + microseconds(5 * (i + 1)), [&] {
      const auto to_tree = wire::FabricAddress::multicast(ordinary, ReductionId{0});
      fabric.send_from_host(others[0], plain_frame(Topology::nid(others[0]), to_tree));
      // Not from the tree's parent: refused.
      fabric.send_from_host(others[1], plain_frame(Topology::nid(others[1]), to_tree));
      const auto to_host = wire::FabricAddress::unicast(Topology::nid(others[2]));
      fabric.send_from_host(others[3], plain_frame(Topology::nid(others[3]), to_host));
      const auto to_nobody = wire::FabricAddress::unicast(Nid{5});
      fabric.send_from_host(others[4], plain_frame(Topology::nid(others[4]), to_nobody));
      const Nid itself = Topology::nid(others[5]);
      fabric.send_from_host(others[5], plain_frame(itself, wire::FabricAddress::unicast(itself)));
    });
  }
  run.finish();
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::uint64_t expected = (i == 0 ? 0 : rounds) + (i == 2 ? rounds : 0);
    run.expect(listeners[i].heard == expected, "every host heard what was sent to it, once");
  }
  run.expect(fabric.drops(core::DropReason::not_from_parent) == rounds,
             "multicast from a child was refused");
  run.expect(fabric.drops(core::DropReason::no_route) == rounds, "an unknown NID has no route");
  run.expect(fabric.drops(core::DropReason::route_to_ingress) == rounds,
             "no frame goes back where it came from");
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"demo", "16 hosts, 4 leaf switches, 1 root switch, no faults", demo},
    Scenario{"disarmed", "engines disarmed: all contributions reach the root", disarmed, 5},
    Scenario{"models_of_the_control_plane",
             "a fat tree, a torus, a dragonfly, a k-dimension fat tree",
             models_of_the_control_plane, 8},
    Scenario{"deep_chain", "twelve switches in a row", deep_chain, 5},
    Scenario{"several_groups", "four groups over the same switches and hosts", several_groups},
    Scenario{"two_groups_over_one_uplink", "full windows of two groups do not starve each other",
             two_groups_over_one_uplink},
    Scenario{"two_workers", "two cores per switch with hand-off between them", two_workers},
    Scenario{"unicast_and_multicast", "frames that are no reductions, beside some that are",
             unicast_and_multicast, 10},
    Scenario{"sequence_wrap", "more reductions than sequence numbers", sequence_wrap, 2},
    Scenario{"cxi_dialect", "hosts that speak as the public library does", cxi_dialect, 5},
    Scenario{"thousand_switches", "1,000 switches, 4,000 hosts", thousand_switches, 1},
};

} // namespace of_basic

std::span<const Scenario> basic_scenarios() { return of_basic::scenarios; }

} // namespace tributary::fabric
