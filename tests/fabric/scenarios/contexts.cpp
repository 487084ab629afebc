// Groups that share a tree: ranges of its ids, which change hands, under the faults that groups
// with a tree of their own have. Each element of each result is right; so nothing of one counts in
// another. What a hostile member sends: contexts_hostile.cpp.
#include "tests/fabric/scenarios/context_groups.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tributary::fabric {

namespace of_contexts {

using namespace context_groups;

std::uint32_t some_slots(Random& random) { return 8U << random.below(5); }

/// Without faults no member takes anything for lost, and no frame is another's.
RunReport undisturbed(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  VectorSetup setup = on_tree_of(some_slots(run.random()), run.all_hosts());
  setup.parameters.in_switch = run.random().below(2) == 0;
  const auto groups = fill(run, setup, 6);
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
      on_tree_of(some_slots(run.random()), run.choose_hosts(4 + run.random().below(12)));
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
  setup.parameters.in_switch = run.random().below(2) == 0;
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
  VectorSetup setup = on_tree_of(some_slots(run.random()), run.choose_hosts(6));
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(6));
  setup.parameters.in_switch = run.random().below(2) == 0;
  const auto groups = fill(run, setup, 2, 5);
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
  const std::uint32_t slots = 16U << run.random().below(4);
  VectorSetup setup = on_tree_of(slots, run.choose_hosts(6));
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(6));
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

constexpr std::uint64_t restarts = 3;

/// Some of the switches below `count` lose their state in the next milliseconds.
void restart_switches(Run& run, std::uint32_t count) {
  Fabric& fabric = run.fabric();
  for (std::uint64_t i = 0; i < restarts; ++i) {
    const auto at = static_cast<SwitchIndex>(run.random().below(count));
    const TimeNs down = fabric.now() + microseconds(run.random().between(20, 3'000));
    fabric.at(down, [&fabric, at] { fabric.crash(at); });
    fabric.at(down + milliseconds(run.random().between(1, 40)),
              [&fabric, at] { fabric.restart(at); });
  }
}

/// Switches lose their state in the middle of it.
RunReport switch_restarts(const RunOptions& options) {
  Run run(options, two_level(3, 3));
  VectorSetup setup = on_tree_of(64, run.all_hosts());
  if (run.random().below(2) == 0) {
    use_in_switch_results(setup, true);
  }
  const auto groups = fill(run, setup, 12);
  run.start();
  Fabric& fabric = run.fabric();
  restart_switches(run, 4);
  fabric.run_until([&] { return all_complete(groups); }, fabric.now() + seconds(60));
  run.finish();
  run.expect(fabric.fault_counts().of(Fault::switch_crash) > 0, "switches crashed");
  return run.report();
}

/// The tree is rerouted: each host moves all its groups, at a time of its own.
RunReport reroute(const RunOptions& options) {
  Run run(options, two_level(4, 3));
  VectorSetup setup = on_tree_of(32, run.choose_hosts(8));
  if (run.random().below(2) == 0) {
    use_in_switch_results(setup, true);
  }
  const auto groups = fill(run, setup, 10);
  const TreeNumber tree = run.add_tree_like(*groups.front());
  run.start();
  move_all(run, groups, tree, milliseconds(3));
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

/// Whether every member of every group, besides the one of the dead host, has all its results or
/// has learned that its group ended.
bool all_over(const std::vector<VectorGroup*>& groups, std::optional<std::uint32_t> dead) {
  return std::ranges::all_of(groups, [&](const VectorGroup* group) {
    for (std::uint32_t rank = 0; rank < group->size(); ++rank) {
      if (rank != dead && !group->is_over(rank)) {
        return false;
      }
    }
    return true;
  });
}

/// A host dies: each group that it is a member of, and is in use, ends and names it.
RunReport dead_member(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  VectorSetup setup = on_tree_of(32, run.all_hosts());
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(8));
  setup.parameters.in_switch = run.random().below(2) == 0;
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
  fabric.run_until([&] { return all_over(groups, dead); }, fabric.now() + seconds(30));
  std::string status;
  for (const VectorGroup* group : groups) {
    status += group->describe_status();
  }
  run.expect(all_over(groups, dead),
             "every survivor knows it in every group that was in use:" + status);
  collective::MissingRanks missing;
  missing.add(dead);
  std::uint64_t ended = 0;
  for (const VectorGroup* group : groups) {
    for (std::uint32_t rank = 0; rank < group->size(); ++rank) {
      const auto& failure = group->member(rank).failure();
      ended += rank != dead && failure ? 1 : 0;
      run.expect(rank == dead || !failure || failure->missing == missing,
                 "and names the dead member alone");
    }
  }
  run.expect(ended > 0, "some groups were in use");
  fabric.audit();
  return run.report();
}

/// All of it at once, as the seed chooses: losses, ranges that change hands, switches that restart,
/// a reroute, a host that is away for a while and comes back, one that dies. Each call ends, with
/// the right result or with an error, and with an error only where there is a reason.
RunReport in_trouble(const RunOptions& options) {
  Run run(options, two_level(4, 3));
  Random& random = run.random();
  VectorSetup setup = on_tree_of(some_slots(random), run.choose_hosts(5 + random.below(6)));
  setup.root_rank = static_cast<std::uint32_t>(random.below(setup.hosts.size()));
  const auto size = static_cast<std::uint32_t>(setup.hosts.size());
  std::uint32_t leaf = static_cast<std::uint32_t>(random.below(size - 1));
  leaf += leaf >= setup.root_rank ? 1 : 0;
  const bool loses = random.below(4) != 0;
  const bool restarts_some = random.below(2) == 0;
  const bool moves = random.below(2) == 0;
  const bool is_away = random.below(3) == 0;
  const bool dies = !is_away && random.below(3) == 0;
  if (random.below(2) == 0) {
    use_in_switch_results(setup, restarts_some || moves);
  }
  if (dies) {
    setup.may_end = true;
    setup.parameters.member_timeout_ns = seconds(6);
  }
  // A dead member does not give its ids to another group.
  const auto groups = fill(run, setup, 5, dies ? 1 : 2);
  const TreeNumber tree = run.add_tree_like(*groups.front());
  Fabric& fabric = run.fabric();
  if (loses) {
    fabric.set_faults({.loss = 0.002 * static_cast<double>(random.below(6)),
                       .duplicate = 0.01 * static_cast<double>(random.below(3)),
                       .reorder = 0.02 * static_cast<double>(random.below(3)),
                       .jitter_ns = microseconds(random.below(40))});
  }
  run.start();
  if (restarts_some) {
    restart_switches(run, 5);
  }
  if (moves) {
    move_all(run, groups, tree, milliseconds(5));
  }
  const HostIndex host = setup.hosts[leaf];
  const TimeNs leaves = fabric.now() + microseconds(random.between(20, 2'000));
  if (is_away || dies) {
    fabric.at(leaves, [&fabric, host] { fabric.set_host_alive(host, false); });
  }
  if (is_away) {
    fabric.at(leaves + milliseconds(random.between(1, 1'500)),
              [&fabric, host] { fabric.set_host_alive(host, true); });
  }
  if (!dies) {
    fabric.run_until([&] { return all_complete(groups); }, fabric.now() + seconds(30));
    run.finish();
    return run.report();
  }
  fabric.count(Fault::dead_member);
  fabric.run_until([&] { return all_over(groups, leaf); }, fabric.now() + seconds(20));
  fabric.set_faults({});
  fabric.run_until([&] { return all_over(groups, leaf); }, fabric.now() + seconds(40));
  run.expect(all_over(groups, leaf), "no call of a survivor waits forever");
  fabric.audit();
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
    Scenario{"contexts_in_trouble",
             "losses, restarts, a reroute, a host that is away or dies, in any combination",
             in_trouble, 60},
};

} // namespace of_contexts

std::span<const Scenario> context_scenarios() { return of_contexts::scenarios; }

} // namespace tributary::fabric
