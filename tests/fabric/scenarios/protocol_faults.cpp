// Faults aimed at one step of the protocol: a particular arm, result or contribution, a member that
// is late or dead, engines that run out. After each, everything must complete.
#include "endpoint/collective/signature.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>

namespace tributary::fabric {

namespace of_protocol_faults {

constexpr std::uint64_t pieces = 24;

bool is_arm(const Passage& p) { return p.reduction && p.reduction->word.arm; }
/// A fresh result on its way down.
bool is_result(const Passage& p) {
  return is_arm(p) && p.reduction->word.count > 0 && !p.reduction->word.retry();
}
/// Any frame with contributions on its way up.
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

/// The nth arm into a random switch is lost, so that no host below it receives one.
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

/// Results are lost on their first link: no member gets them. The very last one is among them.
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

/// The last result is lost, and all frames from the leave on for a while, so that neither the
/// engines' timers nor the root's leave frames help: the root still has to answer.
RunReport lost_last_words(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const HostIndex host = demo.group->host(demo.random_leaf());
  std::uint64_t results = 0;
  std::optional<TimeNs> silence;
  const AimedFault& fault = run.fabric().aim({.fits = [&, host](const Passage& p) {
    if (!p.into_host(host)) {
      return false;
    }
    results += is_result(p) ? 1 : 0;
    if (!silence && results > pieces) {
      silence = p.now;
    }
    return silence ? elapsed_ns(p.now, *silence) < milliseconds(100)
                   : is_result(p) && results == pieces;
  }});
  run.start();
  run.finish();
  run.expect(fault.done >= 2, "the last result and that of the leave were lost");
  for (std::uint32_t rank = 0; rank < demo.group->size(); ++rank) {
    run.expect(!demo.group->member(rank).abandoned(), "no member gave up on the others");
  }
  return run.report();
}

/// A result is lost for all members while the root has nothing else to send: all request it at the
/// same time, and one answer serves all.
RunReport requests_of_all(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const std::uint32_t root_rank = demo.group->setup().root_rank;
  const HostIndex root = demo.root_host();
  const collective::PieceNumber piece = run.random().below(reductions_per_tree);
  for (std::uint32_t rank = 0; rank < demo.group->size(); ++rank) {
    demo.group->misbehave(rank, rank == root_rank ? piece + 1 : piece,
                          {.not_before = TimeNs{rank == root_rank ? seconds(1) : milliseconds(1)}});
  }
  const AimedFault& fault =
      run.fabric().aim({.fits =
                            [root, piece](const Passage& p) {
                              return is_result(p) && p.out_of_host(root) &&
                                     p.reduction->reduction == collective::reduction_of(piece);
                            },
                        .take = 1});
  run.start();
  run.finish();
  run.expect(fault.done == 1, "the fault struck");
  const collective::Statistics s = demo.group->statistics();
  run.expect(s.requests_received >= 15, "every leaf asked");
  run.expect(s.replayed == 1, "the root answered all of them with one frame");
  return run.report();
}

/// Old frames of the root reach one leaf again, long after: it ignores all of them.
RunReport delayed_duplicates_from_above(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 200};
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(16));
  Group& group = run.add_group(setup);
  const HostIndex host =
      group.host((setup.root_rank + 1 + static_cast<std::uint32_t>(run.random().below(15))) % 16);
  constexpr std::uint64_t twice = 80;
  const AimedFault& fault =
      run.fabric().aim({.fits = [host](const Passage& p) { return is_arm(p) && p.into_host(host); },
                        .effect = AimedFault::Effect::duplicate,
                        .skip = run.random().below(32),
                        .take = twice,
                        .delay_ns = microseconds(500)});
  run.start();
  run.finish();
  run.expect(fault.done == twice, "the fault struck");
  const collective::Statistics s = group.statistics();
  run.expect(s.reordered == twice, "the leaf took none of them for news");
  run.expect(s.retried == 0 && s.requests_sent == 0, "no member had to ask again");
  return run.report();
}

/// A group is silent for so long that a leaf would accept an older sequence, as after a restarted
/// root. Then the first reduction's arm arrives again, the leaf contributes, and that reduction's
/// result arrives again: it must not complete the leaf's latest contribution.
RunReport old_words_after_a_silence(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const std::uint32_t leaf = demo.random_leaf();
  const HostIndex host = demo.group->host(leaf);
  for (std::uint32_t rank = 0; rank < demo.group->size(); ++rank) {
    demo.group->misbehave(rank, reductions_per_tree,
                          {.not_before = TimeNs{seconds(rank == leaf ? 10 : 11)}});
  }
  const auto first = [host](const Passage& p) {
    return is_arm(p) && p.into_host(host) && p.reduction->reduction == ReductionId{0};
  };
  const AimedFault& arm = run.fabric().aim({.fits = first,
                                            .effect = AimedFault::Effect::duplicate,
                                            .take = 1,
                                            .delay_ns = milliseconds(9'500)});
  const AimedFault& result = run.fabric().aim({.fits = first,
                                               .effect = AimedFault::Effect::duplicate,
                                               .skip = 1,
                                               .take = 1,
                                               .delay_ns = milliseconds(10'500)});
  run.start();
  run.finish();
  run.expect(arm.done == 1 && result.done == 1, "the faults struck");
  run.expect(demo.group->statistics().reordered >= 2, "the leaf took neither for news");
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

/// Two members below one leaf switch are late, so that its timer sends a partial result of the
/// other two, and that arrives twice: the count is right, the contents are not. The switch above
/// cannot know the members below the port; the signature must show it.
RunReport duplicated_partial(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const std::uint32_t root_leaf = demo.group->setup().root_rank / 4;
  const std::uint32_t leaf =
      (root_leaf + 1 + static_cast<std::uint32_t>(run.random().below(3))) % 4;
  // Engines give up on the late members after 20 ms, and the root asks again after 32: between the
  // two, the second copy takes the place of the missing one.
  for (const std::uint32_t late : {4 * leaf, 4 * leaf + 1}) {
    demo.group->misbehave(late, 0, {.not_before = TimeNs{milliseconds(28)}});
  }
  const AimedFault& fault = run.fabric().aim({.fits =
                                                  [leaf](const Passage& p) {
                                                    return p.out_of_switch(leaf + 1) &&
                                                           p.reduction && !p.reduction->word.arm &&
                                                           p.reduction->word.count == 2;
                                                  },
                                              .effect = AimedFault::Effect::duplicate,
                                              .take = 1,
                                              .delay_ns = microseconds(300)});
  run.start();
  run.finish();
  run.expect(fault.done == 1, "the fault struck");
  run.expect(demo.group->statistics().double_counted > 0,
             "the root refused a count that did not include each member once");
  return run.report();
}

/// A member's contribution arrives twice while another one is missing: the first switch knows that
/// one member is behind that port, and the root is not affected.
RunReport duplicated_contribution(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
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
  run.expect(run.fabric().drops(core::DropReason::counted_twice) == 1,
             "the first switch dropped the second copy");
  run.expect(demo.group->statistics().double_counted == 0, "the root had nothing to refuse");
  return run.report();
}

/// A member contributes for another one that is late: its frame counts two and has the signatures
/// of both, so that the root could not detect it. No switch next to a member accepts it, whether
/// its engine is armed (even seeds) or has no descriptor (odd ones).
RunReport member_answers_for_another(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.switches.settings.descriptors_per_engine = options.seed % 2 == 0 ? 8 : 0;
  Demo demo(options, fabric_options);
  Run& run = demo.run;
  Fabric& fabric = run.fabric();
  const std::uint32_t greedy = demo.random_leaf();
  std::uint32_t victim = greedy;
  while (victim == greedy) {
    victim = demo.random_leaf();
  }
  demo.group->misbehave(victim, 0, {.not_before = TimeNs{milliseconds(28)}});
  const HostIndex host = demo.group->host(greedy);
  const std::uint64_t victims =
      collective::signature_base(demo.group->setup().cookie, victim); // of piece 0
  bool sent = false;
  const AimedFault& honest = fabric.aim(
      {.fits =
           [&, host](const Passage& p) {
             if (!is_contribution(p) || !p.out_of_host(host) || p.reduction->word.count != 1 ||
                 p.reduction->reduction != ReductionId{0}) {
               return false;
             }
             if (!sent) {
               wire::ReductionFrame both = *p.reduction;
               both.word.count = 2;
               both.signature = (both.signature + victims) & wire::signature_mask;
               std::vector<std::byte> bytes(wire::reduction_frame_bytes);
               wire::encode(both, std::span<std::byte, wire::reduction_frame_bytes>(bytes));
               fabric.at(p.now, [&fabric, host, bytes] { fabric.send_from_host(host, bytes); });
               sent = true;
             }
             return true;
           },
       .take = 1});
  run.start();
  run.finish();
  run.expect(honest.done == 1, "the greedy member's own contribution was replaced");
  run.expect(fabric.drops(core::DropReason::counts_others) == 1,
             "the first switch did not believe it");
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

/// The root itself is late: all others have contributed long before it begins.
RunReport late_root(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  demo.group->misbehave(demo.group->setup().root_rank, run.random().below(pieces),
                        {.not_before = TimeNs{milliseconds(200) + run.random().below(seconds(3))}});
  run.start();
  run.finish();
  return run.report();
}

/// A member stops, and resumes after seconds with its state: it was suspended, or cut off.
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
  run.expect(fabric.accounting().of(Fate::host_dead) > 0, "frames arrived while it was dead");
  return run.report();
}

/// One member contributes with another operator: all members are notified of it, and of the two
/// ranks.
RunReport wrong_opcode(const RunOptions& options) {
  Demo demo(options);
  Run& run = demo.run;
  const collective::PieceNumber piece = run.random().below(pieces);
  // INT_MAX or INT_MIN: whatever the piece's operator, at least one of the two differs.
  demo.group->misbehave(demo.random_leaf(), piece, {.opcode = wire::Opcode::int_max});
  demo.group->misbehave(demo.random_leaf(), (piece + 1) % pieces,
                        {.opcode = wire::Opcode::int_min});
  run.start();
  run.finish();
  const auto rc = [&](collective::PieceNumber p) { return demo.group->result(p)->rc; };
  run.expect(rc(piece) == wire::ResultCode::op_mismatch ||
                 rc((piece + 1) % pieces) == wire::ResultCode::op_mismatch,
             "a mismatch was reported");
  run.expect(run.fabric().engines(&core::EngineCounters::op_mismatches) > 0 ||
                 demo.group->statistics().full < pieces,
             "an engine saw it, or the root did");
  return run.report();
}

/// An attacker sends recorded contributions again.
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
    Scenario{"lost_result_for_all", "results are lost for all members", lost_result_for_all},
    Scenario{"lost_last_words", "a member misses the last result and the leave's", lost_last_words},
    Scenario{"requests_of_all", "all leaves ask for a result at once: one answer", requests_of_all},
    Scenario{"delayed_duplicates_from_above", "a leaf hears the root's old words again",
             delayed_duplicates_from_above},
    Scenario{"old_words_after_a_silence", "old words come again when the group was silent",
             old_words_after_a_silence},
    Scenario{"lost_contribution", "contributions of one member are lost", lost_contribution},
    Scenario{"duplicated_partial", "two counted twice, two missing: the count is right",
             duplicated_partial},
    Scenario{"duplicated_contribution", "one comes twice, one is missing: the first switch knows",
             duplicated_contribution},
    Scenario{"member_answers_for_another", "a count of two with both signatures is not believed",
             member_answers_for_another},
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

} // namespace of_protocol_faults

std::span<const Scenario> protocol_fault_scenarios() { return of_protocol_faults::scenarios; }

} // namespace tributary::fabric
