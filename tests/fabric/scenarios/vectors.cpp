// Vectors in wide frames: switches that hold them in slots, hosts with up to 128 in flight.
#include "tests/fabric/scenarios/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tributary::fabric {

namespace of_vectors {

VectorSetup wide(std::vector<HostIndex> hosts, std::uint32_t slots, std::uint32_t payload) {
  VectorSetup setup{.hosts = std::move(hosts)};
  setup.parameters.slots = slots;
  setup.parameters.payload = payload;
  return setup;
}

/// Lengths from one element to some dozens of pieces.
std::vector<std::size_t> some_lengths(Random& random, std::size_t count, std::size_t most) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    // As often short as long.
    lengths.push_back(1 + random.below(std::max<std::size_t>(most >> random.below(12), 1)));
  }
  return lengths;
}

/// Without faults: each piece reaches the root as one frame, and no member sends a request.
RunReport undisturbed(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  VectorSetup setup = wide(run.all_hosts(), 64, 384);
  setup.lengths = {1, 8, 9, 100, 2000, 96, 97, 5000, 3, 640};
  const VectorGroup& group = run.add_vectors(setup);
  run.start();
  run.finish();
  const collective::Statistics s = group.statistics();
  run.expect(s.reduction_frames * group.size() == s.completed, "one frame per piece at the root");
  run.expect(s.overdue == 0 && s.retried == 0 && s.requests_sent == 0,
             "no host asked for anything");
  run.expect(s.malformed == 0 && s.outbox_full == 0, "nothing was in vain");
  return run.report();
}

/// Groups of eight with vectors of 32 bytes use 84-byte frames.
RunReport of_words(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  VectorSetup setup{.hosts = run.all_hosts()};
  setup.lengths = {1, 8, 9, 100, 97, 300};
  run.add_vectors(setup);
  run.start();
  run.finish();
  return run.report();
}

/// Random fabrics, groups, forms and faults.
RunReport under_faults(const RunOptions& options) {
  Random random = Random(options.seed).fork(31);
  FabricOptions fabric_options;
  fabric_options.switches.workers = 1 + static_cast<std::uint32_t>(random.below(3));
  Run run(options,
          random_network(2 + static_cast<std::uint32_t>(random.below(8)),
                         8 + static_cast<std::uint32_t>(random.below(24)), 2, random),
          fabric_options);
  VectorSetup setup =
      wide(run.choose_hosts(8 + run.random().below(25)), 8U << run.random().below(5),
           64 * static_cast<std::uint32_t>(1 + run.random().below(22)));
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
  setup.lengths = some_lengths(run.random(), 8, 3000);
  setup.in_flight = 1 + run.random().below(4);
  setup.parameters.first_sequence =
      SequenceNumber{static_cast<std::uint32_t>(run.random().below(1022))};
  const VectorGroup& group = run.add_vectors(setup, run.random().below(3) == 0);
  run.fabric().set_faults({.loss = 0.0005 * static_cast<double>(run.random().below(8)),
                           .duplicate = 0.01 * static_cast<double>(run.random().below(3)),
                           .reorder = 0.02 * static_cast<double>(run.random().below(3)),
                           .jitter_ns = microseconds(run.random().below(40))});
  run.start();
  run.fabric().run_until([&] { return group.complete(); }, run.fabric().now() + seconds(120));
  run.finish();
  return run.report();
}

/// A switch loses all its state in the middle of vectors.
RunReport switch_restarts(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  VectorSetup setup = wide(run.all_hosts(), 32, 704);
  setup.lengths.assign(30, 3000);
  const VectorGroup& group = run.add_vectors(setup);
  run.start();
  Fabric& fabric = run.fabric();
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<SwitchIndex>(run.random().below(5));
    const TimeNs down = fabric.now() + microseconds(run.random().between(20, 3'000));
    fabric.at(down, [&fabric, at] { fabric.crash(at); });
    fabric.at(down + milliseconds(run.random().between(1, 40)),
              [&fabric, at] { fabric.restart(at); });
  }
  run.fabric().run_until([&] { return group.complete(); }, run.fabric().now() + seconds(60));
  run.finish();
  return run.report();
}

/// A member that is late for every operation, but before any timer, is waited for: a piece is not a
/// loss while no later piece completes.
RunReport straggler(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  VectorSetup setup = wide(run.all_hosts(), 128, 704);
  setup.lengths.assign(12, 20'000);
  setup.in_flight = 1;
  setup.straggler = static_cast<std::uint32_t>(run.random().below(8));
  setup.straggles_ns = milliseconds(20);
  const VectorGroup& group = run.add_vectors(setup);
  run.start();
  run.finish();
  const collective::Statistics s = group.statistics();
  run.expect(s.overdue == 0 && s.retried == 0 && s.requests_sent == 0,
             fmt::format("no host asks for member {}, but: {} overdue, {} retried, {} requested",
                         *setup.straggler, s.overdue, s.retried, s.requests_sent));
  return run.report();
}

/// How long one vector of a million floats takes among eight hosts on links of 10 Gb/s.
struct Timed {
  std::uint64_t ns = 0;
  std::uint64_t overdue = 0;
  std::uint64_t lost = 0;
};
Timed timed(Run& run, double loss, std::uint32_t slots) {
  VectorSetup setup = wide(run.all_hosts(), slots, 1408);
  // The first one is alone, so only a timer detects its loss: it is not timed.
  setup.lengths = {1, 400'000, 400'000};
  setup.in_flight = 1;
  const VectorGroup& group = run.add_vectors(setup);
  Fabric& fabric = run.fabric();
  for (LinkIndex link = 0; link < fabric.topology().links().size(); ++link) {
    fabric.set_link_speed(link, 10'000);
  }
  fabric.set_faults({.loss = loss});
  run.start();
  run.complete_within(seconds(60));
  const Timed result{.ns = elapsed_ns(group.completed_at(), group.first_completed_at()),
                     .overdue = group.statistics().overdue,
                     .lost = fabric.fault_counts().of(Fault::loss)};
  run.finish();
  return result;
}

/// The cost of losses with 128 pieces in flight: later completions reveal them.
RunReport losses_cost_little(const RunOptions& options) {
  Run without(options, chain(1, 8));
  const Timed loss_free = timed(without, 0, 128);
  Run few(options, chain(1, 8));
  const Timed rare = timed(few, 1e-4, 128);
  // The victim and time of a loss matter: a second run averages that out.
  Run other({.seed = options.seed + 1000}, chain(1, 8));
  const Timed as_often = timed(other, 1e-3, 128);
  Run run(options, chain(1, 8));
  const Timed often = timed(run, 1e-3, 128);
  run.expect(without.report().violations.empty() && few.report().violations.empty() &&
                 other.report().violations.empty(),
             "the other runs went well");
  run.expect(loss_free.overdue == 0, "nothing is overdue where nothing is lost");
  run.expect(often.lost > 5 && often.overdue > 0, "frames were lost, and asked for");
  const auto remains = [&](const Timed& with) {
    return static_cast<double>(loss_free.ns) / static_cast<double>(with.ns);
  };
  run.expect(remains(rare) >= 0.9, "of 1e-4 lost, 0.9 of the goodput remains");
  const double mean = (remains(often) + remains(as_often)) / 2;
  run.expect(mean >= 0.7,
             fmt::format("of 1e-3 lost, 0.7 of the goodput remains, not {:.2f}", mean));
  return run.report();
}

/// Vectors of 1 MiB, one after the other, fill links of 200 Mb/s, from the first one on.
RunReport fill_slow_links(const RunOptions& options) {
  Run run(options, chain(1, 8));
  VectorSetup setup = wide(run.all_hosts(), 128, 1408);
  constexpr std::size_t operations = 3;
  constexpr std::size_t bytes = 1 << 20;
  // An int32, which is not timed; then float32, uint64 and uint32.
  setup.lengths = {1, bytes / 4, bytes / 8, bytes / 4};
  setup.in_flight = 1;
  const VectorGroup& group = run.add_vectors(setup);
  Fabric& fabric = run.fabric();
  for (LinkIndex link = 0; link < fabric.topology().links().size(); ++link) {
    fabric.set_link_speed(link, 200);
  }
  run.start();
  run.complete_within(seconds(10));
  constexpr double frame_share = 1408.0 / (1408 + 62);
  constexpr double least_ns = operations * bytes * 8 / frame_share / 200e6 * 1e9;
  const double share =
      least_ns / static_cast<double>(elapsed_ns(group.completed_at(), group.first_completed_at()));
  run.expect(share >= 0.95, fmt::format("0.95 of the link's payload rate, not {:.3f}", share));
  run.expect(group.statistics().retried == 0, "no host was taken for late");
  run.finish();
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"vectors", "vectors without faults: one frame a piece, no host asks", undisturbed, 10},
    Scenario{"vectors_of_words", "vectors in groups of eight and 32 bytes", of_words, 4},
    Scenario{"vectors_under_faults", "random fabrics, slots, lengths, faults: every element right",
             under_faults, 60},
    Scenario{"vectors_switch_restarts", "switches forget what they hold: vectors are right",
             switch_restarts, 12},
    Scenario{"vectors_straggler", "a member that is late is not taken for a loss", straggler, 10},
    Scenario{"vectors_losses", "128 in flight: 0.9 of the goodput with 1e-4 lost, 0.7 with 1e-3",
             losses_cost_little, 4},
    Scenario{"vectors_slow_links", "links of 200 Mb/s: 0.95 of the payload rate at 1 MiB",
             fill_slow_links, 2},
};

} // namespace of_vectors

std::span<const Scenario> vector_scenarios() { return of_vectors::scenarios; }

} // namespace tributary::fabric
