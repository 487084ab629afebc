// The routes of the paper's fifth figure, hop by hop, by the decision function of switches.
#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/vtftr.hpp"
#include "controlplane/unicast/vtftr_plus.hpp"
#include "dataplane/forwarding_table/decide.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/controlplane/unicast/situation.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::unicast {
namespace {

using forwarding_table::Outcome;
using testing::HasSubstr;

/// "leaf0.0 -0> root1:0.0:0 -0> leaf0.3 deliver": switches, and the virtual channels between them.
std::string path(const Fabric& fabric, const TableSet& tables, const Faults& real,
                 std::uint32_t from, std::uint32_t to, std::uint32_t entropy = 0) {
  const PortStates up = port_states(fabric.shape, fabric.network, real);
  Network::End at{from, forwarding_table::local_port};
  std::uint8_t vc = 0;
  std::string text = fabric.network.name(from);
  for (int hop = 0; hop < 20; ++hop) {
    const forwarding_table::Decision next =
        forwarding_table::decide(tables.switches[at.at], at.port, vc, to, up.of(at.at), entropy);
    if (next.outcome != Outcome::forward) {
      return text + " " + forwarding_table::name(next.outcome);
    }
    vc = next.lowest_vc;
    at = *fabric.network.peer({at.at, next.port});
    text += fmt::format(" -{}> {}", vc, fabric.network.name(at.at));
  }
  return text + " goes round";
}

TEST(Paths, OfThePapersFigureWithTwoDeadLeaves) {
  const Fabric fabric(Shape::grid(4, 4));
  const Faults known = fabric.dead_leaves({0 * 4 + 2, 2 * 4 + 0});
  Vtftr vtftr(fabric.shape, {});
  const TableSet tables = vtftr.tables(known);
  const auto leaf = [](std::uint32_t r, std::uint32_t c) { return r * 4 + c; };
  // Both corners are dead: the row's root misroutes to the last clean column.
  EXPECT_EQ(path(fabric, tables, known, leaf(0, 0), leaf(2, 2), 0xFFFFFFFF),
            "leaf0.0 -0> root1:0.0:0 -0> leaf0.3 -0> root0:0.3:0 -0> leaf2.3 -1> root1:2.0:0 "
            "-1> leaf2.2 deliver");
  // The xy corner is dead: yx, a virtual channel higher behind the turn.
  EXPECT_EQ(path(fabric, tables, known, leaf(0, 1), leaf(1, 2)),
            "leaf0.1 -0> root0:0.1:0 -0> leaf1.1 -1> root1:1.0:0 -1> leaf1.2 deliver");
  EXPECT_EQ(path(fabric, tables, known, leaf(1, 0), leaf(3, 3)),
            "leaf1.0 -0> root1:1.0:0 -0> leaf1.3 -0> root0:0.3:0 -0> leaf3.3 deliver");
}

TEST(Paths, GoRoundALeafThatDiesUnseenByFourMoreLinks) {
  const Fabric fabric(Shape::grid(4, 4));
  const auto leaf = [](std::uint32_t r, std::uint32_t c) { return r * 4 + c; };
  Vtftr vtftr(fabric.shape, {});
  const TableSet tables = vtftr.tables(fabric.dead_leaves({leaf(0, 2), leaf(2, 0)}));
  const Faults real = fabric.dead_leaves({leaf(0, 2), leaf(2, 0), leaf(2, 3)});
  EXPECT_EQ(path(fabric, tables, real, leaf(0, 0), leaf(2, 2), 0xFFFFFFFF),
            "leaf0.0 -0> root1:0.0:0 -0> leaf0.3 -0> root0:0.3:0 -0> leaf3.3 -1> root1:3.0:0 "
            "-1> leaf3.2 -1> root0:0.2:0 -1> leaf2.2 deliver");
}

TEST(Paths, ToADeadLeafEndInTheRootBeforeIt) {
  const Fabric fabric(Shape::grid(4, 4));
  Vtftr vtftr(fabric.shape, {});
  const TableSet tables = vtftr.tables(Faults(fabric.shape));
  const Faults real = fabric.dead_leaves({2 * 4 + 2});
  EXPECT_EQ(path(fabric, tables, real, 0, 2 * 4 + 2),
            "leaf0.0 -0> root1:0.0:0 -0> leaf0.2 -0> root0:0.2:0 dest_dead");
  EXPECT_EQ(path(fabric, tables, real, 2 * 4, 2 * 4 + 2), "leaf2.0 -0> root1:2.0:0 dest_dead");
}

TEST(Paths, EndWithNoVcWhereOneMoreTurnWouldBeNeeded) {
  const Fabric fabric(Shape::grid(3, 3));
  VtftrPlus plus(fabric.shape, {2, Policy::fast});
  const TableSet tables = plus.tables(Faults(fabric.shape));
  const Faults real = fabric.dead_leaves({2});
  // A frame that chose the higher virtual channel immediately cannot detour around a corner any
  // more.
  const PortStates up = port_states(fabric.shape, fabric.network, real);
  const auto first =
      forwarding_table::decide(tables.switches[0], forwarding_table::local_port, 0, 5, up.of(0), 0);
  EXPECT_EQ(first.lowest_vc, 0);
  EXPECT_EQ(first.highest_vc, 1);
  const Network::End root = *fabric.network.peer({0, first.port});
  EXPECT_EQ(forwarding_table::decide(tables.switches[root.at], root.port, 1, 5, up.of(root.at), 0)
                .outcome,
            Outcome::no_vc);
  EXPECT_EQ(forwarding_table::decide(tables.switches[root.at], root.port, 0, 5, up.of(root.at), 0)
                .outcome,
            Outcome::forward);
}

TEST(Paths, TakeAnyPlaneThatIsUp) {
  const Fabric fabric(Shape::grid(3, 3, 3));
  Vtftr vtftr(fabric.shape, {});
  const TableSet tables = vtftr.tables(Faults(fabric.shape));
  Faults real(fabric.shape);
  real.roots.insert(fabric.shape.root({0, 0, 0}));
  real.roots.insert(fabric.shape.root({0, 0, 2}));
  for (const std::uint32_t entropy : {0U, 0x80000000U, 0xFFFFFFFFU}) {
    EXPECT_EQ(path(fabric, tables, real, 0, 2, entropy),
              "leaf0.0 -0> root1:0.0:1 -0> leaf0.2 deliver");
  }
  EXPECT_EQ(path(fabric, tables, Faults(fabric.shape), 0, 2, 0xFFFFFFFF),
            "leaf0.0 -0> root1:0.0:2 -0> leaf0.2 deliver");
}

TEST(Policies, SayFromWhichVcsAFrameMayChoose) {
  const Fabric fabric(Shape::grid(3, 3));
  const Faults dead = fabric.dead_leaves({8});
  const PortStates up = port_states(fabric.shape, fabric.network, dead);
  struct Highest {
    Policy policy;
    int last_segment, xy, yx;
  };
  for (const Highest& one : {Highest{Policy::safe, 0, 0, 0}, Highest{Policy::plus, 1, 0, 0},
                             Highest{Policy::fast, 1, 1, 0}}) {
    for (const char* const name : {"vtftr", "vtftr_plus", "phase_search"}) {
      const TableSet tables = make_algorithm(name, fabric.shape, {2, one.policy})->tables(dead);
      const auto highest = [&](std::uint32_t from, std::uint32_t to) {
        return int{forwarding_table::decide(tables.switches[from], forwarding_table::local_port, 0,
                                            to, up.of(from), 0)
                       .highest_vc};
      };
      EXPECT_EQ(highest(0, 2), one.last_segment) << name;
      EXPECT_EQ(highest(0, 6), one.last_segment) << name;
      EXPECT_EQ(highest(0, 4), one.xy) << name;
      EXPECT_EQ(highest(6, 5), one.yx) << name << ": round the dead corner";
    }
  }
}

TEST(MakeAlgorithm, SaysWhatCannotBeRoutedSo) {
  const Shape three(std::array{2U, 3U, 4U});
  EXPECT_THAT(test::message_of<RouteError>([&] { return make_algorithm("vtftr", three, {}); }),
              HasSubstr("two dimensions, this one has 3"));
  const Shape two = Shape::grid(3, 3);
  EXPECT_THAT(
      test::message_of<RouteError>([&] { return make_algorithm("vtftr_plus", two, {.vcs = 1}); }),
      HasSubstr("two virtual channels"));
  EXPECT_THAT(test::message_of<RouteError>([&] { return make_algorithm("dijkstra", two, {}); }),
              HasSubstr("vtftr_plus"));
  const auto plus = make_algorithm("vtftr_plus", two, {});
  Faults link(two);
  link.links.insert(two.uplink(4, 0, 0));
  EXPECT_THAT(test::message_of<RouteError>([&] { return plus->tables(link); }),
              HasSubstr("leaf1.1 - root1:1.0:0"));
  Faults root(two);
  root.roots.insert(two.root({1, 2, 0}));
  EXPECT_THAT(test::message_of<RouteError>([&] { return plus->tables(root); }),
              HasSubstr("root0:0.2:0 is dead"));
}

} // namespace
} // namespace tributary::unicast
