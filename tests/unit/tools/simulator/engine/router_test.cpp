#include "tools/simulator/engine/router.hpp"

#include "controlplane/unicast/faults.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

namespace tributary::simulator::engine {
namespace {

using unicast::Faults;
using unicast::Network;
using unicast::Shape;

/// Each input of each switch decides on each destination as the switch's own code does, whether it
/// is asked for the first time or again.
void expect_as_switches_decide(Router& router, const unicast::TableSet& tables,
                               const unicast::PortStates& up, const Network& network) {
  Random random(7);
  for (std::uint32_t s = 0; s < network.switches(); ++s) {
    const forwarding_table::SwitchTable& table = tables.switches[s];
    for (std::uint32_t p = 0; p <= network.ports(s); ++p) {
      const auto port = p < network.ports(s) ? static_cast<forwarding_table::Port>(p)
                                             : forwarding_table::local_port;
      for (std::uint8_t vc = 0; vc < tables.vcs; ++vc) {
        const Input in = router.input(s, port, vc);
        for (std::uint32_t to = 0; to < table.destinations; ++to) {
          for (int again = 0; again < 3; ++again) {
            const auto entropy = static_cast<std::uint32_t>(random.next());
            const forwarding_table::Decision said = router.decide(in, to, entropy);
            const forwarding_table::Decision own =
                forwarding_table::decide(table, port, vc, to, up.of(s), entropy);
            ASSERT_EQ(said.outcome, own.outcome) << s << ' ' << port << ' ' << to;
            if (own.outcome == forwarding_table::Outcome::forward) {
              ASSERT_EQ(said.port, own.port) << s << ' ' << port << ' ' << to;
              ASSERT_EQ(said.lowest_vc, own.lowest_vc);
              ASSERT_EQ(said.highest_vc, own.highest_vc);
            }
          }
        }
      }
    }
  }
}

TEST(router, decides_as_switches_do_also_when_ports_go_down_and_tables_change) {
  for (const std::uint32_t planes : {1U, 4U, 40U}) { // with 40, a leaf has two words of ports
    const Shape shape = planes == 40 ? Shape::grid(2, 3, planes) : Shape::grid(4, 4, planes);
    const Network network = network_of(shape);
    const Faults none(shape);
    const auto algorithm = unicast::make_algorithm("vtftr_plus", shape, {});
    const unicast::TableSet tables = algorithm->tables(none);
    unicast::PortStates up = port_states(shape, network, none);
    Router router(tables, up);
    expect_as_switches_decide(router, tables, up, network);

    const std::uint32_t dead = 1;
    for (std::uint32_t p = 0; p < network.ports(dead); ++p) {
      const Network::End far = *network.peer({dead, static_cast<forwarding_table::Port>(p)});
      router.port_is_down(far);
      up.set(far.at, far.port, false);
    }
    // One plane less for another leaf: its remaining ports are not contiguous.
    router.port_is_down({0, static_cast<forwarding_table::Port>(planes / 2)});
    up.set(0, planes / 2, false);
    expect_as_switches_decide(router, tables, up, network);

    Faults known(shape);
    known.leaves.insert(dead);
    const unicast::TableSet changed = algorithm->tables(known);
    for (std::uint32_t s = 0; s < network.switches(); ++s) {
      router.use_table(s, changed.switches[s]);
    }
    expect_as_switches_decide(router, changed, up, network);
  }
}

} // namespace
} // namespace tributary::simulator::engine
