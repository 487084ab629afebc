// Groups that share a tree: ranges of its ids, which change hands, under the faults that groups
// with a tree of their own have. Each element of each result is right; so nothing of one counts in
// another.
#include "tests/fabric/scenarios/scenario.hpp"

#include "tributary/wire/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tributary::fabric {

namespace of_contexts {

VectorSetup of_tree(std::vector<HostIndex> hosts, std::uint32_t slots) {
  VectorSetup setup{.hosts = std::move(hosts)};
  setup.parameters.slots = slots;
  setup.parameters.payload = slots == reductions_per_tree ? 32 : 704;
  return setup;
}

/// The half, and the ranges of the rest, some of them divided.
std::vector<Run::Context> ranges_of(std::uint32_t slots, Random& random) {
  std::vector<Run::Context> ranges{{ReductionId{0}, slots / 2}};
  const std::uint32_t full = slots == reductions_per_tree ? 1 : 8;
  for (std::uint32_t first = slots / 2; first < slots; first += full) {
    const std::uint32_t ids = full == 8 ? 8U >> random.below(3) : 1;
    for (std::uint32_t at = first; at < first + full; at += ids) {
      ranges.push_back({ReductionId{static_cast<std::uint8_t>(at)}, ids});
    }
  }
  return ranges;
}

std::vector<std::size_t> some_lengths(Random& random, std::size_t count) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    lengths.push_back(1 + random.below(std::max<std::size_t>(2000U >> random.below(12), 1)));
  }
  return lengths;
}

/// All ranges of a tree in use, with vectors of other lengths in each.
std::vector<VectorGroup*> fill(Run& run, VectorSetup setup, std::size_t operations) {
  std::vector<VectorGroup*> groups;
  for (const Run::Context& range : ranges_of(setup.parameters.slots, run.random())) {
    setup.lengths = some_lengths(run.random(), operations);
    setup.in_flight = 1 + run.random().below(3);
    setup.parameters.first_sequence =
        SequenceNumber{static_cast<std::uint32_t>(run.random().below(1022))};
    groups.push_back(&run.add_context(groups.empty() ? nullptr : groups.front(), setup, range));
  }
  return groups;
}

bool all_complete(const std::vector<VectorGroup*>& groups) {
  return std::ranges::all_of(groups, [](const auto* group) { return group->complete(); });
}

/// Without faults no member takes anything for lost, and no frame is another's.
RunReport undisturbed(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  const auto slots = static_cast<std::uint32_t>(8U << run.random().below(5));
  const auto groups = fill(run, of_tree(run.all_hosts(), slots), 6);
  run.start();
  run.complete_within(seconds(20));
  for (const VectorGroup* group : groups) {
    const collective::Statistics s = group->statistics();
    run.expect(s.foreign + s.malformed + s.stale == 0,
               fmt::format("no frame of others came from id {} on",
                           group->setup().parameters.first_id.value));
    run.expect(s.retried + s.double_counted == 0, "no member was asked again");
  }
  run.fabric().audit();
  return run.report();
}

/// Random fabrics, sizes and faults.
RunReport under_faults(const RunOptions& options) {
  Random random = Random(options.seed).fork(37);
  FabricOptions fabric_options;
  fabric_options.switches.workers = 1 + static_cast<std::uint32_t>(random.below(3));
  Run run(options,
          random_network(2 + static_cast<std::uint32_t>(random.below(6)),
                         8 + static_cast<std::uint32_t>(random.below(16)), 2, random),
          fabric_options);
  VectorSetup setup =
      of_tree(run.choose_hosts(4 + run.random().below(12)), 8U << run.random().below(5));
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
  const auto groups = fill(run, setup, 4);
  run.fabric().set_faults({.loss = 0.001 * static_cast<double>(run.random().below(8)),
                           .duplicate = 0.01 * static_cast<double>(run.random().below(3)),
                           .reorder = 0.02 * static_cast<double>(run.random().below(3)),
                           .jitter_ns = microseconds(run.random().below(40))});
  run.start();
  run.fabric().run_until([&] { return all_complete(groups); }, run.fabric().now() + seconds(120));
  run.finish();
  return run.report();
}

/// A range that all members are done with has another group immediately, again and again, while
/// copies and late frames of its former ones are still under way.
RunReport ranges_change_hands(const RunOptions& options) {
  Run run(options, two_level(3, 3));
  const std::uint32_t slots = 8U << run.random().below(5);
  VectorSetup setup = of_tree(run.choose_hosts(6), slots);
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(6));
  std::vector<VectorGroup*> groups;
  for (const Run::Context& range : ranges_of(slots, run.random())) {
    setup.after = nullptr;
    for (int generation = 0; generation < 5; ++generation) {
      setup.lengths = some_lengths(run.random(), 2);
      groups.push_back(&run.add_context(groups.empty() ? nullptr : groups.front(), setup, range));
      setup.after = groups.back();
    }
  }
  run.fabric().set_faults(
      {.loss = 0.01, .duplicate = 0.02, .reorder = 0.05, .jitter_ns = microseconds(200)});
  run.start();
  run.fabric().run_until([&] { return all_complete(groups); }, run.fabric().now() + seconds(120));
  run.finish();
  return run.report();
}

/// Groups keep the first ids of their ranges, each member when it is ready, and others have the
/// rest as soon as all members have done so.
RunReport ranges_become_smaller(const RunOptions& options) {
  Run run(options, two_level(3, 3));
  VectorSetup setup = of_tree(run.choose_hosts(6), 16U << run.random().below(4));
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(6));
  const std::uint32_t slots = setup.parameters.slots;
  std::vector<VectorGroup*> groups;
  const auto add = [&](std::uint32_t first, std::uint32_t ids) {
    setup.lengths = some_lengths(run.random(), 6);
    groups.push_back(&run.add_context(groups.empty() ? nullptr : groups.front(), setup,
                                      {ReductionId{static_cast<std::uint8_t>(first)}, ids}));
    return groups.back();
  };
  for (std::uint32_t first = slots / 2; first < slots; first += 8) {
    setup.keeps_ids = run.random().chance(0.5) ? 2 : 4;
    setup.in_flight = 1 + run.random().below(3);
    setup.after = add(first, 8);
    const std::uint32_t kept = setup.keeps_ids;
    setup.keeps_ids = 0;
    for (std::uint32_t at = kept; at < 8; at *= 2) {
      add(first + at, at);
    }
    setup.after = nullptr;
  }
  run.fabric().set_faults(
      {.loss = 0.01, .duplicate = 0.02, .reorder = 0.05, .jitter_ns = microseconds(200)});
  run.start();
  run.fabric().run_until([&] { return all_complete(groups); }, run.fabric().now() + seconds(120));
  run.finish();
  for (const VectorGroup* group : groups) {
    for (std::uint32_t rank = 0; rank < group->size(); ++rank) {
      const std::uint32_t kept = group->setup().keeps_ids;
      run.expect(kept == 0 || group->member(rank).parameters().slots == kept,
                 "each member keeps what it should");
    }
  }
  return run.report();
}

/// Switches lose their state in the middle of it.
RunReport switch_restarts(const RunOptions& options) {
  Run run(options, two_level(3, 3));
  VectorSetup setup = of_tree(run.all_hosts(), 64);
  const auto groups = fill(run, setup, 12);
  run.start();
  Fabric& fabric = run.fabric();
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<SwitchIndex>(run.random().below(4));
    const TimeNs down = fabric.now() + microseconds(run.random().between(20, 3'000));
    fabric.at(down, [&fabric, at] { fabric.crash(at); });
    fabric.at(down + milliseconds(run.random().between(1, 40)),
              [&fabric, at] { fabric.restart(at); });
  }
  fabric.run_until([&] { return all_complete(groups); }, fabric.now() + seconds(60));
  run.finish();
  return run.report();
}

/// The tree is rerouted: each host moves all its groups, at a time of its own.
RunReport reroute(const RunOptions& options) {
  Run run(options, two_level(4, 3));
  VectorSetup setup = of_tree(run.choose_hosts(8), 32);
  const auto groups = fill(run, setup, 10);
  const TreeNumber tree = run.add_tree_like(*groups.front());
  run.start();
  for (std::uint32_t rank = 0; rank < groups.front()->size(); ++rank) {
    const TimeNs at = run.fabric().now() + microseconds(run.random().between(50, 3'000));
    for (VectorGroup* const group : groups) {
      group->move(rank, {.at = at, .tree = tree});
    }
  }
  run.fabric().set_faults({.loss = 0.002, .jitter_ns = microseconds(10)});
  run.fabric().run_until([&] { return all_complete(groups); }, run.fabric().now() + seconds(120));
  run.finish();
  for (const VectorGroup* group : groups) {
    for (std::uint32_t rank = 0; rank < group->size(); ++rank) {
      run.expect(group->member(rank).parameters().tree == tree, "all have moved");
    }
  }
  return run.report();
}

/// A host dies: each group that it is a member of, and is in use, ends and names it.
RunReport dead_member(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  VectorSetup setup = of_tree(run.all_hosts(), 32);
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(8));
  setup.parameters.member_timeout_ns = seconds(6);
  setup.may_end = true;
  const auto groups = fill(run, setup, 200);
  run.start();
  Fabric& fabric = run.fabric();
  fabric.run_until(fabric.now() + microseconds(run.random().between(20, 300)));
  std::uint32_t dead = static_cast<std::uint32_t>(run.random().below(7));
  dead += dead >= setup.root_rank ? 1 : 0;
  fabric.set_host_alive(groups.front()->setup().hosts[dead], false);
  fabric.count(Fault::dead_member);
  const auto over = [&](const VectorGroup& group, std::uint32_t rank) {
    return rank == dead || group.member(rank).failure().has_value();
  };
  fabric.run_until(
      [&] {
        return std::ranges::all_of(groups, [&](const auto* group) {
          for (std::uint32_t rank = 0; rank < group->size(); ++rank) {
            if (!over(*group, rank)) {
              return false;
            }
          }
          return true;
        });
      },
      fabric.now() + seconds(30));
  collective::MissingRanks missing;
  missing.add(dead);
  for (const VectorGroup* group : groups) {
    for (std::uint32_t rank = 0; rank < group->size(); ++rank) {
      run.expect(over(*group, rank), "every survivor knows it in every group");
      run.expect(rank == dead || !group->member(rank).failure() ||
                     group->member(rank).failure()->missing == missing,
                 "and names the dead member alone");
    }
  }
  fabric.audit();
  return run.report();
}

/// A member of all groups is hostile: it sends frames of one with the id of another, and with the
/// cookie of another, as contributions and as requests.
RunReport hostile_member(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  VectorSetup setup = of_tree(run.all_hosts(), 32);
  const auto groups = fill(run, setup, 30);
  run.start();
  Fabric& fabric = run.fabric();
  const auto hostile = static_cast<std::uint32_t>(1 + run.random().below(7));
  const HostIndex from = setup.hosts[hostile];
  for (int i = 0; i < 400; ++i) {
    const VectorGroup& one = *groups[run.random().below(groups.size())];
    const VectorGroup& other = *groups[run.random().below(groups.size())];
    if (&one == &other) {
      continue; // its own frame is no other's
    }
    const collective::GroupParameters& p = one.setup().parameters;
    wire::ReductionFrame f;
    f.destination = wire::port_mac(Topology::nid(from));
    f.source = wire::host_mac(Topology::nid(from));
    f.vni = one.setup().vni;
    f.source_nid = Topology::nid(from);
    f.tree = one.setup().tree;
    f.rank = hostile;
    f.reduction =
        ReductionId{static_cast<std::uint8_t>(p.first_id.value + run.random().below(p.slots))};
    f.cookie = other.setup().cookie;
    const auto sequence = static_cast<std::uint32_t>(run.random().below(12));
    f.word.seqno = SequenceNumber{sequence};
    f.word.resno = SequenceNumber{sequence};
    f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
    f.word.count = i % 3 == 0 ? 0 : 1;
    f.word.pad = i % 3 == 0 ? wire::pad_retry : std::uint8_t{0};
    f.payload = {1, 1, 1, 1};
    std::vector<std::byte> bytes(wire::reduction_frame_bytes);
    wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(bytes));
    fabric.at(fabric.now() + microseconds(run.random().below(3'000)),
              [&fabric, from, bytes = std::move(bytes)] {
                fabric.count(Fault::foreign_cookie);
                fabric.send_from_host(from, bytes);
              });
  }
  fabric.run_until([&] { return all_complete(groups); }, fabric.now() + seconds(60));
  run.finish();
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"contexts", "groups that share a tree: nothing of one reaches another", undisturbed,
             10},
    Scenario{"contexts_under_faults", "the same on random fabrics with faults", under_faults, 40},
    Scenario{"contexts_change_hands",
             "ids that another group has as soon as all are done with them", ranges_change_hands,
             10},
    Scenario{"contexts_become_smaller",
             "ids that a group gives up, and another one has as soon as all members have",
             ranges_become_smaller, 10},
    Scenario{"contexts_switch_restarts", "switches forget what they hold of all groups of a tree",
             switch_restarts, 10},
    Scenario{"contexts_reroute", "a tree is rerouted under all its groups", reroute, 30},
    Scenario{"contexts_dead_member", "a member dies: every group of the tree names it", dead_member,
             6},
    Scenario{"contexts_hostile", "a member sends frames with other groups' ids and cookies",
             hostile_member, 20},
};

} // namespace of_contexts

std::span<const Scenario> context_scenarios() { return of_contexts::scenarios; }

} // namespace tributary::fabric
