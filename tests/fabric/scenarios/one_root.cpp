// Many groups whose roots are all at one host, with different members, in-switch results or not,
// one tree or two: frames of one never count in another, and what ends one leaves the others alone.
#include "tests/fabric/scenarios/scenario.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::fabric {

namespace of_one_root {

using collective::Failure;

/// One network, and the host where all groups have their root.
struct OneRoot {
  OneRoot(const RunOptions& options, Topology topology, FabricOptions fabric_options = {})
      : run(options, std::move(topology), std::move(fabric_options)),
        root(static_cast<HostIndex>(run.random().below(run.all_hosts().size()))) {}

  /// The root's host with some others, or with all but `without`.
  [[nodiscard]] GroupSetup setup(std::uint64_t pieces, std::size_t others,
                                 std::optional<HostIndex> without = std::nullopt) {
    GroupSetup made{.hosts = run.all_hosts(), .pieces = pieces};
    std::erase_if(made.hosts, [&](HostIndex h) { return h == root || h == without; });
    run.random().shuffle(made.hosts);
    made.hosts.resize(std::min(others, made.hosts.size()));
    made.root_rank = static_cast<std::uint32_t>(run.random().below(made.hosts.size() + 1));
    made.hosts.insert(made.hosts.begin() + std::ptrdiff_t{made.root_rank}, root);
    made.parameters.first_sequence =
        SequenceNumber{static_cast<std::uint32_t>(run.random().below(usable_sequences))};
    return made;
  }
  [[nodiscard]] GroupSetup some_setup(std::uint64_t pieces) {
    return setup(pieces, 1 + run.random().below(run.all_hosts().size() - 1));
  }
  /// A third of them with in-switch results, a third with two trees. `turned`: changes the setups
  /// of the first third.
  void add_all_kinds(std::uint64_t count, std::uint64_t pieces,
                     const std::function<void(GroupSetup&)>& turned = {}) {
    for (std::uint64_t g = 0; g < count; ++g) {
      GroupSetup made = some_setup(pieces);
      made.parameters.in_switch = g % 3 == 0;
      if (made.parameters.in_switch && turned) {
        turned(made);
      }
      if (g % 3 == 1) {
        run.add_twins(made, {}, {});
      } else {
        run.add_group(made);
      }
    }
  }

  Run run;
  HostIndex root;
};

Topology some_network(std::uint64_t seed) {
  Random random = Random(seed).fork(35);
  return random_network(3 + static_cast<std::uint32_t>(random.below(7)),
                        6 + static_cast<std::uint32_t>(random.below(18)), 4, random);
}

/// Where a result can be lost for good, with the switch next to the root.
void may_lose_results(GroupSetup& setup) {
  setup.may_end = true;
  setup.parameters.member_timeout_ns = seconds(8);
}

RunReport undisturbed(const RunOptions& options) {
  OneRoot one(options, two_level(4, 4));
  constexpr std::uint64_t groups = 24;
  one.add_all_kinds(groups, 20);
  one.run.start();
  one.run.finish();
  std::uint64_t trees = 0;
  for (const auto& group : one.run.groups()) {
    one.run.expect(group->host(group->setup().root_rank) == one.root, "the root is there");
    one.run.expect(group->statistics().double_counted == 0, "nothing counted twice");
    trees += group->setup().twin ? 2 : 1;
  }
  one.run.expect(trees == groups + groups / 3, "of all kinds");
  return one.run.report();
}

RunReport under_faults(const RunOptions& options) {
  OneRoot one(options, some_network(options.seed));
  Run& run = one.run;
  one.add_all_kinds(4 + run.random().below(20), 10 + run.random().below(30));
  run.fabric().set_faults({.loss = 0.004 * static_cast<double>(run.random().below(8)),
                           .duplicate = 0.01 * static_cast<double>(run.random().below(6)),
                           .reorder = 0.02 * static_cast<double>(run.random().below(3)),
                           .jitter_ns = microseconds(run.random().below(40))});
  run.start();
  run.fabric().run_until(run.fabric().now() + seconds(3));
  run.finish(seconds(120));
  return run.report();
}

/// All the groups share the switch next to the root, which loses the state of all of them.
RunReport switch_restarts(const RunOptions& options) {
  OneRoot one(options, two_level(4, 4));
  Run& run = one.run;
  one.add_all_kinds(15, 200, may_lose_results);
  run.start();
  Fabric& fabric = run.fabric();
  const SwitchIndex top = fabric.topology().edge_port(one.root).node;
  TimeNs down = fabric.now();
  for (int i = 0; i < 4; ++i) {
    const auto at = i % 2 == 0 ? top : static_cast<SwitchIndex>(run.random().below(5));
    down = down + microseconds(run.random().between(20, 2'000));
    fabric.at(down, [&fabric, at] { fabric.crash(at); });
    down = down + microseconds(run.random().between(50, 20'000));
    fabric.at(down, [&fabric, at] { fabric.restart(at); });
  }
  run.finish(seconds(120));
  run.expect(fabric.accounting().of(Fate::switch_silent) > 0,
             "frames came to the crashed switches");
  return run.report();
}

/// Trees move to other paths, one after the other, switch by switch, under the groups at work.
RunReport reroutes(const RunOptions& options) {
  OneRoot one(options, some_network(options.seed));
  Run& run = one.run;
  for (int g = 0; g < 12; ++g) {
    run.add_group(one.some_setup(150));
  }
  run.start();
  Fabric& fabric = run.fabric();
  TimeNs when = fabric.now();
  for (const auto& each : run.groups()) {
    const Group& group = *each;
    when = when + microseconds(run.random().between(20, 400));
    fabric.at(when, [&run, &fabric, &group] {
      const GroupSetup& setup = group.setup();
      fabric.count(Fault::table_change);
      fabric.remove(setup.tree);
      fabric.install(setup.tree, multicast_tree(fabric.topology(), group.host(setup.root_rank),
                                                setup.hosts, run.random()));
      for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
        fabric.at(fabric.now() + run.random().below(microseconds(50)),
                  [&fabric, s] { fabric.publish(s); });
      }
    });
  }
  run.finish(seconds(120));
  return run.report();
}

FabricOptions product_timers() {
  FabricOptions options;
  options.switches.settings.timers = core::EngineTimers{};
  return options;
}

/// A host dies that is a member of some of the groups: these end, and name it; the others continue
/// with the same root.
RunReport member_dies(const RunOptions& options) {
  OneRoot one(options, two_level(4, 4), product_timers());
  Run& run = one.run;
  HostIndex dead = one.root;
  while (dead == one.root) {
    dead = static_cast<HostIndex>(run.random().below(16));
  }
  struct Ends {
    const Group* group;
    std::uint32_t dead; ///< rank
  };
  std::vector<Ends> end;
  std::vector<const Group*> last;
  for (int g = 0; g < 12; ++g) {
    if (g % 2 == 0) {
      GroupSetup setup = one.setup(100'000, 15);
      setup.parameters.member_timeout_ns = seconds(3);
      const auto rank = std::ranges::find(setup.hosts, dead) - setup.hosts.begin();
      end.push_back({&run.add_group(setup), static_cast<std::uint32_t>(rank)});
    } else {
      GroupSetup setup = one.setup(2'000, 1 + run.random().below(14), dead);
      setup.parameters.member_timeout_ns = seconds(3);
      setup.parameters.in_switch = g % 4 == 1;
      last.push_back(&run.add_group(setup));
    }
  }
  run.start();
  Fabric& fabric = run.fabric();
  fabric.run_until(fabric.now() + microseconds(run.random().between(50, 3'000)));
  fabric.set_host_alive(dead, false);
  fabric.count(Fault::dead_member);
  const auto all_know = [&] {
    return std::ranges::all_of(end, [](const Ends& each) {
      collective::MissingRanks missing;
      missing.add(each.dead);
      const Failure expected{.reason = Failure::Reason::members_missing, .missing = missing};
      for (std::uint32_t rank = 0; rank < each.group->size(); ++rank) {
        if (rank != each.dead && each.group->member(rank).failure() != expected) {
          return false;
        }
      }
      return true;
    });
  };
  const auto others_are_complete = [&] {
    return std::ranges::all_of(last, [](const Group* group) { return group->parted(); });
  };
  run.expect(fabric.run_until([&] { return all_know() && others_are_complete(); },
                              fabric.now() + seconds(60)),
             "its groups end and name it, and the others complete");
  for (const Group* group : last) {
    run.expect(group->complete(), "a group without the dead host has all its results");
  }
  fabric.run_until(fabric.now() + milliseconds(1));
  run.expect(fabric.descriptors_in_use() == 0, "the engines are free again");
  fabric.audit();
  return run.report();
}

/// A member of one group, which knows the group's cookie, sends into the trees of the others, and
/// with the others' cookies into its own.
RunReport hostile_member(const RunOptions& options) {
  OneRoot one(options, two_level(4, 4));
  Run& run = one.run;
  HostIndex hostile = one.root;
  while (hostile == one.root) {
    hostile = static_cast<HostIndex>(run.random().below(16));
  }
  const Group& own = run.add_group(one.setup(200, 15));
  for (int g = 0; g < 5; ++g) {
    GroupSetup setup = one.setup(200, 14, hostile);
    setup.parameters.in_switch = g % 2 == 0;
    run.add_group(setup);
  }
  run.start();
  Fabric& fabric = run.fabric();
  const Nid nid = Topology::nid(hostile);
  for (std::uint64_t i = 0; i < 120; ++i) {
    const GroupSetup& other = run.groups()[1 + run.random().below(5)]->setup();
    const bool into_own = run.random().chance(0.3);
    wire::ReductionFrame f;
    f.destination = wire::port_mac(nid);
    f.source = wire::host_mac(nid);
    f.source_nid = nid;
    f.vni = other.vni;
    f.tree = into_own ? own.setup().tree : other.tree;
    f.cookie = into_own ? other.cookie : own.setup().cookie;
    f.reduction = ReductionId{static_cast<std::uint8_t>(run.random().below(8))};
    f.word.seqno = SequenceNumber{(other.parameters.first_sequence.value() +
                                   static_cast<std::uint32_t>(run.random().below(4))) %
                                  usable_sequences};
    f.word.resno = f.word.seqno;
    f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
    f.word.count = 1 + static_cast<std::uint32_t>(run.random().below(15));
    f.payload = {1, 1, 1, 1};
    std::vector<std::byte> bytes(wire::reduction_frame_bytes);
    wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(bytes));
    fabric.at(fabric.now() + microseconds(5) * (i + 1), [&fabric, hostile, bytes] {
      fabric.count(Fault::foreign_cookie);
      fabric.send_from_host(hostile, bytes);
    });
  }
  run.finish();
  for (const auto& group : run.groups()) {
    run.expect(group->complete(), "every result is right, and everybody has it");
  }
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"one_root", "24 groups of all kinds with their root at one host", undisturbed, 10},
    Scenario{"one_root_under_faults", "random fabrics and faults: every result right", under_faults,
             60},
    Scenario{"one_root_switch_restarts", "the switch that all of them share forgets them",
             switch_restarts, 20},
    Scenario{"one_root_reroutes", "their trees move, one after the other", reroutes, 20},
    Scenario{"one_root_member_dies", "groups with the dead host end, the others continue",
             member_dies, 10},
    Scenario{"one_root_hostile_member", "a member of one sends into the others' trees",
             hostile_member, 20},
};

} // namespace of_one_root

std::span<const Scenario> one_root_scenarios() { return of_one_root::scenarios; }

} // namespace tributary::fabric
