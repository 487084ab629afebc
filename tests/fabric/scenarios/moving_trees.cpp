// Trees that are placed on workers, and move from one to another while their reductions are under
// way.
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>

namespace tributary::fabric {

namespace of_moving_trees {

FabricOptions placed(std::uint32_t workers) {
  FabricOptions options;
  options.switches.workers = workers;
  options.switches.placed = true;
  return options;
}

/// A tree of the switch that has reductions, chosen at random.
TreeNumber some_tree(Fabric& fabric, SwitchIndex s, Random& random) {
  std::vector<TreeNumber> trees;
  const core::Tables& tables = fabric.at_switch(s).core(0).tables();
  for (std::uint16_t t = 0; t < max_trees; ++t) {
    if (tables.tree(TreeNumber{t}).wait_count != 0) {
      trees.emplace_back(t);
    }
  }
  return trees.empty() ? TreeNumber{0} : trees[random.below(trees.size())];
}

/// Has trees of all switches move until then. The steps of a move are up to 20 us apart.
void move_until(Run& run, TimeNs end) {
  Fabric& fabric = run.fabric();
  Random random = run.random().fork(7);
  for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
    for (TimeNs when = fabric.now(); when < end;) {
      when = when + random.between(microseconds(20), microseconds(200));
      const std::uint64_t step_ns = random.below(microseconds(20));
      const std::uint64_t choice = random.next();
      fabric.at(when, [&fabric, s, step_ns, choice] {
        Random chosen(choice);
        fabric.move_tree(s, some_tree(fabric, s, chosen), step_ns);
      });
    }
  }
}

std::uint64_t moves(Fabric& fabric) {
  std::uint64_t sum = 0;
  for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
    sum += fabric.at_switch(s).moves();
  }
  return sum;
}

/// Nothing else goes wrong: then nothing is lost, nothing asked for twice, and no partial result
/// leaves.
RunReport moving_trees(const RunOptions& options) {
  Run run(options, two_level(3, 4), placed(2 + static_cast<std::uint32_t>(options.seed % 3)));
  const Group& first = run.add_group({.hosts = run.all_hosts(), .pieces = 300, .gap_ns = 5'000});
  const Group& second = run.add_group({.hosts = run.all_hosts(), .pieces = 300, .gap_ns = 5'000});
  run.start();
  move_until(run, run.fabric().now() + milliseconds(2));
  run.finish();
  run.expect(moves(run.fabric()) >= 20, "trees moved");
  run.expect_no_waste();
  for (const Group* group : {&first, &second}) {
    run.expect(group->statistics().full == 300, "every reduction reached the root as one frame");
  }
  return run.report();
}

/// A worker polls every 200 us: a move waits for it, and nothing is lost.
RunReport moving_trees_and_a_slow_worker(const RunOptions& options) {
  Run run(options, two_level(3, 4), placed(2));
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 100, .gap_ns = 2'000};
  setup.parameters.retry_ns = milliseconds(10);
  const Group& group = run.add_group(setup);
  run.start();
  for (SwitchIndex s = 0; s < run.fabric().topology().switch_count(); ++s) {
    run.fabric().set_poll_interval(s, static_cast<std::uint32_t>(run.random().below(2)),
                                   microseconds(200));
  }
  move_until(run, run.fabric().now() + milliseconds(20));
  run.finish();
  run.expect(moves(run.fabric()) >= 5, "trees moved");
  run.expect(group.statistics().full == 100 && group.statistics().retried == 0,
             "nothing was lost, and nothing asked for twice");
  return run.report();
}

/// Rings hold two frames, links lose some, switches restart: results are right all the same.
RunReport moving_trees_and_faults(const RunOptions& options) {
  Run run(options, two_level(3, 4), placed(3));
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 100, .gap_ns = 10'000};
  setup.parameters.retry_ns = milliseconds(1);
  const Group& group = run.add_group(setup);
  Fabric& fabric = run.fabric();
  fabric.set_faults({.loss = 0.001, .duplicate = 0.01, .jitter_ns = microseconds(5)});
  run.start();
  const auto set_rings = [&fabric](std::size_t frames) {
    for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
      fabric.set_handoff_frames(s, frames);
    }
  };
  set_rings(2);
  fabric.at(fabric.now() + milliseconds(20), [set_rings] { set_rings(4096); });
  const auto at = static_cast<SwitchIndex>(run.random().below(fabric.topology().switch_count()));
  fabric.at(fabric.now() + milliseconds(3), [&fabric, at] { fabric.crash(at); });
  fabric.at(fabric.now() + milliseconds(4), [&fabric, at] { fabric.restart(at); });
  move_until(run, fabric.now() + milliseconds(20));
  run.finish();
  run.expect(moves(fabric) >= 20, "trees moved");
  run.expect(fabric.drops(core::DropReason::handoff_full) > 0, "rings were full");
  run.expect(group.statistics().retried > 0, "the group lost something, and asked again");
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"moving_trees", "trees move between workers under traffic, and nothing is lost",
             moving_trees},
    Scenario{"moving_trees_and_a_slow_worker", "the same, with a worker that polls every 200 us",
             moving_trees_and_a_slow_worker},
    Scenario{"moving_trees_and_faults", "the same, with short rings, lost frames and a restart",
             moving_trees_and_faults},
};

} // namespace of_moving_trees

std::span<const Scenario> moving_tree_scenarios() { return of_moving_trees::scenarios; }

} // namespace tributary::fabric
