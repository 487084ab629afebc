#include "controlplane/unicast/phase_search.hpp"

#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/vtftr_plus.hpp"
#include "dataplane/forwarding_table/decide.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/controlplane/unicast/fault_classes.hpp"
#include "tests/unit/controlplane/unicast/situation.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

namespace tributary::unicast {
namespace {

using testing::HasSubstr;

struct Mix {
  const char* name;
  std::vector<std::uint32_t> sizes; ///< dimension 0 first
  std::uint32_t planes;
  std::uint8_t vcs;
  FaultCounts dead;
};

Fabric fabric_of(const Mix& mix) { return Fabric(Shape(mix.sizes, mix.planes)); }

/// Segments of a shortest legal route between any two leaves, by trying all: a frontier of leaves
/// and phases, whose ranks rise.
class Reference {
public:
  Reference(const Shape& shape, const Faults& dead, std::uint8_t vcs)
      : shape_(shape), dead_(dead), phases_(shape.dimensions() * vcs) {}

  /// By leaf, from this one.
  [[nodiscard]] std::vector<std::optional<std::uint32_t>> segments(std::uint32_t from) const {
    std::vector<std::optional<std::uint32_t>> found(shape_.leaves());
    // By leaf: the lowest phase it was reached in so far.
    std::vector<std::uint32_t> lowest(shape_.leaves(), phases_);
    std::vector<std::uint32_t> current{from};
    std::vector<std::uint32_t> phase(shape_.leaves(), none);
    phase[from] = start;
    for (std::uint32_t n = 0; !current.empty(); ++n) {
      std::vector<std::uint32_t> next_phase(shape_.leaves(), none);
      std::vector<std::uint32_t> reached;
      for (const std::uint32_t leaf : current) {
        found[leaf] = found[leaf].value_or(n);
        for (std::uint32_t p = phase[leaf] == start ? 0 : phase[leaf] + 1; p < phases_; ++p) {
          const std::uint32_t d = p % shape_.dimensions();
          for (std::uint32_t i = 0; i < shape_.size(d); ++i) {
            const std::uint32_t there = shape_.leaf_on(d, shape_.line(leaf, d), i);
            if (p < lowest[there] && p < next_phase[there] && joined(leaf, there, d)) {
              if (next_phase[there] == none) {
                reached.push_back(there);
              }
              next_phase[there] = p;
            }
          }
        }
      }
      for (const std::uint32_t leaf : reached) {
        lowest[leaf] = next_phase[leaf];
      }
      current = std::move(reached);
      phase = std::move(next_phase);
    }
    return found;
  }

private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  static constexpr std::uint32_t start = 0xFFFFFFFE;

  [[nodiscard]] bool joined(std::uint32_t a, std::uint32_t b, std::uint32_t d) const {
    for (std::uint32_t plane = 0; plane < shape_.planes(); ++plane) {
      if (a != b && dead_.alive(shape_, a, d, plane) && dead_.alive(shape_, b, d, plane)) {
        return true;
      }
    }
    return false;
  }

  const Shape& shape_;
  const Faults& dead_;
  std::uint32_t phases_;
};

class MixedFaults : public testing::TestWithParam<Mix> {};

TEST_P(MixedFaults, AreRoutedRoundByShortestLegalRoutes) {
  const Mix& mix = GetParam();
  const Fabric fabric = fabric_of(mix);
  Random random(test::seed());
  for (const Policy policy : {Policy::safe, Policy::plus, Policy::fast}) {
    PhaseSearch search(fabric.shape, {mix.vcs, policy});
    const Faults dead = draw_faults(fabric.shape, mix.dead, random);
    const TableSet tables = search.tables(dead);
    const Reference reference(fabric.shape, dead, mix.vcs);
    const PortStates up = port_states(fabric.shape, fabric.network, dead);
    const auto live = live_leaves(fabric.shape, dead);
    std::uint64_t without = 0;
    for (const std::uint32_t from : live) {
      const auto segments = reference.segments(from);
      for (const std::uint32_t to : live) {
        Network::End at{from, forwarding_table::local_port};
        std::uint32_t hops = 0;
        std::uint8_t vc = 0;
        forwarding_table::Decision next;
        for (;; ++hops) {
          next = forwarding_table::decide(tables.switches[at.at], at.port, vc, to, up.of(at.at),
                                          static_cast<std::uint32_t>(random.next()));
          if (next.outcome != forwarding_table::Outcome::forward) {
            break;
          }
          vc = next.lowest_vc;
          at = *fabric.network.peer({at.at, next.port});
        }
        const auto expected = segments[to];
        ASSERT_EQ(next.outcome == forwarding_table::Outcome::deliver, expected.has_value())
            << fabric.network.name(from) << " to " << fabric.network.name(to);
        if (expected) {
          ASSERT_EQ(hops, 2 * *expected);
        }
        without += expected ? 0 : 1;
      }
    }
    const Verification found = fabric.check(tables, dead);
    EXPECT_TRUE(found.acyclic()) << found.describe(fabric.network);
    EXPECT_EQ(found.stranded, without);
    EXPECT_EQ(found.at_risk, 0U) << found.describe(fabric.network);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MixedFaults,
    testing::Values(
        Mix{"grid", {7, 7}, 1, 2, {.leaves = 5}},
        Mix{"links", {6, 6}, 1, 2, {.leaves = 1, .links = 6, .roots = 1}},
        Mix{"three_vcs", {6, 6}, 1, 3, {.leaves = 2, .links = 8, .roots = 1}},
        Mix{"planes", {4, 6}, 3, 2, {.leaves = 2, .links = 20, .roots = 4}},
        Mix{"three_dimensions", {3, 4, 3}, 1, 2, {.leaves = 5, .links = 4}},
        Mix{"three_dimensions_two_planes", {3, 3, 4}, 2, 2, {.leaves = 4, .links = 12, .roots = 3}},
        Mix{"one_dimension", {9}, 2, 1, {.leaves = 2, .links = 3}},
        Mix{"wide", {70, 2}, 1, 2, {.leaves = 8}}),
    [](const auto& one) { return one.param.name; });

TEST(PhaseSearch, ReachesWhomTheBitmapsReachWhenLeavesAreDead) {
  const Fabric fabric(Shape::grid(4, 4));
  PhaseSearch search(fabric.shape, {});
  VtftrPlus plus(fabric.shape, {});
  FaultClasses classes(4);
  for (std::uint32_t k = 1; k <= 7; ++k) {
    classes.add_mark(1);
    for (const FaultClass& one : classes.classes()) {
      Faults dead(fabric.shape);
      for (std::uint32_t leaf = 0; leaf < 16; ++leaf) {
        if (one.marks[leaf] != 0) {
          dead.leaves.insert(leaf);
        }
      }
      const Verification by_search = fabric.check(search, dead);
      const Verification by_masks = fabric.check(plus, dead);
      ASSERT_EQ(by_search.stranded, by_masks.stranded) << k;
      ASSERT_EQ(by_search.at_risk, 0U);
    }
  }
}

TEST(PhaseSearch, LosesAtMostWhatIsUnknownOnTheSpotAndOnlyByNamedReasons) {
  const Fabric fabric(Shape(std::array{4U, 4U, 3U}, 1));
  PhaseSearch search(fabric.shape, {3});
  const TableSet tables = search.tables(Faults(fabric.shape));
  Random random(test::seed());
  const Faults real = draw_faults(fabric.shape, {.leaves = 1}, random);
  const Verification found = fabric.check(tables, real);
  EXPECT_TRUE(found.acyclic());
  EXPECT_EQ(found.loops, 0U);
  EXPECT_EQ(found.stranded, 0U) << found.describe(fabric.network);
}

TEST(PhaseSearch, RefusesWhatItHasNoRoomFor) {
  EXPECT_THAT(test::message_of<RouteError>([] {
                return PhaseSearch(Shape(std::array{2U, 2U, 2U, 2U, 2U}), {7});
              }),
              HasSubstr("5 dimensions with 7 are 35"));
  EXPECT_THAT(test::message_of<RouteError>([] { return PhaseSearch(Shape::grid(2, 2, 40), {}); }),
              HasSubstr("2 dimensions with 40 planes are 80"));
}

} // namespace
} // namespace tributary::unicast
