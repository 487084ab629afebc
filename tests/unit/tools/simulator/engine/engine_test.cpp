#include "controlplane/unicast/faults.hpp"
#include "tools/simulator/algorithms/make_algorithm.hpp"
#include "tools/simulator/engine/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

namespace tributary::simulator::engine {
namespace {

using traffic::ListedPacket;
using traffic::Pattern;
using traffic::TrafficSpec;
using unicast::Faults;
using unicast::Shape;

/// Ticks of the smallest latency: over `links` links, a packet of `flits`.
std::uint64_t latency_without_waiting(const Parameters& p, std::uint64_t links) {
  return p.send + links * p.hop + p.receive + p.flits - 1;
}

/// A fat tree with as many planes as hosts a leaf, and an engine on it.
struct Simulated {
  Shape shape;
  std::uint32_t each;
  unicast::Network network;
  unicast::TableSet tables;
  Fabric fabric;
  std::optional<Traffic> traffic;
  std::optional<Engine> engine;

  Simulated(const Shape& made, std::uint32_t hosts, std::string_view algorithm, const Faults& dead,
            const TrafficSpec& spec, const Parameters& parameters = {}, std::uint64_t seed = 1)
      : shape(made), each(hosts), network(network_of(shape)),
        tables(algorithms::make_algorithm(algorithm, shape, {})->tables(dead)),
        fabric(network, hosts_of_switches(), tables.vcs) {
    std::vector<bool> alive(fabric.hosts());
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t h = 0; h < alive.size(); ++h) {
      alive[h] = !dead.leaves.contains(h / each);
    }
    for (std::uint32_t d = shape.dimensions(); d-- > 0;) {
      sizes.push_back(shape.size(d));
    }
    traffic.emplace(spec, traffic::HostPlaces{fabric.hosts(), alive, sizes}, seed);
    engine.emplace(fabric, parameters, tables, port_states(shape, network, dead), *traffic, seed);
  }

  [[nodiscard]] std::vector<std::uint32_t> hosts_of_switches() const {
    std::vector<std::uint32_t> hosts(shape.switches());
    std::fill_n(hosts.begin(), shape.leaves(), each);
    return hosts;
  }
  [[nodiscard]] bool nothing_is_lost_track_of() const {
    const Counters& c = engine->counters();
    return c.injected == c.delivered + c.all_dropped() + engine->count_inside() &&
           engine->accounts_hold();
  }
  void kill_leaf(std::uint32_t leaf) {
    engine->kill_switch(leaf);
    for (std::uint32_t p = 0; p < shape.leaf_ports(); ++p) {
      engine->notice(*network.peer({leaf, static_cast<forwarding_table::Port>(p)}));
    }
  }
};

TrafficSpec one_packet(std::uint32_t source, std::uint32_t destination) {
  TrafficSpec spec;
  spec.pattern = Pattern::listed;
  spec.listed = {{1, source, destination}};
  return spec;
}

struct Mode {
  const char* name;
  Parameters parameters;
};
std::vector<Mode> modes() {
  return {
      {"fifo", {}},
      {"voq", {.queueing = Queueing::voq}},
      {"speed-up", {.reads = 2, .queueing = Queueing::voq}},
      {"small buffers", {.buffer = 1}},
      {"pause", {.buffer = 8, .flow_control = FlowControl::pause}},
      {"pause, voq", {.buffer = 12, .queueing = Queueing::voq, .flow_control = FlowControl::pause}},
      {"flow", {.spread = Spread::flow}},
      {"better of two", {.spread = Spread::credits}}};
}

TEST(engine, a_single_packet_takes_the_sum_of_its_parts) {
  const Shape shape = Shape::grid(3, 3);
  const Parameters p{.flits = 8, .hop = 14, .send = 19, .receive = 20};
  Simulated to_a_corner(shape, 1, "vtftr", Faults(shape), one_packet(0, 4), p);
  to_a_corner.engine->start_measuring();
  to_a_corner.engine->run(500);
  // 19 to the first leaf, 4 links of 14 each, 20 to the host, and 7 more flits behind the first.
  EXPECT_EQ(to_a_corner.engine->latencies().from_creation.max(), 19U + 4 * 14 + 20 + 7);
  EXPECT_EQ(to_a_corner.engine->latencies().from_creation.count(), 1U);
  EXPECT_EQ(to_a_corner.engine->counters().grants, 5U);
  EXPECT_EQ(to_a_corner.engine->counters().most_links, 4U);

  Simulated in_a_row(shape, 1, "vtftr", Faults(shape), one_packet(0, 2), p);
  in_a_row.engine->start_measuring();
  in_a_row.engine->run(500);
  EXPECT_EQ(in_a_row.engine->latencies().from_creation.max(), 19U + 2 * 14 + 20 + 7);
}

TEST(engine, a_packet_waits_for_the_one_before_it_on_the_same_link) {
  const Shape shape = Shape::grid(3, 3);
  TrafficSpec spec;
  spec.pattern = Pattern::listed;
  spec.listed = {{1, 0, 1}, {1, 2, 1}}; // at the root of their row at the same time
  Simulated two(shape, 1, "vtftr", Faults(shape), spec);
  two.engine->start_measuring();
  two.engine->run(500);
  ASSERT_EQ(two.engine->latencies().from_creation.count(), 2U);
  const std::uint64_t alone = latency_without_waiting({}, 2);
  EXPECT_EQ(two.engine->latencies().from_creation.min(), alone);
  EXPECT_EQ(two.engine->latencies().from_creation.max(), alone + Parameters{}.flits);
}

TEST(engine, packets_and_credits_are_accounted_for_at_every_tick_whatever_the_switch_is) {
  const Shape shape = Shape::grid(4, 4, 4);
  Faults dead(shape);
  dead.leaves.insert(5);
  for (const Mode& mode : modes()) {
    Simulated s(shape, 4, "vtftr_plus", dead, {.load = 1.0}, mode.parameters);
    for (int i = 0; i < 300; ++i) {
      s.engine->run(5);
      ASSERT_TRUE(s.nothing_is_lost_track_of()) << mode.name << " at " << s.engine->now();
    }
    EXPECT_GT(s.engine->counters().delivered, 1000U) << mode.name;
    s.engine->stop_sources();
    s.engine->run(5000);
    EXPECT_EQ(s.engine->count_inside(), 0U) << mode.name;
    EXPECT_EQ(s.engine->counters().injected, s.engine->counters().delivered) << mode.name;
  }
}

TEST(engine, every_packet_goes_as_walking_the_decisions_goes) {
  const Shape shape = Shape::grid(4, 4, 2);
  Faults dead(shape);
  dead.leaves.insert(2);
  dead.leaves.insert(8);
  for (const char* algorithm : {"vtftr", "vtftr_plus", "phase_search", "general"}) {
    Simulated s(shape, 2, algorithm, dead, {.load = 0.6});
    const unicast::PortStates up = port_states(shape, s.network, dead);
    struct Seen {
      unicast::Network::End at; ///< its next switch, and ingress port
      std::uint8_t lowest = 0;
      std::uint8_t highest = 0;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, Seen> open; // by source and creation
    std::uint64_t arrived = 0;
    s.engine->watch([&](const Decided& d) {
      const auto key = std::make_pair(d.packet.source, d.packet.created);
      const std::uint32_t source = s.fabric.switch_of_host(d.packet.source);
      const std::uint32_t destination = s.fabric.switch_of_host(d.packet.destination);
      const auto known = open.find(key);
      const Seen expected =
          known != open.end() ? known->second : Seen{{source, forwarding_table::local_port}, 0, 0};
      ASSERT_EQ(d.at, expected.at.at);
      ASSERT_EQ(d.in, expected.at.port);
      ASSERT_GE(d.vc, expected.lowest);
      ASSERT_LE(d.vc, expected.highest);
      const forwarding_table::Decision decision = forwarding_table::decide(
          s.tables.switches[d.at], d.in, d.vc, destination, up.of(d.at), d.entropy);
      ASSERT_EQ(d.decision.outcome, decision.outcome);
      if (decision.outcome == forwarding_table::Outcome::deliver) {
        ASSERT_EQ(d.at, destination);
        ++arrived;
        open.erase(key);
        return;
      }
      ASSERT_EQ(decision.outcome, forwarding_table::Outcome::forward);
      ASSERT_EQ(d.decision.port, decision.port);
      open[key] = {*s.network.peer({d.at, decision.port}), decision.lowest_vc, decision.highest_vc};
    });
    s.engine->run(3000);
    s.engine->stop_sources();
    s.engine->run(3000);
    EXPECT_TRUE(open.empty()) << algorithm;
    EXPECT_EQ(arrived, s.engine->counters().delivered) << algorithm;
    EXPECT_GT(arrived, 1000U) << algorithm;
  }
}

TEST(engine, the_watchdog_names_the_circle_of_algorithm_a_and_none_of_vtftr) {
  const Shape shape = Shape::grid(8, 8, 8);
  Faults dead(shape);
  dead.leaves.insert(9);
  dead.leaves.insert(46);
  const auto look = [&](Simulated& s) {
    for (int i = 0; i < 40; ++i) {
      s.engine->run(500);
      if (Deadlock found = s.engine->find_deadlock(); found.buffers != 0) {
        return found;
      }
    }
    return Deadlock{};
  };
  Simulated a(shape, 8, "algorithm_a", dead, {.load = 1.0});
  const Deadlock found = look(a);
  ASSERT_GT(found.buffers, 0U);
  ASSERT_GE(found.channels.size(), 4U);
  for (std::size_t i = 0; i < found.channels.size(); ++i) {
    // Each channel leads to the switch that the next one leaves.
    const auto link = [&](std::size_t c) {
      const Fabric::Port& port = a.fabric.ports()[found.channels[c] / a.fabric.vcs()];
      return unicast::Network::End{port.owner, port.local};
    };
    EXPECT_EQ(a.network.peer(link(i))->at, link((i + 1) % found.channels.size()).at);
  }
  // It is permanent: stuck packets are still stuck long after the hosts have stopped.
  a.engine->stop_sources();
  a.engine->run(20'000);
  EXPECT_GT(a.engine->count_inside(), 0U);
  EXPECT_TRUE(a.nothing_is_lost_track_of());

  Simulated v(shape, 8, "vtftr", dead, {.load = 1.0});
  EXPECT_EQ(look(v).buffers, 0U);
  v.engine->stop_sources();
  v.engine->run(20'000);
  EXPECT_EQ(v.engine->count_inside(), 0U);
}

TEST(engine, a_leaf_that_dies_loses_what_is_in_it_and_every_loss_has_a_reason) {
  const Shape shape = Shape::grid(4, 4, 4);
  for (const Mode& mode : modes()) {
    Simulated s(shape, 4, "vtftr_plus", Faults(shape), {.load = 0.8}, mode.parameters);
    s.engine->run(1000);
    ASSERT_EQ(s.engine->counters().all_dropped(), 0U) << mode.name;
    const std::uint32_t leaf = 5;
    s.kill_leaf(leaf);
    const auto dropped = [&](Drop reason) {
      return s.engine->counters().dropped[static_cast<std::size_t>(reason)];
    };
    const std::uint64_t inside = dropped(Drop::lost_in_dead_switch);
    EXPECT_GT(inside, 0U) << mode.name;
    ASSERT_TRUE(s.nothing_is_lost_track_of()) << mode.name;
    const std::vector<std::uint32_t> hosts{leaf * 4, leaf * 4 + 1, leaf * 4 + 2, leaf * 4 + 3};
    s.traffic->exclude(hosts);
    s.engine->run(2000);
    EXPECT_TRUE(s.nothing_is_lost_track_of()) << mode.name;
    // One unknown fault: an immediate path is always found if the destination lives.
    EXPECT_EQ(dropped(Drop::no_vc), 0U) << mode.name;
    EXPECT_EQ(dropped(Drop::no_route), 0U) << mode.name;
    EXPECT_GT(dropped(Drop::dest_dead), 0U) << mode.name;
    // Packets in flight have arrived: nothing is lost any more.
    const std::uint64_t before = s.engine->counters().all_dropped();
    s.engine->run(2000);
    EXPECT_EQ(s.engine->counters().all_dropped(), before) << mode.name;
    s.engine->stop_sources();
    s.engine->run(5000);
    EXPECT_EQ(s.engine->count_inside(), 0U) << mode.name;
  }
}

TEST(engine, until_a_dead_link_is_noticed_packets_are_sent_into_it_and_counted) {
  const Shape shape = Shape::grid(3, 3, 2);
  Simulated s(shape, 2, "phase_search", Faults(shape), {.load = 0.5});
  s.engine->run(1000);
  const unicast::Network::End end{0, 0};
  s.engine->kill_link(end);
  s.engine->run(100);
  const auto lost = [&] {
    return s.engine->counters().dropped[static_cast<std::size_t>(Drop::lost_on_dead_link)];
  };
  EXPECT_GT(lost(), 0U);
  s.engine->notice(end);
  s.engine->notice(*s.network.peer(end));
  s.engine->run(100);
  const std::uint64_t before = lost();
  s.engine->run(2000);
  EXPECT_EQ(lost(), before);
  EXPECT_TRUE(s.nothing_is_lost_track_of());
  // Its leaf takes the other plane; roots cannot, and other leaves do not know.
  const auto dest_dead = s.engine->counters().dropped[static_cast<std::size_t>(Drop::dest_dead)];
  EXPECT_GT(dest_dead, 0U);
  EXPECT_EQ(s.engine->counters().all_dropped(), before + dest_dead);
}

TEST(engine, the_literal_reading_sends_a_packet_round) {
  const Shape shape = Shape::grid(4, 4);
  // From leaf (1, 0) to (2, 1); their corner (1, 1) died, and tables do not know.
  Simulated s(shape, 1, "literal", Faults(shape), one_packet(4, 9));
  s.kill_leaf(5);
  s.engine->run(100'000);
  EXPECT_TRUE(s.engine->goes_round());
  EXPECT_EQ(s.engine->counters().delivered, 0U);
  Simulated ruled(shape, 1, "vtftr", Faults(shape), one_packet(4, 9));
  ruled.kill_leaf(5);
  ruled.engine->run(100'000);
  EXPECT_FALSE(ruled.engine->goes_round());
  EXPECT_EQ(ruled.engine->counters().delivered, 1U);
}

TEST(engine, more_than_64_ports_are_as_good) {
  const Shape shape = Shape::grid(2, 2, 40); // leaves with 80 links and 40 hosts
  for (const Queueing queueing : {Queueing::fifo, Queueing::voq}) {
    Simulated s(shape, 40, "vtftr", Faults(shape), {.load = 0.7}, {.queueing = queueing});
    s.engine->run(1500);
    EXPECT_TRUE(s.nothing_is_lost_track_of());
    s.engine->stop_sources();
    s.engine->run(5000);
    EXPECT_EQ(s.engine->count_inside(), 0U);
    EXPECT_GT(s.engine->counters().delivered, 10'000U);
  }
}

} // namespace
} // namespace tributary::simulator::engine
