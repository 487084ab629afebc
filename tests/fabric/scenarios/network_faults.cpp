// Faults of links, switches and tables, one at a time.
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>

namespace tributary::fabric {

namespace of_network_faults {

constexpr std::uint64_t pieces = 40;

/// A random network of at least five switches with one group of at least sixteen members, under
/// one kind of chance fault.
/// The faults stop when all is complete, or after `longest_ns`.
RunReport under(const RunOptions& options, const LinkFaults& faults, Fault kind,
                std::uint64_t longest_ns = seconds(120)) {
  Random random = Random(options.seed).fork(3);
  FabricOptions fabric_options;
  fabric_options.switches.workers = 1 + static_cast<std::uint32_t>(random.below(2));
  Run run(options,
          random_network(5 + static_cast<std::uint32_t>(random.below(6)),
                         16 + static_cast<std::uint32_t>(random.below(24)), 2, random),
          fabric_options);
  GroupSetup setup{.hosts = run.choose_hosts(16 + run.random().below(25)), .pieces = pieces};
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
  const Group& group = run.add_group(setup);
  run.fabric().set_faults(faults);
  run.start();
  run.fabric().run_until([&] { return group.complete(); }, run.fabric().now() + longest_ns);
  run.finish();
  run.expect(run.fabric().fault_counts().of(kind) > 0, "the fault struck");
  return run.report();
}

RunReport loss(const RunOptions& options) { return under(options, {.loss = 0.02}, Fault::loss); }
RunReport heavy_loss(const RunOptions& options) {
  // A reduction needs every frame of one attempt to arrive, so few complete before the loss ends.
  return under(options, {.loss = 0.3}, Fault::loss, seconds(2));
}
RunReport duplication(const RunOptions& options) {
  return under(options, {.duplicate = 0.05, .jitter_ns = microseconds(40)}, Fault::duplicate);
}
RunReport reordering(const RunOptions& options) {
  return under(options, {.reorder = 0.1}, Fault::reorder);
}
/// Losses occur in bursts of five frames on average.
RunReport burst_loss(const RunOptions& options) {
  return under(options, {.good_to_bad = 0.005, .bad_to_good = 0.2, .loss_bad = 0.8},
               Fault::burst_loss);
}
RunReport reordering_by_distance(const RunOptions& options) {
  return under(options, {.reorder = 0.1, .reorder_distance = 3, .hold_ns = microseconds(500)},
               Fault::reorder);
}
/// Links that are slower than the offered traffic, with a short queue in front.
RunReport rate_limit(const RunOptions& options) {
  return under(options, {.rate_kbps = 20'000, .rate_burst_bytes = 200, .rate_queue_bytes = 300},
               Fault::rate_limit);
}
/// Hellos and ordinary frames pass; reduction frames on their way up do not always.
RunReport loss_of_contributions(const RunOptions& options) {
  LinkFaults faults{.loss = 0.03, .kinds = {}};
  faults.kinds.insert(impairment::Kind::reduction);
  return under(options, faults, Fault::loss);
}
RunReport jitter(const RunOptions& options) {
  return under(options, {.jitter_ns = microseconds(200)}, Fault::jitter);
}
RunReport wire_corruption(const RunOptions& options) {
  return under(options, {.wire_damage = 0.03}, Fault::wire_corruption);
}
RunReport header_corruption(const RunOptions& options) {
  return under(options, {.header_damage = 0.03}, Fault::header_corruption);
}

/// The demo's network with one group whose root is chosen at random.
struct Demo {
  explicit Demo(const RunOptions& options, FabricOptions fabric_options = {})
      : run(options, two_level(4, 5), std::move(fabric_options)) {
    GroupSetup setup{.hosts = run.all_hosts(), .pieces = 200};
    setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
    group = &run.add_group(setup);
  }
  [[nodiscard]] const TreePart& some_part() {
    const auto& parts = run.tree_of(*group);
    return parts[run.random().below(parts.size())];
  }
  Run run;
  Group* group = nullptr;
};

/// Sequence numbers wrap while frames are lost, doubled and overtaken.
RunReport sequence_wrap_under_faults(const RunOptions& options) {
  Run run(options, two_level(2, 3));
  GroupSetup setup{.hosts = run.all_hosts(), .pieces = 10'000, .gap_ns = 2'000};
  setup.parameters.retry_ns = milliseconds(1);
  run.add_group(setup);
  run.fabric().set_faults({.loss = 0.002, .duplicate = 0.01, .reorder = 0.01});
  run.start();
  run.complete_within(seconds(120));
  run.finish();
  run.expect(run.fabric().fault_counts().of(Fault::loss) > 0 &&
                 run.fabric().fault_counts().of(Fault::duplicate) > 0 &&
                 run.fabric().fault_counts().of(Fault::reorder) > 0,
             "the faults struck");
  return run.report();
}

RunReport link_down(const RunOptions& options) {
  Demo demo(options);
  Fabric& fabric = demo.run.fabric();
  demo.run.start();
  for (int i = 0; i < 3; ++i) {
    const auto link =
        static_cast<LinkIndex>(demo.run.random().below(fabric.topology().links().size()));
    const TimeNs down = fabric.now() + microseconds(demo.run.random().between(20, 2'000));
    fabric.at(down, [&fabric, link] { fabric.set_link_up(link, false); });
    fabric.at(down + demo.run.random().between(1, milliseconds(300)),
              [&fabric, link] { fabric.set_link_up(link, true); });
  }
  demo.run.finish();
  demo.run.expect(fabric.accounting().of(Fate::link_down) > 0,
                  "frames were lost on links that were down");
  return demo.run.report();
}

RunReport switch_crash(const RunOptions& options) {
  Demo demo(options);
  Fabric& fabric = demo.run.fabric();
  demo.run.start();
  const SwitchIndex s = demo.some_part().at;
  const TimeNs down = fabric.now() + microseconds(demo.run.random().between(20, 1'500));
  fabric.at(down, [&fabric, s] { fabric.crash(s); });
  fabric.at(down + demo.run.random().between(microseconds(50), seconds(2)),
            [&fabric, s] { fabric.restart(s); });
  demo.run.finish();
  demo.run.expect(fabric.accounting().of(Fate::switch_silent) > 0,
                  "frames came to the crashed switch");
  return demo.run.report();
}

RunReport switch_silence(const RunOptions& options) {
  Demo demo(options);
  Fabric& fabric = demo.run.fabric();
  demo.run.start();
  const SwitchIndex s = demo.some_part().at;
  const std::uint64_t silence = demo.run.random().between(microseconds(50), milliseconds(200));
  fabric.at(fabric.now() + microseconds(demo.run.random().between(20, 1'500)),
            [&fabric, s, silence] { fabric.silence(s, silence); });
  demo.run.finish();
  demo.run.expect(fabric.accounting().of(Fate::switch_silent) > 0,
                  "frames came to the silent switch");
  return demo.run.report();
}

/// The group's tree is removed from one switch and restored, under traffic.
RunReport tree_removed(const RunOptions& options) {
  Demo demo(options);
  Fabric& fabric = demo.run.fabric();
  demo.run.start();
  const TreeNumber tree = demo.group->setup().tree;
  const TreePart part = demo.some_part();
  const TimeNs when = fabric.now() + microseconds(demo.run.random().between(20, 1'500));
  fabric.at(when, [&fabric, tree, part] {
    fabric.count(Fault::table_change);
    fabric.remove(tree, part.at);
    fabric.publish(part.at);
  });
  fabric.at(when + demo.run.random().between(microseconds(10), milliseconds(100)),
            [&fabric, tree, part] {
              fabric.set_part(tree, part);
              fabric.publish(part.at);
            });
  demo.run.finish();
  demo.run.expect(fabric.drops(core::DropReason::unknown_tree) > 0,
                  "frames came while the tree was not there");
  return demo.run.report();
}

/// Other trees come and go, and the same tables are published again and again: the running group
/// must not be affected.
RunReport other_trees_change(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.switches.workers = 2;
  Demo demo(options, fabric_options);
  Run& run = demo.run;
  Fabric& fabric = run.fabric();
  run.start();
  for (std::uint64_t i = 0; i < 60; ++i) {
    fabric.at(fabric.now() + microseconds(10 + 20 * i), [&run, &fabric, i] {
      const auto members = run.choose_hosts(8);
      const TreeNumber other{static_cast<std::uint16_t>(4'000 + i % 5)};
      fabric.count(Fault::table_change);
      fabric.remove(other);
      fabric.install(other, multicast_tree(fabric.topology(), members[0], members, run.random()));
      fabric.publish_all();
    });
  }
  run.finish();
  const collective::Statistics s = demo.group->statistics();
  run.expect(s.full == 200 && s.retried == 0, "every reduction was full, nothing was retried");
  return run.report();
}

/// The group's tree is moved to other links while it is at work.
RunReport tree_moved(const RunOptions& options) {
  Random random = Random(options.seed).fork(4);
  Run run(options, random_network(8, 24, 12, random));
  GroupSetup setup{.hosts = run.choose_hosts(20), .pieces = 200};
  Group& group = run.add_group(setup);
  Fabric& fabric = run.fabric();
  run.start();
  for (std::uint64_t i = 0; i < 4; ++i) {
    fabric.at(fabric.now() + microseconds(100 + 300 * i + run.random().below(200)), [&run, &fabric,
                                                                                     &group] {
      fabric.count(Fault::table_change);
      fabric.remove(group.setup().tree);
      fabric.install(group.setup().tree, multicast_tree(fabric.topology(), group.host(0),
                                                        group.setup().hosts, run.random()));
      // One switch after the other, as no controller can change all at the same time.
      for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
        fabric.at(fabric.now() + run.random().below(microseconds(50)),
                  [&fabric, s] { fabric.publish(s); });
      }
    });
  }
  run.finish();
  return run.report();
}

/// Timers that want to emit find no buffer at first.
RunReport no_buffers(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.switches.no_buffer = 0.7;
  Demo demo(options, fabric_options);
  demo.run.fabric().set_faults({.loss = 0.02});
  demo.run.start();
  demo.run.complete_within(seconds(120));
  demo.run.finish();
  demo.run.expect(demo.run.fabric().fault_counts().of(Fault::no_buffer) > 0, "the fault struck");
  demo.run.expect(demo.run.fabric().engines(&core::EngineCounters::emission_delayed) > 0,
                  "engines counted what they put off");
  return demo.run.report();
}

constexpr std::array scenarios = {
    Scenario{"loss", "2 % of all frames on every link are lost, without end", loss, 40},
    Scenario{"heavy_loss", "30 % of all frames on every link are lost, for two seconds", heavy_loss,
             40},
    Scenario{"duplication", "5 % of all frames come twice", duplication, 40},
    Scenario{"reordering", "10 % of all frames are overtaken", reordering, 40},
    Scenario{"reordering_by_distance", "10 % of all frames are overtaken by three others",
             reordering_by_distance, 40},
    Scenario{"burst_loss", "frames are lost five at a time in the mean", burst_loss, 40},
    Scenario{"rate_limit", "links that carry less than is sent, and drop what waits too long",
             rate_limit, 40},
    Scenario{"loss_of_contributions", "3 % loss, of contributions and partial results alone",
             loss_of_contributions, 40},
    Scenario{"jitter", "every frame is delayed by up to 200 us", jitter},
    Scenario{"wire_corruption", "bits change on the wire: the FCS catches it", wire_corruption},
    Scenario{"header_corruption", "header bits change before the FCS: the checksum catches it",
             header_corruption},
    Scenario{"sequence_wrap_under_faults", "sequence numbers wrap under loss and duplication",
             sequence_wrap_under_faults, 4},
    Scenario{"link_down", "links go down and come back", link_down, 40},
    Scenario{"switch_crash", "a switch loses its state and comes back", switch_crash, 40},
    Scenario{"switch_silence", "a switch does nothing for a while", switch_silence, 40},
    Scenario{"tree_removed", "the group's tree is removed and comes back", tree_removed, 40},
    Scenario{"tree_moved", "the group's tree takes other links", tree_moved, 40},
    Scenario{"other_trees_change", "other trees come and go: no effect", other_trees_change},
    Scenario{"no_buffers", "no buffer is free for partial results", no_buffers},
};

} // namespace of_network_faults

std::span<const Scenario> network_fault_scenarios() { return of_network_faults::scenarios; }

} // namespace tributary::fabric
