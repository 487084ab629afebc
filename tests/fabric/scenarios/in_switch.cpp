// In-switch results: the switch next to the root adds the root's contribution, and sends results to
// all members.
#include "tests/fabric/scenarios/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::fabric {

namespace of_in_switch {

GroupSetup words(Run& run, std::vector<HostIndex> hosts, std::uint64_t pieces) {
  GroupSetup setup{.hosts = std::move(hosts), .pieces = pieces};
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
  setup.parameters.in_switch = true;
  setup.parameters.first_sequence =
      SequenceNumber{static_cast<std::uint32_t>(run.random().below(usable_sequences))};
  return setup;
}

VectorSetup vectors(Run& run, std::vector<HostIndex> hosts, std::uint32_t slots,
                    std::uint32_t payload) {
  VectorSetup setup{.hosts = std::move(hosts)};
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
  setup.parameters.slots = slots;
  setup.parameters.payload = payload;
  setup.parameters.in_switch = true;
  return setup;
}

std::uint64_t engines(Run& run, core::Counter core::EngineCounters::*counter) {
  return run.fabric().engines(counter);
}

/// Where a result can be lost for good: the group may end with an error, which a member that misses
/// the root's notice detects on its own.
template <typename Setup> Setup may_lose_results(Setup setup) {
  setup.may_end = true;
  setup.parameters.member_timeout_ns = seconds(8);
  return setup;
}

/// All left in time, or were notified why the group ended.
bool is_parted(const Group& group) {
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    const collective::Member& member = group.member(rank);
    if (!member.left() || (member.abandoned() && !member.failure())) {
      return false;
    }
  }
  return true;
}

/// All members know that a result is lost, with the same details.
bool all_know_of_the_loss(const Group& group) {
  const auto& known = group.member(group.setup().root_rank).failure();
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    if (!known || known->reason != collective::Failure::Reason::result_lost ||
        group.member(rank).failure() != known) {
      return false;
    }
  }
  return true;
}

bool is_arm(const Passage& p) { return p.reduction && p.reduction->word.arm; }
bool is_contribution(const Passage& p) {
  return p.reduction && !p.reduction->word.arm && p.reduction->word.count > 0;
}

/// Without faults: every result is an in-switch result, and no member sends a request.
RunReport undisturbed(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  const Group& group = run.add_group(words(run, run.all_hosts(), 60));
  const Group& pair = run.add_group(words(run, run.choose_hosts(2), 60));
  run.start();
  run.finish();
  for (const Group* g : {&group, &pair}) {
    const collective::Statistics s = g->statistics();
    run.expect(s.in_switch == 60 && s.reduction_frames == 60,
               "each result was an in-switch result");
    run.expect(s.retried == 0 && s.requests_sent == 0 && s.refused == 0 && s.replayed == 0,
               "no host asked for anything");
    run.expect(s.outbox_full == 0 && s.malformed == 0 && s.misdirected == 0, "nothing was in vain");
  }
  // Two times eight ids; leaving is one more on one id of each.
  run.expect(engines(run, &core::EngineCounters::in_switch) == 2 * (60 + 2), "and in the switch");
  return run.report();
}

RunReport undisturbed_vectors(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  VectorSetup setup = vectors(run, run.all_hosts(), 64, 384);
  setup.lengths = {1, 8, 9, 100, 2000, 96, 97, 5000, 3, 640};
  const VectorGroup& group = run.add_vectors(setup);
  run.start();
  run.finish();
  const collective::Statistics s = group.statistics();
  run.expect(s.in_switch * group.size() == s.completed, "each result was an in-switch result");
  run.expect(s.overdue == 0 && s.retried == 0 && s.requests_sent == 0 && s.refused == 0,
             "no host asked for anything");
  run.expect(s.malformed == 0 && s.outbox_full == 0, "nothing was in vain");
  return run.report();
}

/// Random fabrics with many groups, some with in-switch results and some without, and one of
/// vectors.
RunReport under_faults(const RunOptions& options) {
  Random random = Random(options.seed).fork(37);
  FabricOptions fabric_options;
  fabric_options.switches.workers = 1 + static_cast<std::uint32_t>(random.below(3));
  Run run(options,
          random_network(2 + static_cast<std::uint32_t>(random.below(8)),
                         8 + static_cast<std::uint32_t>(random.below(24)), 2, random),
          fabric_options);
  const std::size_t hosts = run.all_hosts().size();
  const std::uint64_t groups = 1 + run.random().below(6);
  std::vector<HostIndex> some = run.choose_hosts(hosts);
  // Those of vectors have their hosts to themselves.
  const std::vector<HostIndex> of_vectors(some.begin(), some.begin() + std::ptrdiff_t(hosts / 2));
  some.erase(some.begin(), some.begin() + std::ptrdiff_t(hosts / 2));
  for (std::uint64_t g = 0; g < groups; ++g) {
    run.random().shuffle(some);
    const std::size_t size = 2 + run.random().below(some.size() - 1);
    GroupSetup setup = words(run, {some.begin(), some.begin() + std::ptrdiff_t(size)},
                             20 + run.random().below(100));
    setup.parameters.in_switch = g == 0 || run.random().below(4) != 0;
    run.add_group(setup);
  }
  VectorSetup setup = vectors(run, of_vectors, 8U << run.random().below(5),
                              64 * static_cast<std::uint32_t>(1 + run.random().below(22)));
  for (std::size_t i = 0; i < 8; ++i) {
    setup.lengths.push_back(1 + run.random().below(3000U >> run.random().below(12)));
  }
  setup.in_flight = 1 + run.random().below(4);
  run.add_vectors(setup);
  run.fabric().set_faults({.loss = 0.004 * static_cast<double>(run.random().below(8)),
                           .duplicate = 0.01 * static_cast<double>(run.random().below(6)),
                           .reorder = 0.02 * static_cast<double>(run.random().below(3)),
                           .jitter_ns = microseconds(run.random().below(40))});
  run.start();
  run.fabric().run_until(run.fabric().now() + seconds(3));
  run.finish(seconds(120));
  run.expect(engines(run, &core::EngineCounters::in_switch) > 0, "in-switch results were sent");
  return run.report();
}

/// The switch next to the root, or another one, loses all its state.
RunReport switch_restarts(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  const std::vector<HostIndex> hosts = run.choose_hosts(16);
  Group& group =
      run.add_group(may_lose_results(words(run, {hosts.begin(), hosts.begin() + 8}, 400)));
  VectorSetup setup = may_lose_results(vectors(run, {hosts.begin() + 8, hosts.end()}, 32, 704));
  setup.lengths.assign(30, 3000);
  run.add_vectors(setup);
  run.start();
  Fabric& fabric = run.fabric();
  const SwitchIndex top = run.tree_of(group).front().at;
  // One after the other: some are away for less than the root's retry interval, some for longer.
  TimeNs down = fabric.now();
  for (int i = 0; i < 5; ++i) {
    const auto at = i % 2 == 0 ? top : static_cast<SwitchIndex>(run.random().below(5));
    down = down + microseconds(run.random().between(20, 2'000));
    fabric.at(down, [&fabric, at] { fabric.crash(at); });
    down = down + microseconds(run.random().between(50, 20'000));
    fabric.at(down, [&fabric, at] { fabric.restart(at); });
  }
  run.finish(seconds(120));
  return run.report();
}

/// The root misses the result, while the leaves continue: it is sent again, and the leaves, which
/// may have contributed to the next one, do so again.
RunReport root_misses(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  Group& group = run.add_group(words(run, run.all_hosts(), 40));
  const HostIndex root = group.host(group.setup().root_rank);
  const AimedFault& fault =
      run.fabric().aim({.fits = [root](const Passage& p) { return is_arm(p) && p.into_host(root); },
                        .skip = run.random().below(30),
                        .take = 1 + run.random().below(3)});
  run.start();
  run.finish();
  run.expect(fault.done > 0, "the fault struck");
  run.expect(engines(run, &core::EngineCounters::replayed) > 0, "the result was sent again");
  run.expect(group.statistics().refused == 0, "and was right");
  return run.report();
}

/// The same with vectors: some do not fit the requesting frame.
RunReport root_misses_vectors(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  VectorSetup setup = vectors(run, run.all_hosts(), 16, 704);
  setup.lengths.assign(12, 1 + run.random().below(2000));
  const HostIndex root = setup.hosts[setup.root_rank];
  const VectorGroup& group = run.add_vectors(setup);
  // Wide frames are not decoded for aimed faults: selected by length and destination host.
  const AimedFault& fault = run.fabric().aim(
      {.fits = [root](const Passage& p) { return p.into_host(root) && p.bytes.size() > 94; },
       .skip = run.random().below(8),
       .take = 1 + run.random().below(3)});
  run.start();
  run.fabric().run_until([&] { return group.complete(); }, run.fabric().now() + seconds(60));
  run.finish();
  if (fault.done > 0) {
    run.expect(engines(run, &core::EngineCounters::replayed) > 0, "the result was sent again");
  }
  return run.report();
}

/// The leaves have the result; the root's copy is lost, and the switch that kept it restarts. The
/// root does not accept it from the leaves: a member could have forged it. So the group ends. How
/// often others miss it, too, is random.
RunReport switch_forgets_what_the_root_missed(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  Group& group = run.add_group(may_lose_results(words(run, run.all_hosts(), 60)));
  Fabric& fabric = run.fabric();
  const SwitchIndex top = run.tree_of(group).front().at;
  const HostIndex root = group.host(group.setup().root_rank);
  const std::uint64_t away = run.random().below(4) == 0
                                 ? 0
                                 : microseconds(run.random().below(1U << run.random().below(18)));
  const AimedFault& fault =
      fabric.aim({.fits = [root](const Passage& p) { return is_arm(p) && p.into_host(root); },
                  .skip = run.random().below(50),
                  .take = 1});
  std::uint64_t restarts = 0;
  fabric.observe([&](const Passage&) {
    if (fault.done > restarts) {
      ++restarts;
      fabric.at(fabric.now() + microseconds(5), [&fabric, top] { fabric.crash(top); });
      fabric.at(fabric.now() + microseconds(6) + away, [&fabric, top] { fabric.restart(top); });
    }
  });
  const std::uint64_t others = run.random().below(3);
  if (others != 0) {
    fabric.set_faults({.loss = 0.01 * static_cast<double>(others),
                       .duplicate = 0.01 * static_cast<double>(run.random().below(4)),
                       .reorder = 0.02 * static_cast<double>(run.random().below(3)),
                       .jitter_ns = microseconds(run.random().below(20))});
  }
  run.start();
  run.finish(seconds(60));
  run.expect(fault.done == 1, "the fault struck");
  run.expect(is_parted(group), "all members have left, and knew that the others may");
  if (others == 0) {
    run.expect(all_know_of_the_loss(group), "all members learn which result is lost");
  }
  return run.report();
}

/// The same with vectors, of which more are in flight; each leaf may have missed some as well.
RunReport switch_forgets_vectors(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  VectorSetup setup = may_lose_results(vectors(run, run.all_hosts(), 16, 704));
  setup.lengths.assign(12, 1 + run.random().below(6000));
  setup.in_flight = 1 + run.random().below(4);
  const HostIndex root = setup.hosts[setup.root_rank];
  const VectorGroup& group = run.add_vectors(setup);
  Fabric& fabric = run.fabric();
  const SwitchIndex top = fabric.topology().edge_port(root).node;
  const AimedFault& fault = fabric.aim(
      {.fits = [root](const Passage& p) { return p.into_host(root) && p.bytes.size() > 94; },
       .skip = run.random().below(8),
       .take = 1 + run.random().below(6)});
  std::uint64_t restarts = 0;
  fabric.observe([&](const Passage&) {
    if (fault.done > restarts) {
      restarts = fault.done;
      fabric.at(fabric.now() + microseconds(5), [&fabric, top] { fabric.crash(top); });
      fabric.at(fabric.now() + microseconds(20), [&fabric, top] { fabric.restart(top); });
    }
  });
  run.start();
  run.fabric().run_until([&] { return group.complete(); }, run.fabric().now() + seconds(60));
  run.finish();
  return run.report();
}

/// The switch next to the root restarts after each of a reduction's frames in turn, by seed, while
/// others are lost or duplicated.
RunReport switch_restarts_at_any_time(const RunOptions& options) {
  Run run(options, two_level(2, 3));
  GroupSetup setup = may_lose_results(words(run, run.all_hosts(), 24));
  setup.gap_ns = run.random().below(2) * 20'000;
  Group& group = run.add_group(setup);
  Fabric& fabric = run.fabric();
  const SwitchIndex top = run.tree_of(group).front().at;
  // The first reductions have some 14 frames each; the seed chooses which one.
  const std::uint64_t nth = options.seed % 400;
  std::uint64_t seen = 0;
  fabric.observe([&](const Passage&) {
    if (seen++ % 400 == nth) {
      const TimeNs when = fabric.now() + run.random().below(4'000);
      fabric.at(when, [&fabric, top] { fabric.crash(top); });
      fabric.at(when + 1 + microseconds(run.random().below(100)),
                [&fabric, top] { fabric.restart(top); });
    }
  });
  fabric.set_faults({.loss = 0.02 * static_cast<double>(run.random().below(3)),
                     .duplicate = 0.02 * static_cast<double>(run.random().below(3))});
  run.start();
  run.fabric().run_until([&] { return group.complete(); }, run.fabric().now() + seconds(60));
  run.expect(group.complete(), "all is reduced, or has ended");
  run.finish(seconds(60));
  run.expect(is_parted(group), "all members have left, and knew that the others may");
  return run.report();
}

/// A thousand hosts, and the switch loses the result that the root has missed: a few of the leaves
/// report it.
RunReport switch_forgets_before_a_thousand(const RunOptions& options) {
  Run run(options, two_level(25, 40));
  Group& group = run.add_group(may_lose_results(words(run, run.all_hosts(), 12)));
  Fabric& fabric = run.fabric();
  const SwitchIndex top = run.tree_of(group).front().at;
  const HostIndex root = group.host(group.setup().root_rank);
  const AimedFault& fault =
      fabric.aim({.fits = [root](const Passage& p) { return is_arm(p) && p.into_host(root); },
                  .skip = run.random().below(10),
                  .take = 1});
  bool struck = false;
  fabric.observe([&](const Passage&) {
    if (fault.done > 0 && !std::exchange(struck, true)) {
      fabric.at(fabric.now() + microseconds(5), [&fabric, top] { fabric.crash(top); });
      fabric.at(fabric.now() + microseconds(50), [&fabric, top] { fabric.restart(top); });
    }
  });
  run.start();
  run.finish(seconds(60));
  const collective::Statistics s = group.statistics();
  run.expect(fault.done == 1 && all_know_of_the_loss(group),
             "all members learn which result is lost");
  run.expect(s.lost_results < 60, fmt::format("not all members reported it: {}", s.lost_results));
  return run.report();
}

/// The partial result of one leaf switch arrives twice and that of another is late: the count is
/// complete, and the members detect that not all have contributed.
RunReport counted_twice(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  GroupSetup setup = words(run, run.all_hosts(), 30);
  Group& group = run.add_group(setup);
  const SwitchIndex top = run.tree_of(group).front().at;
  const auto is_sum = [](const Passage& p) {
    return is_contribution(p) && p.reduction->word.count == 4 &&
           p.from.kind == LinkEnd::Kind::in_switch && p.to.kind == LinkEnd::Kind::in_switch;
  };
  const std::uint64_t nth = run.random().below(20);
  const AimedFault& twice = run.fabric().aim(
      {.fits = is_sum, .effect = AimedFault::Effect::duplicate, .skip = nth, .take = 20});
  const AimedFault& late = run.fabric().aim({.fits =
                                                 [&](const Passage& p) {
                                                   return is_contribution(p) &&
                                                          p.into_switch(top) &&
                                                          p.reduction->word.count == 1;
                                                 },
                                             .effect = AimedFault::Effect::delay,
                                             .skip = nth,
                                             .take = 40,
                                             .delay_ns = microseconds(300)});
  run.start();
  run.finish();
  run.expect(twice.done > 0 && late.done > 0, "the faults struck");
  run.expect(group.statistics().refused > 0 || engines(run, &core::EngineCounters::discarded) > 0,
             "and wrong counts were refused by members, or dropped by the switch");
  return run.report();
}

/// A dead member: the others are notified of it, by a roll call that bypasses the switch.
RunReport member_is_late(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  GroupSetup setup = words(run, run.all_hosts(), 12);
  Group& group = run.add_group(setup);
  std::uint32_t rank = static_cast<std::uint32_t>(run.random().below(8));
  group.misbehave(rank, 5, {.not_before = run.fabric().now() + seconds(3)});
  run.start();
  run.finish();
  if (rank != group.setup().root_rank) {
    run.expect(group.statistics().roll_calls > 0, "the roll was called");
  }
  return run.report();
}

/// The members expect in-switch results, and the switch does not produce them: the group works
/// without them.
RunReport not_by_the_switch(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  GroupSetup setup = words(run, run.all_hosts(), 20);
  setup.switch_has_in_switch = false;
  const Group& group = run.add_group(setup);
  run.start();
  run.finish();
  run.expect(group.statistics().in_switch == 0, "no in-switch result was sent");
  return run.report();
}

/// Engines without descriptors: contributions pass to the root, which adds them up itself.
RunReport few_descriptors(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.switches.settings.descriptors_per_engine = 3;
  Run run(options, two_level(2, 4), fabric_options);
  run.add_group(words(run, run.all_hosts(), 60));
  run.start();
  run.finish();
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"in_switch", "in-switch results without faults: no host asks", undisturbed, 10},
    Scenario{"in_switch_vectors", "the same with vectors", undisturbed_vectors, 10},
    Scenario{"in_switch_under_faults", "random fabrics, many groups, faults: every result right",
             under_faults, 60},
    Scenario{"in_switch_switch_restarts", "switches forget what they hold and keep",
             switch_restarts, 20},
    Scenario{"in_switch_root_misses", "the root misses results, which are sent again", root_misses,
             20},
    Scenario{"in_switch_root_misses_vectors", "the same with vectors, which have to fit",
             root_misses_vectors, 20},
    Scenario{"in_switch_switch_forgets", "the switch restarts before the root has what leaves have",
             switch_forgets_what_the_root_missed, 60},
    Scenario{"in_switch_switch_forgets_vectors", "the same with vectors", switch_forgets_vectors,
             20},
    Scenario{"in_switch_switch_forgets_1000", "of a thousand hosts a few report it",
             switch_forgets_before_a_thousand, 1},
    Scenario{"in_switch_switch_restarts_anytime", "after each of a reduction's frames in turn",
             switch_restarts_at_any_time, 100},
    Scenario{"in_switch_counted_twice", "full counts that lack a member are refused by all",
             counted_twice, 20},
    Scenario{"in_switch_member_is_late", "the roll is called, and the switch stays out",
             member_is_late, 10},
    Scenario{"in_switch_not_by_the_switch", "the switch was not told", not_by_the_switch, 4},
    Scenario{"in_switch_few_descriptors", "arms fail: the root adds", few_descriptors, 10},
};

} // namespace of_in_switch

std::span<const Scenario> in_switch_scenarios() { return of_in_switch::scenarios; }

} // namespace tributary::fabric
