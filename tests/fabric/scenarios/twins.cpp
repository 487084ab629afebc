// Groups on two trees (endpoint/collective/trees.hpp), which share only the switches that hosts are
// connected to:
//
//         spine 0        spine 1
//          / | |\ \     / / | | \        each leaf switch is connected to both spines; the first
//      leaf 2 ... leaf 5                 tree goes over spine 0, the second one over spine 1
//      4 hosts    4 hosts
//
// A loss on one tree must not cost a time-out: the root's retry comes after 32 ms, a leaf's first
// request after 128 ms, and here nothing takes longer than one.
#include "tests/fabric/scenarios/scenario.hpp"

#include <algorithm>
#include <array>

namespace tributary::fabric {

namespace of_twins {

constexpr SwitchIndex first_spine = 0;
constexpr SwitchIndex second_spine = 1;
constexpr std::array without_first{first_spine};
constexpr std::array without_second{second_spine};

/// Room for all eight reductions of both trees where they share a port upward.
FabricOptions sixteen_descriptors() {
  FabricOptions options;
  options.switches.settings.descriptors_per_engine = 16;
  return options;
}

struct Twins {
  explicit Twins(const RunOptions& options, std::uint64_t pieces,
                 const FabricOptions& fabric_options = sixteen_descriptors())
      : run(options, two_spines(4, 4), fabric_options) {
    GroupSetup setup{.hosts = run.all_hosts(), .pieces = pieces};
    setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
    group = &run.add_twins(setup, without_second, without_first);
    const auto& links = run.fabric().topology().links();
    for (LinkIndex l = 0; l < links.size(); ++l) {
      if (std::ranges::all_of(
              links[l].ends, [](const LinkEnd& e) { return e.kind == LinkEnd::Kind::in_switch; })) {
        trunks.push_back(l);
      }
    }
  }
  [[nodiscard]] collective::Statistics members() const { return group->statistics(); }
  void expect_no_time_out() {
    const collective::Statistics s = members();
    run.expect(s.retried == 0, "the root never had to ask again");
    run.expect(s.requests_sent == 0 && s.resent == 0, "no leaf had to ask, or to be asked");
    run.expect(group->longest_ns() < milliseconds(1), "nothing took a millisecond");
  }
  /// All members leave within this time after completion.
  void expect_leave_within(std::uint64_t ns) {
    Fabric& fabric = run.fabric();
    run.complete_within(seconds(10));
    run.expect(fabric.run_until([&] { return group->parted(); }, fabric.now() + ns),
               "members part at once");
  }

  Run run;
  Group* group = nullptr;
  std::vector<LinkIndex> trunks; ///< links between switches
};

/// Without faults: twice the frames of one tree.
RunReport undisturbed(const RunOptions& options) {
  Twins twins(options, 200);
  twins.run.start();
  twins.run.finish();
  twins.expect_no_time_out();
  twins.run.expect_no_waste();
  return twins.run.report();
}

/// A crashed switch keeps its descriptors until it restarts.
void restart_at_the_end(Fabric& fabric, SwitchIndex s) { fabric.restart(s); }

/// Every link between switches and both spines fail and recover, one after the other.
RunReport cut_each_in_turn(const RunOptions& options) {
  Twins twins(options, 1'400);
  Run& run = twins.run;
  Fabric& fabric = run.fabric();
  run.start();
  struct Cut {
    std::optional<LinkIndex> link;
    SwitchIndex spine = 0;
  };
  std::vector<Cut> cuts = {{std::nullopt, first_spine}, {std::nullopt, second_spine}};
  for (const LinkIndex link : twins.trunks) {
    cuts.push_back({link});
  }
  run.random().shuffle(cuts);
  TimeNs when = fabric.now() + microseconds(300);
  for (const Cut& cut : cuts) {
    fabric.at(when, [&fabric, cut] {
      cut.link ? fabric.set_link_up(*cut.link, false) : fabric.crash(cut.spine);
    });
    when = when + microseconds(run.random().between(200, 600));
    fabric.at(when, [&fabric, cut] {
      cut.link ? fabric.set_link_up(*cut.link, true) : fabric.restart(cut.spine);
    });
    // Until the tree is in step again: each of the eight reductions has to use it once.
    when = when + microseconds(600);
  }
  run.complete_within(seconds(1));
  run.expect(fabric.now() > when, "all was cut in the middle of the stream");
  twins.expect_no_time_out();
  twins.expect_leave_within(milliseconds(1));
  run.finish();
  const collective::Statistics s = twins.members();
  run.expect(fabric.accounting().of(Fate::link_down) > 0,
             "frames were lost on links that were down");
  run.expect(fabric.accounting().of(Fate::switch_silent) > 0, "frames came to the crashed spines");
  run.expect(s.won_on_first > 0 && s.won_on_second > 0, "each tree won at times");
  return run.report();
}

/// One link or one spine fails for good. Leaving waits for a dead tree one retry interval.
RunReport one_tree_stays_dead(const RunOptions& options) {
  Twins twins(options, 200);
  Run& run = twins.run;
  Fabric& fabric = run.fabric();
  run.start();
  const TimeNs when = fabric.now() + microseconds(run.random().between(20, 2'000));
  const auto victim = run.random().below(twins.trunks.size() + 2);
  fabric.at(when, [&fabric, &twins, victim] {
    if (victim < twins.trunks.size()) {
      fabric.set_link_up(twins.trunks[victim], false);
    } else {
      fabric.crash(static_cast<SwitchIndex>(victim - twins.trunks.size()));
    }
  });
  run.complete_within(seconds(1));
  run.expect(fabric.now() > when, "it was cut in the middle of the stream");
  twins.expect_no_time_out();
  twins.expect_leave_within(milliseconds(35));
  if (victim >= twins.trunks.size()) {
    restart_at_the_end(fabric, static_cast<SwitchIndex>(victim - twins.trunks.size()));
  }
  run.finish();
  run.expect(fabric.accounting().of(Fate::link_down) + fabric.accounting().of(Fate::switch_silent) +
                     fabric.drops(core::DropReason::port_down) >
                 0,
             "frames were lost where it was cut");
  return run.report();
}

/// The same cut under a single tree, to see that it is the twin that saves the time; then the
/// tree is repaired under the same number, and members recover by the root's retries.
RunReport single_tree_repaired(const RunOptions& options) {
  Run run(options, two_spines(4, 4));
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 200};
  Group& group = run.add_group(setup);
  Fabric& fabric = run.fabric();
  run.start();
  const auto on_tree = [&](SwitchIndex s) {
    return std::ranges::any_of(run.tree_of(group), [s](const TreePart& p) { return p.at == s; });
  };
  // Breadth first from the root: all paths use the spine that was visited first.
  const SwitchIndex spine = on_tree(first_spine) ? first_spine : second_spine;
  fabric.at(fabric.now() + microseconds(500), [&fabric, spine] { fabric.crash(spine); });
  fabric.at(fabric.now() + milliseconds(10), [&run, &fabric, &group, spine] {
    const std::array without{spine};
    fabric.count(Fault::table_change);
    fabric.remove(group.setup().tree);
    fabric.install(group.setup().tree, multicast_tree(fabric.topology(), group.host(0),
                                                      group.setup().hosts, run.random(), without));
    fabric.publish_all();
  });
  run.complete_within(seconds(5));
  restart_at_the_end(fabric, spine);
  run.finish();
  run.expect(group.statistics().retried > 0, "the root asked again");
  run.expect(group.longest_ns() > milliseconds(20), "a member waited for the retry");
  run.expect(group.longest_ns() < milliseconds(200), "no member waited for much more");
  return run.report();
}

/// A cut tree is rerouted over the other spine while reductions run: it takes part again.
RunReport twin_repaired(const RunOptions& options) {
  Twins twins(options, 600);
  Run& run = twins.run;
  Fabric& fabric = run.fabric();
  const Group& group = *twins.group;
  run.start();
  const bool first = run.random().chance(0.5);
  const SwitchIndex spine = first ? first_spine : second_spine;
  const TreeNumber tree = first ? group.setup().tree : *group.setup().twin;
  bool repaired = false;
  std::uint64_t complete = 0; ///< frames with all contributions that it delivers to the root again
  fabric.observe([&](const Passage& p) {
    const bool counts = repaired && p.into_host(group.host(group.setup().root_rank)) &&
                        p.reduction && p.reduction->tree == tree &&
                        p.reduction->word.count == group.size() - 1;
    complete += counts ? 1 : 0;
  });
  fabric.at(fabric.now() + microseconds(500), [&fabric, spine] { fabric.crash(spine); });
  fabric.at(fabric.now() + milliseconds(3), [&, tree, spine] {
    repaired = true;
    const std::array without{spine};
    fabric.count(Fault::table_change);
    fabric.remove(tree);
    fabric.install(tree, multicast_tree(fabric.topology(), group.host(group.setup().root_rank),
                                        group.setup().hosts, run.random(), without));
    for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
      if (s != spine) {
        fabric.at(fabric.now() + run.random().below(microseconds(50)),
                  [&fabric, s] { fabric.publish(s); });
      }
    }
  });
  run.complete_within(seconds(1));
  twins.expect_no_time_out();
  twins.expect_leave_within(milliseconds(1));
  restart_at_the_end(fabric, spine);
  run.finish();
  run.expect(complete > 100, "the repaired tree brings complete reductions again");
  return run.report();
}

/// Both trees lose: the root's retry recovers what neither completes.
RunReport loss_on_both(const RunOptions& options) {
  Twins twins(options, 150);
  twins.run.fabric().set_faults({.loss = 0.03, .duplicate = 0.02, .reorder = 0.02});
  twins.run.start();
  twins.run.complete_within(seconds(60));
  twins.run.finish();
  twins.run.expect(twins.run.fabric().fault_counts().of(Fault::loss) > 0, "the fault struck");
  twins.run.expect(twins.members().retried > 0, "the root had to ask again");
  return twins.run.report();
}

/// The engine that both trees share has descriptors for one of them: the rest passes through.
RunReport descriptors_for_one_tree(const RunOptions& options) {
  FabricOptions eight_descriptors;
  eight_descriptors.switches.settings.descriptors_per_engine = 8;
  Twins twins(options, 200, eight_descriptors);
  twins.run.start();
  twins.run.complete_within(seconds(1));
  twins.expect_no_time_out();
  twins.run.finish();
  twins.run.fabric().count(Fault::few_descriptors);
  twins.run.expect(twins.run.fabric().engines(&core::EngineCounters::arm_failures) > 0,
                   "arming failed at times");
  return twins.run.report();
}

constexpr std::array scenarios = {
    Scenario{"twins_undisturbed", "two trees and no fault: the frames of one tree, twice",
             undisturbed, 10},
    Scenario{"twins_cut_each_in_turn", "two trees: each link and spine fails in turn: no time-out",
             cut_each_in_turn, 15},
    Scenario{"twins_one_tree_stays_dead", "two trees, one fails for good: no time-out, no late end",
             one_tree_stays_dead, 40},
    Scenario{"single_tree_repaired", "one tree fails and is repaired: the root's retry recovers",
             single_tree_repaired, 10},
    Scenario{"twin_repaired", "two trees, one fails and is repaired: it takes part again",
             twin_repaired},
    Scenario{"twins_loss_on_both", "two trees that both lose frames: the root's retry recovers",
             loss_on_both, 40},
    Scenario{"twins_descriptors_for_one_tree", "two trees, engine descriptors for one: no effect",
             descriptors_for_one_tree, 10},
};

} // namespace of_twins

std::span<const Scenario> twin_scenarios() { return of_twins::scenarios; }

} // namespace tributary::fabric
