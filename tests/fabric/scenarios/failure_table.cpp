// The failure table of the wire format page (5.6), row by row, in the demo's tree: sixteen members
// under four leaf switches, the root under the first of them.
//
//     host 0 = root ── switch 1 ── switch 0 ──┬── switch 2 ── hosts 4..7
//           hosts 1..3 ──┘                    ├── switch 3 ── hosts 8..11
//                                             └── switch 4 ── hosts 12..15
//
// Wait counts: switch 1: 15, switch 0: 12, switches 2 to 4: 4.
#include "tests/fabric/scenarios/scenario.hpp"

#include <algorithm>
#include <array>

namespace tributary::fabric {

namespace of_failure_table {

constexpr std::uint32_t late_rank = 5; // under switch 2
constexpr SwitchIndex late_switch = 2;

/// Timers that rise toward the root: 20 ms at the leaf switches, 40 ms above, 80 ms below the root.
FabricOptions rising_timers() {
  FabricOptions options;
  auto& timers = options.switches.settings.timers;
  timers.limits = {5, 13, 4096};
  timers.units = {timers.units_from_us(20'000), timers.units_from_us(40'000),
                  timers.units_from_us(80'000), timers.units_from_us(160'000)};
  return options;
}

/// A group whose root waits long enough that engines decide alone.
GroupSetup patient_group(Run& run) {
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 1};
  setup.parameters.retry_ns = seconds(1);
  return setup;
}

/// The number of contributions in each frame that reaches the root for piece 0, in order. (The
/// leave that follows is piece 1, under another reduction id.)
class CountsAtRoot {
public:
  explicit CountsAtRoot(Run& run) {
    run.fabric().observe([this](const Passage& p) {
      if (p.into_host(0) && p.reduction && p.reduction->reduction == ReductionId{0} &&
          !p.reduction->word.arm) {
        counts_.push_back(p.reduction->word.count);
      }
    });
  }
  [[nodiscard]] const std::vector<ContributionCount>& counts() const { return counts_; }

private:
  std::vector<ContributionCount> counts_;
};

/// Late by more than all timers: the late contribution reaches the root on its own.
RunReport late_leaf_two_frames(const RunOptions& options) {
  Run run(options, two_level(4, 4), rising_timers());
  Group& group = run.add_group(patient_group(run));
  group.misbehave(late_rank, 0, {.not_before = TimeNs{milliseconds(100)}});
  CountsAtRoot at_root(run);
  run.start();
  run.finish();
  run.expect(at_root.counts() == std::vector<ContributionCount>{14, 1},
             "two frames reach the root, counting 14 and 1");
  run.expect(group.statistics().retried == 0, "the root did not have to ask again");
  run.expect(run.fabric().trees(&core::TreeCounters::late) >= 3,
             "three switches forwarded the late contribution");
  return run.report();
}

/// Late for the leaf switch alone: an engine above waits longer and merges it.
RunReport late_leaf_merged_above(const RunOptions& options) {
  Run run(options, two_level(4, 4), rising_timers());
  Group& group = run.add_group(patient_group(run));
  group.misbehave(late_rank, 0, {.not_before = TimeNs{milliseconds(30)}});
  CountsAtRoot at_root(run);
  run.start();
  run.finish();
  run.expect(at_root.counts() == std::vector<ContributionCount>{15},
             "one frame reaches the root, counting 15");
  run.expect(run.fabric().at_switch(late_switch).trees(&core::TreeCounters::partial) >= 1,
             "the leaf switch emitted a partial result");
  run.expect(run.fabric().at_switch(late_switch).trees(&core::TreeCounters::late) == 1,
             "the leaf switch forwarded the late contribution");
  return run.report();
}

/// Dead for good: the reduction must not complete, and the root's status names the missing member.
RunReport dead_leaf_never_completes(const RunOptions& options) {
  Run run(options, two_level(4, 4), rising_timers());
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 4};
  Group& group = run.add_group(setup);
  const auto dead = 1 + static_cast<std::uint32_t>(run.random().below(15));
  run.start();
  run.fabric().set_host_alive(group.host(dead), false);
  run.fabric().count(Fault::dead_member);
  bool named = false;
  bool short_total = false;
  for (int i = 0; i < 3'000; ++i) {
    run.fabric().run_until(run.fabric().now() + milliseconds(1));
    for (const auto& s : group.member(0).status()) {
      if (s.waiting == collective::Waiting::for_contributions) {
        run.expect(s.count < 16, "the total stays short");
        short_total = short_total || s.count == 15;
        named = named || s.missing_rank == dead;
      }
    }
  }
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    run.expect(group.completed_pieces(rank) == 0, "nothing completes without the dead member");
  }
  run.expect(short_total, "partial results reach the root and count 15 of 16");
  run.expect(named, "the root's status names the member that is missing");
  run.expect(run.fabric().engines(&core::EngineCounters::partial) > 0,
             "engines emitted partial results");
  run.fabric().audit();
  return run.report();
}

/// One switch has no engine to spare: its four raw frames are merged one level up.
RunReport no_engine_on_one_switch(const RunOptions& options) {
  FabricOptions fabric_options = rising_timers();
  fabric_options.switch_options = [switches = fabric_options.switches](SwitchIndex s) {
    SwitchOptions o = switches;
    o.settings.descriptors_per_engine = s == late_switch ? 0 : 8;
    return o;
  };
  Run run(options, two_level(4, 4), fabric_options);
  Group& group = run.add_group(patient_group(run));
  CountsAtRoot at_root(run);
  run.start();
  run.finish();
  run.expect(at_root.counts() == std::vector<ContributionCount>{15},
             "one frame reaches the root all the same");
  VirtualSwitch& poor = run.fabric().at_switch(late_switch);
  run.expect(poor.engines(&core::EngineCounters::arm_failures) > 0, "arming failed");
  run.expect(poor.trees(&core::TreeCounters::passed_through) >= 4,
             "its four contributions passed through");
  run.fabric().count(Fault::few_descriptors);
  run.expect(group.statistics().full == 1, "the root counts the reduction as full");
  return run.report();
}

/// Nothing can be armed anywhere: fifteen raw frames reach the root, with the same result.
RunReport nothing_armed(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.switches.settings.descriptors_per_engine = 0;
  Run run(options, two_level(4, 4), fabric_options);
  Group& group = run.add_group(patient_group(run));
  CountsAtRoot at_root(run);
  run.start();
  run.finish();
  run.expect(at_root.counts() == std::vector<ContributionCount>(15, 1),
             "fifteen frames reach the root, counting 1 each");
  run.expect(group.statistics().unreduced == 1, "the root counts the reduction as unreduced");
  run.fabric().count(Fault::few_descriptors);
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"late_leaf_two_frames", "5.6: late for every engine: frames of 14 and 1",
             late_leaf_two_frames, 5},
    Scenario{"late_leaf_merged_above", "5.6: late for the first engine: merged one level up",
             late_leaf_merged_above, 5},
    Scenario{"dead_leaf_never_completes", "5.6: dead leaf: total short, the missing rank is named",
             dead_leaf_never_completes, 5},
    Scenario{"no_engine_on_one_switch", "5.6: no engine on one switch: merged one level up",
             no_engine_on_one_switch, 5},
    Scenario{"nothing_armed", "5.6: nothing armed: all raw frames reach the root", nothing_armed,
             5},
};

} // namespace of_failure_table

std::span<const Scenario> failure_table_scenarios() { return of_failure_table::scenarios; }

} // namespace tributary::fabric
