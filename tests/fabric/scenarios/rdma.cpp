// RDMA between real ends through real switches: many senders and one queue, headers that are lost,
// a leaf switch that dies, hosts that restart.
#include "tests/fabric/rdma_host.hpp"
#include "tests/fabric/scenarios/routed_fabric.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tributary::fabric {

namespace of_rdma {

using core::DropReason;

constexpr std::uint32_t ten_gigabits = 10'000;

/// Different for each seed, and at each place.
std::vector<std::byte> pattern(std::size_t bytes, Random& random) {
  std::vector<std::byte> all(bytes);
  const auto first = random.below(251);
  for (std::size_t i = 0; i < bytes; ++i) {
    all[i] = static_cast<std::byte>((first + i * 7 + i / 256) % 251 + 1); // never 0
  }
  return all;
}

bool all_are(std::span<const std::byte> memory, std::byte value) {
  return std::ranges::all_of(memory, [value](std::byte b) { return b == value; });
}

/// Each switch's queues hold this many frames; those without room are trimmed, or dropped.
FabricOptions with_short_queues(std::uint32_t frames, egress::WhenFull when_full) {
  FabricOptions options;
  options.unicast_routes = true;
  for (egress::ClassSettings& of_class : options.switches.queues.classes) {
    of_class.limit = {frames, 1U << 20};
    of_class.when_full = when_full;
  }
  for (egress::ClassSettings& of_class : options.host_queues.classes) {
    of_class.limit = {256, 1U << 20};
  }
  return options;
}

/// Host 0 is the sink. All others write to it at the same time, each to its own place.
struct ManyToOne {
  static constexpr std::size_t sources = 64;
  static constexpr std::size_t bytes_of_each = 30 * rdma_payload_bytes;

  ManyToOne(const RunOptions& options, egress::WhenFull when_full)
      : run(options, two_level(5, 16).with_speed(ten_gigabits), with_short_queues(32, when_full)),
        from(pattern(bytes_of_each, run.random())), to(sources * bytes_of_each) {
    run.start();
    const LinkEnd& sink_port = run.fabric().topology().edge_port(0);
    for (HostIndex h = 0; h < run.fabric().topology().host_count(); ++h) {
      if (h == 0 || run.fabric().topology().edge_port(h).node != sink_port.node) {
        hosts.push_back(std::make_unique<RdmaHost>(run.fabric(), h, impatient_rdma()));
      }
    }
    key = hosts[0]->serve(to);
  }
  void move() {
    for (std::size_t i = 1; i <= sources; ++i) {
      run.fabric().at(run.fabric().now() + run.random().below(microseconds(5)), [this, i] {
        hosts[i]->write(*hosts[0], key, from, (i - 1) * bytes_of_each);
      });
    }
    const auto over = [&] {
      return std::ranges::all_of(hosts, [](const auto& host) { return host->idle(); }) &&
             hosts.back()->begun() + hosts[1]->begun() == 2 &&
             run.fabric().now() > TimeNs{microseconds(20)};
    };
    run.expect(run.fabric().run_until(over, run.fabric().now() + seconds(1)), "all end in time");
    for (const auto& host : hosts) {
      took_ns = std::max(took_ns, host->last_end().value);
      run.expect(host->failed() == 0, "no transfer fails");
      timeouts += host->node().counters().sink_timeouts;
    }
    for (std::size_t i = 0; i < sources; ++i) {
      run.expect(std::ranges::equal(from, std::span(to).subspan(i * bytes_of_each, bytes_of_each)),
                 fmt::format("what source {} sent is what is there", i + 1));
    }
    run.expect(hosts[0]->node().sinks_in_use() == 0, "all contexts of the sink are free");
    run.finish();
  }
  [[nodiscard]] std::uint64_t trimmed() {
    std::uint64_t all = 0;
    const Topology& topology = run.fabric().topology();
    for (SwitchIndex s = 0; s < topology.switch_count(); ++s) {
      for (std::uint8_t p = 0; p < topology.ports(s).size(); ++p) {
        all += run.fabric().at_switch(s).queue(PortNumber{p}, {}).trimmed;
      }
    }
    return all;
  }
  Run run;
  std::vector<std::byte> from;
  std::vector<std::byte> to;
  std::vector<std::unique_ptr<RdmaHost>> hosts; ///< the sink first
  rdma::RegionKey key{};
  std::uint64_t took_ns = 0; ///< until the last transfer was done
  std::uint64_t timeouts = 0;
};

RunReport rdma_many_to_one(const RunOptions& options) {
  ManyToOne dropping(options, egress::WhenFull::drop);
  dropping.move();
  ManyToOne trimming(options, egress::WhenFull::trim);
  trimming.move();
  Run& run = trimming.run;
  run.expect(dropping.timeouts > 100 && trimming.trimmed() > 1'000, "there was no room for all");
  run.expect(2 * trimming.took_ns < dropping.took_ns,
             fmt::format("a notified host is done in less than half of the time: {} us, {} us",
                         trimming.took_ns / 1'000, dropping.took_ns / 1'000));
  run.expect(
      3 * trimming.timeouts < 2 * dropping.timeouts,
      fmt::format("and waits for fewer time-outs: {}, {}", trimming.timeouts, dropping.timeouts));
  run.expect(dropping.run.report().violations.empty(), "it holds where queues drop, too");
  return run.report();
}

/// Trimmed headers are lost on the way, or damaged behind the last check of a link. The sink then
/// requests the data when its timers expire.
RunReport rdma_trimmed_frames_lost(const RunOptions& options) {
  ManyToOne scene(options, egress::WhenFull::trim);
  Run& run = scene.run;
  const AimedFault& lost = run.fabric().aim({.fits = [n = 0U](const Passage& passage) mutable {
    return wire::is_trimmed(passage.bytes) && passage.into_host(0) && n++ % 3 == 0;
  }});
  scene.hosts[0]->damage_trimmed(4);
  scene.move();
  const rdma::Counters& sink = scene.hosts[0]->node().counters();
  run.expect(lost.done > 100, "trimmed frames were lost");
  run.expect(sink.bad_crc + sink.malformed + sink.unknown_kind > 100, "damaged ones were refused");
  run.expect(sink.trimmed > 100, "and others were believed");
  return run.report();
}

/// Hosts that write to each other over planned routes.
struct Exchange {
  static constexpr std::size_t slot_bytes = 100 * rdma_payload_bytes;

  Exchange(RoutedFabric& f, std::uint64_t writes_of_each) {
    f.run.start();
    rdma_policy::Policy policy = impatient_rdma();
    policy.initial_timeout_ns = milliseconds(1);
    policy.least_timeout_ns = microseconds(400);
    policy.spraying = f.run.seed() % 2 == 0;
    for (HostIndex h = 0; h < f.hosts(); ++h) {
      hosts.push_back(std::make_unique<RdmaHost>(f.fabric(), h, policy));
      data.push_back(pattern(slot_bytes, f.random()));
      memory.emplace_back(f.hosts() * slot_bytes);
    }
    for (HostIndex h = 0; h < f.hosts(); ++h) {
      keys.push_back(hosts[h]->serve(memory[h]));
    }
    for (HostIndex from = 0; from < f.hosts(); ++from) {
      std::vector<HostIndex> others = f.run.all_hosts();
      f.random().shuffle(others);
      std::erase(others, from);
      for (std::uint64_t i = 0; i < writes_of_each; ++i) {
        pairs.push_back({from, others[i]});
      }
    }
  }
  void begin() {
    for (const auto& [from, to] : pairs) {
      hosts[from]->write(*hosts[to], keys[to], data[from], from * slot_bytes);
    }
  }
  [[nodiscard]] bool idle() const {
    return std::ranges::all_of(hosts, [](const auto& host) { return host->idle(); });
  }
  [[nodiscard]] bool arrived(HostIndex from, HostIndex to) const {
    return std::ranges::equal(data[from],
                              std::span(memory[to]).subspan(from * slot_bytes, slot_bytes));
  }

  std::vector<std::unique_ptr<RdmaHost>> hosts;
  std::vector<std::vector<std::byte>> data;   ///< by host: the data it writes to others
  std::vector<std::vector<std::byte>> memory; ///< by host: a slot for each other one
  std::vector<rdma::RegionKey> keys;
  std::vector<std::pair<HostIndex, HostIndex>> pairs;
};

FabricOptions lossy_channels() {
  FabricOptions options;
  options.vlan_id = 0;
  return options;
}

/// Until healthy hosts with healthy peers had written everything.
struct Disaster {
  std::vector<std::uint64_t> took_ns; ///< by host; 0 for the others
  RunReport report;
};

/// A leaf dies in the middle. Its neighbours detour immediately, the manager's next routes follow a
/// while later; the frames lost in the dead leaf are requested again.
Disaster leaf_dies(const RunOptions& options, bool really) {
  RoutedFabric f(options, "kdft:3x3x2", lossy_channels());
  f.plan("vtftr_plus");
  Exchange exchange(f, 3);
  const TimeNs begin = f.fabric().now();
  const auto victim = f.leaf_of(static_cast<HostIndex>(f.random().below(f.hosts())));
  const TimeNs dies = begin + microseconds(200) + f.random().below(microseconds(400));
  if (really) {
    f.fabric().at(dies, [&] { f.kill(victim); });
    f.fabric().at(dies + microseconds(400), [&] {
      f.plan("vtftr_plus");
      f.publish_in_any_order(microseconds(3));
    });
  }
  exchange.begin();
  f.run.expect(f.fabric().run_until([&] { return exchange.idle(); }, f.fabric().now() + seconds(2)),
               "every transfer ends");
  std::vector<std::uint64_t> to_dead(f.hosts());
  for (const auto& [from, to] : exchange.pairs) {
    const bool well = f.leaf_of(from) != victim && f.leaf_of(to) != victim;
    to_dead[from] += f.leaf_of(to) == victim ? 1 : 0;
    f.run.expect(!well || exchange.arrived(from, to),
                 fmt::format("what host {} wrote to host {} is there: both live", from, to));
  }
  Disaster disaster;
  std::uint64_t failed = 0;
  for (const auto& host : exchange.hosts) {
    const HostIndex h = host->index();
    const bool well = f.leaf_of(h) != victim;
    f.run.expect(!well || host->failed() <= to_dead[h], "only what goes to the dead leaf fails");
    failed += host->failed();
    disaster.took_ns.push_back(well && to_dead[h] == 0 ? elapsed_ns(host->last_end(), begin) : 0);
  }
  f.run.expect((failed > 0) == really, "what a dead host was sent ends with an error");
  f.run.finish();
  disaster.report = f.run.report();
  return disaster;
}

RunReport rdma_leaf_dies(const RunOptions& options) {
  const Disaster quiet = leaf_dies(options, false);
  Disaster disaster = leaf_dies(options, true);
  const auto expect = [&](bool holds, std::string what) {
    if (!holds) {
      disaster.report.violations.push_back(std::move(what));
    }
  };
  expect(quiet.report.violations.empty(), "it holds where no leaf dies, too");
  expect(disaster.report.faults.of(Fault::switch_crash) == 1, "the fault struck");
  std::size_t hosts = 0;
  for (std::size_t h = 0; h < quiet.took_ns.size(); ++h) {
    if (disaster.took_ns[h] != 0) {
      expect(disaster.took_ns[h] <= quiet.took_ns[h] + 2 * milliseconds(1),
             fmt::format("host {} loses two time-outs at most: {} us instead of {} us", h,
                         disaster.took_ns[h] / 1'000, quiet.took_ns[h] / 1'000));
      ++hosts;
    }
  }
  expect(hosts >= 3, "there are hosts that are well and wrote to none that is not");
  return disaster.report;
}

/// All data frames of a host from the `skip`-th on are delayed.
void delay_data(Fabric& fabric, HostIndex from, std::uint64_t skip, std::uint64_t ns) {
  fabric.aim({.fits =
                  [from](const Passage& passage) {
                    return passage.out_of_host(from) && wire::is_trimmable(passage.bytes);
                  },
              .effect = AimedFault::Effect::delay,
              .skip = skip,
              .take = 50,
              .delay_ns = ns});
}

/// The sink restarts in the middle, and its memory has another owner then: frames still in flight
/// do not touch it.
RunReport rdma_sink_restarts(const RunOptions& options) {
  FabricOptions fabric_options = with_short_queues(512, egress::WhenFull::trim);
  Run run(options, two_level(2, 3).with_speed(ten_gigabits), fabric_options);
  run.start();
  RdmaHost sink(run.fabric(), 0, impatient_rdma());
  RdmaHost source(run.fabric(), 4, impatient_rdma());
  const std::vector<std::byte> old_data = pattern(200 * rdma_payload_bytes, run.random());
  std::vector<std::byte> memory(old_data.size());
  const rdma::RegionKey old_key = sink.serve(memory);
  delay_data(run.fabric(), source.index(), 20 + run.random().below(40), milliseconds(1));
  source.write(sink, old_key, old_data, 0);
  run.fabric().run_until(run.fabric().now() + microseconds(40) + run.random().below(20'000));
  run.expect(sink.node().counters().data_placed > 0 && !source.idle(), "it is in the middle");
  sink.restart();
  constexpr std::byte owners{0xEE};
  std::ranges::fill(memory, owners);
  const rdma::RegionKey key = sink.serve(memory);
  run.expect(key.value != old_key.value, "the region has another key");
  run.fabric().run_until([&] { return source.idle(); }, run.fabric().now() + seconds(1));
  run.expect(source.idle() && source.failed() == 1, "the source learns that its transfer is over");
  run.expect(sink.node().counters().zombie > 0, "frames of old transfers came, and were refused");
  run.expect(all_are(memory, owners), "and have no effect on others");
  const std::vector<std::byte> new_data = pattern(memory.size(), run.random());
  source.write(sink, key, new_data, 0);
  run.fabric().run_until([&] { return source.idle(); }, run.fabric().now() + seconds(1));
  run.expect(source.done() == 1 && memory == new_data, "what comes later is there");
  run.finish();
  return run.report();
}

/// The source restarts in the middle and writes something else to the same place.
RunReport rdma_source_restarts(const RunOptions& options) {
  FabricOptions fabric_options = with_short_queues(512, egress::WhenFull::trim);
  Run run(options, two_level(2, 3).with_speed(ten_gigabits), fabric_options);
  run.start();
  RdmaHost sink(run.fabric(), 0, impatient_rdma());
  RdmaHost source(run.fabric(), 4, impatient_rdma());
  const std::vector<std::byte> old_data = pattern(200 * rdma_payload_bytes, run.random());
  const std::vector<std::byte> new_data(old_data.size(), std::byte{0xEE});
  std::vector<std::byte> memory(old_data.size());
  const rdma::RegionKey key = sink.serve(memory);
  // Late enough that the new transfer is over before they arrive.
  delay_data(run.fabric(), source.index(), 20 + run.random().below(40), milliseconds(5));
  source.write(sink, key, old_data, 0);
  run.fabric().run_until(run.fabric().now() + microseconds(60) + run.random().below(10'000));
  run.expect(sink.node().counters().data_placed > 0 && !source.idle(), "it is in the middle");
  source.restart();
  source.write(sink, key, new_data, 0);
  run.fabric().run_until([&] { return source.idle(); }, run.fabric().now() + seconds(1));
  run.expect(source.done() == 1, "the new transfer is done");
  run.expect(memory == new_data, "and all that is there is its own");
  const std::uint64_t refused = sink.node().counters().zombie +
                                sink.node().counters().wrong_generation +
                                sink.node().counters().challenged;
  run.fabric().run_until(run.fabric().now() + milliseconds(10));
  run.expect(sink.node().counters().zombie + sink.node().counters().wrong_generation +
                     sink.node().counters().challenged >
                 refused,
             "old frames came later");
  run.expect(memory == new_data, "and changed nothing");
  run.expect(sink.node().sinks_in_use() == 0, "all contexts are free");
  run.finish();
  return run.report();
}

struct Transfer {
  std::uint64_t took_ns = 0;
  std::vector<std::uint64_t> by_plane; ///< frames that left the source's leaf by each uplink used
  RunReport report;
};

/// One host writes to another one, and links between switches are slower than theirs.
Transfer over_two_planes(const RunOptions& options, bool spraying) {
  RoutedFabric f(options, "kdft:3x3x1,2", lossy_channels());
  f.plan("phase_search");
  f.run.start();
  rdma_policy::Policy policy = impatient_rdma();
  policy.initial_timeout_ns = milliseconds(1);
  policy.least_timeout_ns = milliseconds(1);
  policy.spraying = spraying;
  const Topology& topology = f.fabric().topology();
  const HostIndex from = 0;
  HostIndex to = 0;
  while (f.leaf_of(to) == f.leaf_of(from) || f.random().chance(0.8)) {
    to = static_cast<HostIndex>(f.random().below(f.hosts()));
  }
  f.fabric().set_link_speed(topology.link_of(from), ten_gigabits);
  f.fabric().set_link_speed(topology.link_of(to), ten_gigabits);
  RdmaHost source(f.fabric(), from, policy);
  RdmaHost sink(f.fabric(), to, policy);
  const std::vector<std::byte> data = pattern(400 * rdma_payload_bytes, f.random());
  std::vector<std::byte> memory(data.size());
  const rdma::RegionKey key = sink.serve(memory);
  const TimeNs begin = f.fabric().now();
  source.write(sink, key, data, 0);
  f.fabric().run_until([&] { return source.idle(); }, begin + seconds(1));
  f.run.expect(source.done() == 1 && memory == data, "what was written is there");
  Transfer transfer{.took_ns = elapsed_ns(source.last_end(), begin), .by_plane = {}, .report = {}};
  const SwitchIndex leaf = f.leaf_of(from);
  for (const LinkIndex link : topology.ports(leaf)) {
    const LinkEnd& end = topology.links()[link].ends[0];
    const bool from_leaf = end.kind == LinkEnd::Kind::in_switch && end.node == leaf;
    const std::uint64_t carried = f.fabric().carried(link, from_leaf ? 0 : 1);
    if (link != topology.link_of(from) && carried > 100) {
      transfer.by_plane.push_back(carried);
    }
  }
  f.run.finish();
  transfer.report = f.run.report();
  return transfer;
}

RunReport rdma_sprayed(const RunOptions& options) {
  const Transfer hashed = over_two_planes(options, false);
  Transfer sprayed = over_two_planes(options, true);
  const auto expect = [&](bool holds, std::string what) {
    if (!holds) {
      sprayed.report.violations.push_back(std::move(what));
    }
  };
  expect(hashed.report.violations.empty(), "it holds where flows are hashed, too");
  expect(hashed.by_plane.size() == 1, "a flow that is hashed stays on one plane");
  expect(sprayed.by_plane.size() == 2, "one that is sprayed uses both");
  const auto [fewest, most] = std::ranges::minmax(sprayed.by_plane);
  expect(5 * most < 6 * fewest, fmt::format("alike: {} and {} frames", fewest, most));
  expect(3 * sprayed.took_ns < 2 * hashed.took_ns,
         fmt::format("and takes less time: {} us instead of {} us", sprayed.took_ns / 1'000,
                     hashed.took_ns / 1'000));
  return sprayed.report;
}

constexpr std::array scenarios = {
    Scenario{"rdma_many_to_one",
             "64 sources write to one sink: what has no room is asked for at once",
             rdma_many_to_one, 1},
    Scenario{"rdma_trimmed_frames_lost", "the same, and trimmed frames get lost and damaged",
             rdma_trimmed_frames_lost, 1},
    Scenario{"rdma_leaf_dies",
             "a leaf switch dies amid transfers: those between survivors are done", rdma_leaf_dies,
             2},
    Scenario{"rdma_sink_restarts", "old frames do not touch what a restarted sink's memory holds",
             rdma_sink_restarts, 4},
    Scenario{"rdma_sprayed", "data is spread over two planes: both are used, nothing is lost",
             rdma_sprayed, 4},
    Scenario{"rdma_source_restarts", "nor what a restarted source writes to the same place",
             rdma_source_restarts, 4},
};

} // namespace of_rdma

std::span<const Scenario> rdma_scenarios() { return of_rdma::scenarios; }

} // namespace tributary::fabric
