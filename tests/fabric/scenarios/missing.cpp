// A member dies for good, or calls with another count, under engines with the product's own timers:
// every other member is notified which one, within the times of docs/protocol/collective.md.
#include "tests/fabric/scenarios/scenario.hpp"

#include <algorithm>
#include <array>

namespace tributary::fabric {

namespace of_missing {

using collective::Failure;

constexpr std::uint64_t named_within = milliseconds(2'100);
constexpr std::uint64_t member_timeout = seconds(6);
/// From the member time-out on: the retry that detects it.
constexpr std::uint64_t ended_after = milliseconds(2'100);

FabricOptions product_timers() {
  FabricOptions options;
  options.switches.settings.timers = core::EngineTimers{};
  return options;
}

/// Sixteen members in the demo's network that reduce for long, and one of them that dies.
struct Death {
  explicit Death(const RunOptions& options, std::uint64_t timeout_ns, bool root_dies)
      : run(options, two_level(4, 4), product_timers()) {
    GroupSetup setup{.hosts = run.all_hosts(), .pieces = 100'000};
    setup.root_rank = static_cast<std::uint32_t>(run.random().below(16));
    setup.parameters.member_timeout_ns = timeout_ns;
    group = &run.add_group(setup);
    const auto leaf = static_cast<std::uint32_t>(run.random().below(15));
    dead = root_dies ? setup.root_rank : leaf < setup.root_rank ? leaf : leaf + 1;
    run.start();
    run.fabric().run_until(run.fabric().now() + microseconds(run.random().between(50, 3'000)));
    run.fabric().set_host_alive(group->host(dead), false);
    run.fabric().count(Fault::dead_member);
  }
  template <typename Holds> [[nodiscard]] bool every_survivor(const Holds& holds) const {
    for (std::uint32_t rank = 0; rank < group->size(); ++rank) {
      if (rank != dead && !holds(group->member(rank))) {
        return false;
      }
    }
    return true;
  }
  /// The survivors have failed, and each names only the dead one as the cause.
  [[nodiscard]] bool all_know() const {
    collective::MissingRanks missing;
    missing.add(dead);
    return every_survivor([&](const collective::Member& member) {
      return member.failure() ==
             Failure{.reason = Failure::Reason::members_missing, .missing = missing};
    });
  }

  Run run;
  Group* group = nullptr;
  std::uint32_t dead = 0;
};

RunReport dead_member_is_named(const RunOptions& options) {
  Death death(options, 0, false);
  Run& run = death.run;
  run.fabric().run_until(run.fabric().now() + named_within);
  run.expect(death.every_survivor([&](const collective::Member& member) {
    return std::ranges::any_of(member.status(), [&](const collective::ReductionStatus& s) {
      return s.missing.count == 1 && s.missing.first[0] == death.dead;
    });
  }),
             "every survivor's status names the dead member, and it alone");
  run.expect(run.fabric().engines(&core::EngineCounters::partial) == 0,
             "no engine's own timer was waited for");
  run.expect(death.every_survivor([](const auto& member) { return !member.failure(); }),
             "without a member time-out the group waits on");
  run.fabric().audit();
  return run.report();
}

RunReport dead_member_ends_the_group(const RunOptions& options) {
  Death death(options, member_timeout, false);
  Run& run = death.run;
  const TimeNs died = run.fabric().now();
  const bool notified =
      run.fabric().run_until([&] { return death.all_know(); }, died + member_timeout + ended_after);
  run.expect(notified, "every survivor learns who is missing within the documented time");
  run.expect(run.fabric().now() >= died + milliseconds(5'900),
             "and not before the member time-out");
  run.fabric().run_until(run.fabric().now() + milliseconds(1));
  run.expect(run.fabric().descriptors_in_use() == 0, "the engines are free again at once");
  run.fabric().audit();
  return run.report();
}

RunReport dead_root_ends_the_group(const RunOptions& options) {
  Death death(options, member_timeout, true);
  Run& run = death.run;
  const bool notified = run.fabric().run_until([&] { return death.all_know(); },
                                               run.fabric().now() + member_timeout + ended_after);
  run.expect(notified, "every leaf names the root within the documented time");
  run.fabric().audit();
  return run.report();
}

RunReport different_counts(const RunOptions& options) {
  Run run(options, two_level(4, 4), product_timers());
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 40};
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(16));
  setup.elements = 160;
  setup.parameters.sends_marks = true;
  Group& group = run.add_group(setup);
  const auto leaf = static_cast<std::uint32_t>(run.random().below(15));
  const std::uint32_t other = leaf < setup.root_rank ? leaf : leaf + 1;
  const auto elements = static_cast<std::uint32_t>(run.random().between(1, 159));
  group.misbehave_always(other, {.elements = elements});
  run.start();
  const Failure expected{.reason = Failure::Reason::unequal_counts,
                         .one = {.rank = setup.root_rank, .elements = 160},
                         .other = {.rank = other, .elements = elements}};
  const auto all_know = [&] {
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      if (group.member(rank).failure() != expected) {
        return false;
      }
    }
    return true;
  };
  run.expect(run.fabric().run_until(all_know, run.fabric().now() + milliseconds(40)),
             "every member learns whose counts differ, and both counts");
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    run.expect(group.completed_pieces(rank) == 0, "no member has a result");
  }
  run.fabric().run_until(run.fabric().now() + milliseconds(1));
  run.expect(run.fabric().descriptors_in_use() == 0, "the engines are free again at once");
  run.fabric().audit();
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"dead_member_is_named", "a dead member, engines armed: all members learn who it is",
             dead_member_is_named, 5},
    Scenario{"dead_member_ends_the_group",
             "with a member time-out the group ends, and says for whom", dead_member_ends_the_group,
             5},
    Scenario{"dead_root_ends_the_group", "a dead root: its leaves name it",
             dead_root_ends_the_group, 5},
    Scenario{"different_counts",
             "one member calls with another count: an error at all, naming both", different_counts,
             10},
};

} // namespace of_missing

std::span<const Scenario> missing_scenarios() { return of_missing::scenarios; }

} // namespace tributary::fabric
