// A ring of switches under load, twice: with tables that send everything the same way round, whose
// waits close a cycle, and with tables of the control plane, whose waits do not. It shows that
// other scenarios would detect a deadlock.
#include "tests/fabric/scenarios/given_up.hpp"
#include "tests/fabric/scenarios/routed_fabric.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include <array>
#include <memory>
#include <utility>

namespace tributary::fabric {

namespace of_route_cycles {

constexpr SwitchIndex ring_size = 5;
constexpr PortNumber forward{0};  ///< to the next switch
constexpr PortNumber backward{1}; ///< to the previous one
constexpr std::uint64_t detection_ns = milliseconds(3);

Topology ring() {
  constexpr std::uint64_t latency_ns = 500;
  Topology t;
  for (SwitchIndex s = 0; s < ring_size; ++s) {
    t.add_switch();
  }
  t.connect(0, 1, latency_ns);
  t.connect(ring_size - 1, 0, latency_ns);
  for (SwitchIndex s = 1; s + 1 < ring_size; ++s) {
    t.connect(s, s + 1, latency_ns);
  }
  for (SwitchIndex s = 0; s < ring_size; ++s) {
    t.add_host(s, latency_ns);
    t.add_host(s, latency_ns);
  }
  return t;
}

/// The port of a switch that leads to the next one.
PortNumber port_forward(Fabric& fabric, SwitchIndex s) {
  const LinkEnd& other = fabric.topology().neighbour(s, forward);
  return other.kind == LinkEnd::Kind::in_switch && other.node == (s + 1) % ring_size ? forward
                                                                                     : backward;
}

/// Every host sends to one three switches on, as fast as it can; all links have one virtual
/// channel.
struct LoadedRing {
  explicit LoadedRing(const RunOptions& options) : f(options, ring(), with_watchdog()) {
    f.plan("general", 1);
    for (HostIndex from = 0; from < f.hosts(); ++from) {
      const auto to =
          static_cast<HostIndex>(((f.leaf_of(from) + 3) % ring_size) * 2 + f.random().below(2));
      f.flows.add({.from = from,
                   .to = to,
                   .frames = 600,
                   .frame_bytes = static_cast<std::uint32_t>(90 + f.random().below(30)),
                   .gap_ns = 0,
                   .most_waiting = 8});
    }
  }
  static FabricOptions with_watchdog() {
    FabricOptions options = lossless_channels(1, 8);
    options.switches.queues.watchdog = {.detection_ns = detection_ns,
                                        .restoration_ns = milliseconds(1)};
    return options;
  }
  RoutedFabric f;
};

/// All destinations by the next switch of the ring, in virtual channel 0.
void send_round(RoutedFabric& f) {
  for (SwitchIndex s = 0; s < ring_size; ++s) {
    auto routes = std::make_shared<forwarding_table::Routes>(*f.fabric().routes(s));
    forwarding_table::SwitchTable& table = routes->table;
    table.vcs = 1;
    table.classes.assign(table.classes.size(), 0);
    table.row_of = {0};
    table.rows.assign(table.destinations, 0);
    table.actions = {{.ports = 1}};
    table.port_words = {0, std::uint64_t{1} << port_forward(f.fabric(), s).value};
    f.fabric().set_routes(s, std::move(routes));
  }
}

RunReport routed_ring(const RunOptions& options) {
  LoadedRing ring(options);
  ring.f.start();
  ring.f.run.finish();
  ring.f.run.expect(given_up(ring.f.fabric()).empty() && ring.f.drops_of_queues() == 0,
                    "routes that the control plane made do not deadlock");
  ring.f.run.expect(ring.f.flows.all_received(), "and everything arrives");
  return ring.f.run.report();
}

RunReport routed_ring_deadlocks(const RunOptions& options) {
  LoadedRing ring(options);
  RoutedFabric& f = ring.f;
  send_round(f);
  f.start();
  const TimeNs begin = f.fabric().now();
  // Until the watchdog acts, no frame moves.
  f.fabric().run_until(begin + (detection_ns - microseconds(200)));
  const std::uint64_t received = f.flows.received();
  f.fabric().run_until(begin + (detection_ns - microseconds(100)));
  f.run.expect(f.flows.received() == received && received < f.flows.sent(),
               "the ring stands still, with frames in it");
  f.run.expect(given_up(f.fabric()).empty(), "no class is given up before its time");
  f.run.finish();
  const auto named = given_up(f.fabric());
  f.run.expect(!named.empty(), "the watchdog names the cycle");
  for (const auto& [s, port, c] : named) {
    // Switches pause hosts, hosts pause no switch: so only ports along the cycle are reported.
    f.run.expect(port == port_forward(f.fabric(), s).value && c == 0,
                 "a port along the cycle, and its virtual channel");
  }
  f.flows.expect_explained();
  f.run.expect(f.flows.lost("paused_too_long") > 0, "and what it costs to break it has a name");
  f.run.expect(f.flows.all_sent(), "then all hosts continue");
  return f.run.report();
}

constexpr std::array scenarios = {
    Scenario{"routed_ring", "a ring under full load, one virtual channel, acyclic routes",
             routed_ring, 2},
    Scenario{"routed_ring_deadlocks",
             "the same with routes that close a cycle: the watchdog says so", routed_ring_deadlocks,
             2},
};

} // namespace of_route_cycles

std::span<const Scenario> route_cycle_scenarios() { return of_route_cycles::scenarios; }

} // namespace tributary::fabric
