// Faults aimed at one step of the protocol: a particular arm, result or contribution, a member that
// is late or dead, engines that run out. After each, everything must complete.
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>

namespace tributary::fabric {

namespace {

constexpr std::uint64_t pieces = 24;

bool is_arm(const Passage& p) { return p.reduction && p.reduction->word.arm; }
/// A fresh result on its way down.
bool is_result(const Passage& p) {
  return is_arm(p) && p.reduction->word.count > 0 && !p.reduction->word.retry();
}
/// Whatever counts contributions on its way up.
bool is_contribution(const Passage& p) {
  return p.reduction && !p.reduction->word.arm && p.reduction->word.count > 0 &&
         p.from.kind == LinkEnd::Kind::host;
}

/// Sixteen members in the demo's network, the root a random one.
struct Demo {
  explicit Demo(const RunOptions& options, FabricOptions fabric_options = {})
      : run(options, two_level(4, 4), std::move(fabric_options)) {
    GroupSetup setup{.hosts = run.all_hosts(), .pieces = pieces};
    setup.root_rank = static_cast<std::uint32_t>(run.random().below(16));
    group = &run.add_group(setup);
  }
  [[nodiscard]] std::uint32_t random_leaf() {
    const auto rank = static_cast<std::uint32_t>(run.random().below(15));
    return rank < group->setup().root_rank ? rank : rank + 1;
  }
  [[nodiscard]] HostIndex root_host() const { return group->host(group->setup().root_rank); }

  Run run;
  Group* group = nullptr;
};

/// The nth arm into a random switch is lost, so that all below it hear nothing.
RunReport lost_arm_to_switch(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const auto at = static_cast<SwitchIndex>(run.random().below(5));
  const AimedFault& fault =
      run.fabric().aim({.fits = [at](const Passage& p) { return is_arm(p) && p.into_switch(at); },
                        .skip = run.random().below(pieces),
                        .take = 1});
  run.start();
  run.finish();
  run.expect(fault.done == 1, "the fault struck");
  run.expect(demo.group->statistics().retried + demo.group->statistics().replayed > 0,
             "the root asked again");
  return run.report();
}

RunReport lost_arm_to_host(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const HostIndex host = demo.group->host(demo.random_leaf());
  const AimedFault& fault =
      run.fabric().aim({.fits = [host](const Passage& p) { return is_arm(p) && p.into_host(host); },
                        .skip = run.random().below(pieces),
                        .take = 1 + run.random().below(3)});
  run.start();
  run.finish();
  run.expect(fault.done > 0, "the fault struck");
  return run.report();
}

/// A member misses a result, and with it the arm of the next sequence.
RunReport lost_result(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const HostIndex host = demo.group->host(demo.random_leaf());
  const AimedFault& fault = run.fabric().aim(
      {.fits = [host](const Passage& p) { return is_result(p) && p.into_host(host); },
       .skip = run.random().below(pieces),
       .take = 1});
  run.start();
  run.finish();
  run.expect(fault.done == 1, "the fault struck");
  run.expect(demo.group->statistics().recovered > 0, "the result came with a retry");
  return run.report();
}

/// Results are lost on their first link: nobody gets them. The last one of all among them.
RunReport lost_result_for_all(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const HostIndex root = demo.root_host();
  const AimedFault& fault = run.fabric().aim(
      {.fits = [root](const Passage& p) { return is_result(p) && p.out_of_host(root); },
       .skip = run.random().below(pieces),
       .take = 1 + run.random().below(4)});
  run.start();
  run.finish();
  run.expect(fault.done > 0, "the fault struck");
  run.expect(demo.group->statistics().recovered > 0, "the results came with retries");
  return run.report();
}

/// Everything the root says of the last piece and of the parting is lost for a while.
RunReport lost_last_words(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const HostIndex host = demo.group->host(demo.random_leaf());
  const AimedFault& fault = run.fabric().aim(
      {.fits = [host](const Passage& p) { return is_result(p) && p.into_host(host); },
       .skip = pieces - 1,
       .take = 2});
  run.start();
  run.finish();
  run.expect(fault.done == 2, "the last result and that of the parting were lost");
  for (std::uint32_t rank = 0; rank < demo.group->size(); ++rank) {
    run.expect(!demo.group->member(rank).abandoned(), "nobody gave up on the others");
  }
  return run.report();
}

RunReport lost_contribution(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const HostIndex host = demo.group->host(demo.random_leaf());
  const AimedFault& fault = run.fabric().aim(
      {.fits = [host](const Passage& p) { return is_contribution(p) && p.out_of_host(host); },
       .skip = run.random().below(pieces),
       .take = 1 + run.random().below(3)});
  run.start();
  run.finish();
  run.expect(fault.done > 0, "the fault struck");
  run.expect(demo.group->statistics().retried > 0, "the root asked again");
  run.expect(run.fabric().engines(&core::EngineCounters::partial) > 0 ||
                 run.fabric().engines(&core::EngineCounters::discarded) > 0,
             "engines were left with an incomplete reduction");
  return run.report();
}

/// A contribution comes twice: the count is right, the contents are not. Counts cannot tell; the
/// signature must.
RunReport duplicated_contribution(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  // Engines give up on the late member after 20 ms, and the root asks again after 32: between the
  // two, the second copy stands in for the missing contribution.
  const std::uint32_t twice = demo.random_leaf();
  std::uint32_t late = twice;
  while (late == twice) {
    late = demo.random_leaf();
  }
  demo.group->misbehave(late, 0, {.not_before = TimeNs{milliseconds(28)}});
  const HostIndex host = demo.group->host(twice);
  const AimedFault& fault = run.fabric().aim(
      {.fits = [host](const Passage& p) { return is_contribution(p) && p.out_of_host(host); },
       .effect = AimedFault::Effect::duplicate,
       .take = 1,
       .delay_ns = microseconds(300)});
  run.start();
  run.finish();
  run.expect(fault.done == 1, "the fault struck");
  run.expect(demo.group->statistics().double_counted > 0,
             "the root refused a count that was not made of everybody once");
  return run.report();
}

/// A duplicate that arrives long after its reduction must not take part in a later one.
RunReport delayed_duplicates(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const AimedFault& fault =
      run.fabric().aim({.fits = is_contribution,
                        .effect = AimedFault::Effect::duplicate,
                        .skip = run.random().below(16),
                        .take = 60,
                        .delay_ns = microseconds(40 + run.random().below(400))});
  run.start();
  run.finish();
  run.expect(fault.done == 60, "the fault struck");
  return run.report();
}

/// Several groups below one root share its engine, which has but two descriptors.
RunReport exhausted_descriptors(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.switches.settings.descriptors_per_engine = 2;
  Run run(options, two_level(4, 4), fabric_options);
  for (std::uint16_t i = 0; i < 3; ++i) {
    run.add_group({.vni = Vni{static_cast<std::uint16_t>(0x400 + i)},
                   .hosts = run.all_hosts(),
                   .root_rank = 3,
                   .pieces = pieces});
  }
  run.start();
  run.finish();
  const std::uint64_t failures = run.fabric().engines(&core::EngineCounters::arm_failures);
  run.expect(failures > 0, "arming failed for want of descriptors");
  run.expect(run.fabric().engines(&core::EngineCounters::full) > 0,
             "some were reduced all the same");
  run.fabric().count(Fault::few_descriptors, failures);
  return run.report();
}

/// A member that is late by seconds, over many retries.
RunReport late_leaf_by_seconds(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const std::uint32_t late = demo.random_leaf();
  demo.group->misbehave(late, run.random().below(pieces),
                        {.not_before = TimeNs{seconds(2) + run.random().below(seconds(6))}});
  run.start();
  run.finish();
  run.expect(demo.group->statistics().retried > 0, "the root asked again meanwhile");
  run.expect(run.fabric().now() > TimeNs{seconds(2)}, "it took its time");
  return run.report();
}

/// The root itself is late: everybody has contributed long before it begins.
RunReport late_root(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  demo.group->misbehave(demo.group->setup().root_rank, run.random().below(pieces),
                        {.not_before = TimeNs{milliseconds(200) + run.random().below(seconds(3))}});
  run.start();
  run.finish();
  return run.report();
}

/// A member dies, and comes back after seconds with its state: it was stopped, or cut off.
RunReport dead_leaf_comes_back(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const HostIndex host = demo.group->host(demo.random_leaf());
  Fabric& fabric = run.fabric();
  run.start();
  fabric.at(fabric.now() + microseconds(run.random().between(5, 300)), [&fabric, host] {
    fabric.count(Fault::dead_member);
    fabric.set_host_alive(host, false);
  });
  fabric.at(fabric.now() + milliseconds(run.random().between(50, 9'000)),
            [&fabric, host] { fabric.set_host_alive(host, true); });
  run.finish();
  run.expect(fabric.books().of(Fate::host_dead) > 0, "frames arrived while it was dead");
  return run.report();
}

/// One member contributes with another operator: everybody learns of it, and of whom.
RunReport wrong_opcode(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const collective::PieceNumber piece = run.random().below(pieces);
  // INT_MAX or INT_MIN: whichever the piece is, at least one of the two wrong ones differs.
  demo.group->misbehave(demo.random_leaf(), piece, {.opcode = reduce::Opcode::int_max});
  demo.group->misbehave(demo.random_leaf(), (piece + 1) % pieces,
                        {.opcode = reduce::Opcode::int_min});
  run.start();
  run.finish();
  const auto rc = [&](collective::PieceNumber p) { return demo.group->result(p)->rc; };
  run.expect(rc(piece) == reduce::ResultCode::op_mismatch ||
                 rc((piece + 1) % pieces) == reduce::ResultCode::op_mismatch,
             "a mismatch was reported");
  run.expect(run.fabric().engines(&core::EngineCounters::op_mismatches) > 0 ||
                 demo.group->statistics().full < pieces,
             "an engine saw it, or the root did");
  return run.report();
}

/// Old contributions are sent again by somebody who recorded them.
RunReport replayed_contributions(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  Fabric& fabric = run.fabric();
  std::vector<std::pair<HostIndex, std::vector<std::byte>>> recorded;
  fabric.observe([&recorded](const Passage& p) {
    if (is_contribution(p) && recorded.size() < 200) {
      recorded.emplace_back(p.from.node, std::vector(p.bytes.begin(), p.bytes.end()));
    }
  });
  run.start();
  for (std::uint64_t i = 0; i < 150; ++i) {
    fabric.at(fabric.now() + microseconds(50 + 4 * i), [&] {
      if (!recorded.empty()) {
        const auto& [host, bytes] = recorded[run.random().below(recorded.size())];
        fabric.count(Fault::stale_replay);
        fabric.send_from_host(host, bytes);
      }
    });
  }
  run.finish();
  run.expect(fabric.fault_counts().of(Fault::stale_replay) > 0, "the fault struck");
  run.expect(fabric.drops(core::DropReason::stale_sequence) > 0,
             "engines dropped contributions to older sequences");
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"lost_arm_to_switch", "the nth arm into a switch is lost", lost_arm_to_switch},
    Scenario{"lost_arm_to_host", "arms to one member are lost", lost_arm_to_host},
    Scenario{"lost_result", "one member misses a result", lost_result},
    Scenario{"lost_result_for_all", "results are lost for everybody", lost_result_for_all},
    Scenario{"lost_last_words", "a member misses the last result and the parting's",
             lost_last_words},
    Scenario{"lost_contribution", "contributions of one member are lost", lost_contribution},
    Scenario{"duplicated_contribution", "one counted twice, one missing: the count is right",
             duplicated_contribution},
    Scenario{"delayed_duplicates", "contributions come again during later reductions",
             delayed_duplicates},
    Scenario{"exhausted_descriptors", "three groups on engines of two descriptors",
             exhausted_descriptors},
    Scenario{"late_leaf_by_seconds", "a member is late by seconds", late_leaf_by_seconds},
    Scenario{"late_root", "the root is late", late_root},
    Scenario{"dead_leaf_comes_back", "a member is dead for a while", dead_leaf_comes_back},
    Scenario{"wrong_opcode", "members disagree about the operator", wrong_opcode},
    Scenario{"replayed_contributions", "recorded contributions are sent again",
             replayed_contributions},
};

} // namespace

std::span<const Scenario> protocol_fault_scenarios() { return scenarios; }

} // namespace tributary::fabric
