// Vectors in wide frames over a switch core: exact in every type, whatever is lost or altered, and
// one wrong column is found.
#include "reduce_rig.hpp"

#include "pktgen/scenario/reduce_frames.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace tributary::pktgen::traffic::test {

using measure::Figure;
using measure::Tally;
using scenario::PortIndex;
using scenario::Reduce;

namespace {

using testing::AllOf;
using testing::HasSubstr;

Reduce vectors(std::uint32_t leaves, std::string type, std::uint64_t elements,
               std::string operation = "sum") {
  Reduce reduce;
  reduce.leaves = leaves;
  reduce.type = std::move(type);
  reduce.operation = std::move(operation);
  reduce.elements = elements;
  return reduce;
}

bool is_wide(const std::byte* frame) {
  return wire::form_byte_of(frame + wire::ethernet_header_bytes) != 0;
}

/// Runs for a while; all results must be right.
Tally run_to_the_end(ReduceRig& rig, std::uint64_t ns) {
  rig.run(ns);
  EXPECT_TRUE(rig.finish()) << rig.traffic().waiting_for(rig.now);
  const Tally tally = rig.tally();
  EXPECT_EQ(tally.sum(Figure::Meaning::fault), 0U)
      << (tally.remarks.empty() ? "" : tally.remarks.front());
  EXPECT_EQ(tally.figure("results_checked"),
            tally.figure("reductions") *
                (1 + tally.figure("operations_at_leaves") /
                         std::max<std::uint64_t>(tally.figure("operations"), 1)));
  return tally;
}

TEST(ReduceVectors, EveryTypeHasItsOperationsAndSaysWhichThoseAre) {
  std::size_t kinds = 0;
  for (const std::string_view type : scenario::type_names()) {
    for (const std::string_view operation : scenario::operation_names()) {
      const Reduce reduce = resolved(vectors(2, std::string(type), 100, std::string(operation)));
      try {
        const ReduceOperands operands(reduce, 1);
        ++kinds;
      } catch (const std::invalid_argument& problem) {
        EXPECT_THAT(problem.what(),
                    AllOf(HasSubstr("no " + std::string(operation)), HasSubstr("there are ")));
      }
    }
  }
  // Eight integers with six operations, four floats with twelve, REPSUM, and three of tuples.
  EXPECT_EQ(kinds, 8U * 6 + 4 * 12 + 1 + 3);
}

TEST(ReduceVectors, AreExactInEveryType) {
  constexpr std::array kinds =
      std::to_array<std::pair<const char*, const char*>>({{"int8", "sum"},
                                                          {"uint8", "max"},
                                                          {"int16", "min"},
                                                          {"uint16", "sum"},
                                                          {"int32", "xor"},
                                                          {"uint32", "min"},
                                                          {"int64", "and"},
                                                          {"uint64", "or"},
                                                          {"float64", "repsum"},
                                                          {"float64", "sum_downward"},
                                                          {"float32", "sum"},
                                                          {"float32", "min"},
                                                          {"float16", "sum"},
                                                          {"bfloat16", "sum_ftz_upward"},
                                                          {"bfloat16", "max_nan"},
                                                          {"minmaxloc_int64", "minmaxloc"},
                                                          {"minmaxloc_float64", "minmaxloc_nan"}});
  for (const auto& [type, operation] : kinds) {
    Reduce reduce = vectors(19, type, 800, operation);
    reduce.payload = 512;
    reduce.slots = 16;
    SCOPED_TRACE(std::string(operation) + " of " + type);
    ReduceRig rig(reduce);
    const Tally tally = run_to_the_end(rig, 100'000);
    EXPECT_GT(tally.figure("operations"), 1U);
    EXPECT_EQ(tally.figure("asked_again"), 0U);
  }
}

struct VectorShape {
  std::uint32_t leaves;
  std::uint64_t elements; ///< of float32
  std::uint32_t payload;
  std::uint32_t slots;
  std::uint32_t trees;
};
void PrintTo(const VectorShape& s, std::ostream* out) {
  *out << s.leaves << " leaves, " << s.elements << " elements, payload " << s.payload << ", "
       << s.slots << " slots, " << s.trees << " trees";
}
class VectorShapes : public testing::TestWithParam<VectorShape> {};

TEST_P(VectorShapes, AreExactAndCountedByTheByte) {
  const VectorShape& shape = GetParam();
  Reduce reduce = vectors(shape.leaves, "float32", shape.elements);
  reduce.payload = shape.payload;
  reduce.slots = shape.slots;
  reduce.trees = shape.trees;
  ReduceRig rig(reduce);
  const Tally tally = run_to_the_end(rig, 500'000);
  const std::uint64_t in_piece = shape.payload / 4;
  EXPECT_GT(tally.figure("operations"), 1U);
  EXPECT_EQ(tally.figure("reductions"),
            tally.figure("operations") * ((shape.elements + in_piece - 1) / in_piece));
  EXPECT_EQ(tally.figure("payload_bytes"), tally.figure("operations") * 4 * shape.elements);
  EXPECT_EQ(tally.figure("payload_bytes_at_leaves"), tally.figure("payload_bytes") * shape.leaves);
  EXPECT_EQ(tally.figure("frames_that_made_reductions"), tally.figure("reductions"));
  EXPECT_EQ(tally.figure("asked_again"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Loop, VectorShapes,
                         testing::Values(VectorShape{1, 1, 64, 8, 1}, VectorShape{2, 16, 64, 16, 1},
                                         VectorShape{7, 3001, 1408, 128, 1},
                                         VectorShape{40, 352, 1408, 128, 2},
                                         VectorShape{5, 50'000, 8192, 32, 3},
                                         VectorShape{3, 40'000, 9152, 8, 1},
                                         VectorShape{300, 400, 1408, 0, 1}));

TEST(ReduceVectors, ShortOnesTravelInFramesOf84Bytes) {
  ReduceRig rig(vectors(6, "int64", 4));
  std::uint64_t wide = 0;
  rig.on_arrival = [&](PortIndex, std::byte* frame) {
    wide += is_wide(frame) ? 1 : 0;
    return true;
  };
  const Tally tally = run_to_the_end(rig, 1'000'000);
  EXPECT_GT(tally.figure("operations"), 128U) << "as many as there are slots, at least";
  EXPECT_EQ(wide, 0U);
}

TEST(ReduceVectors, OperatorsOfBothFormsTakeTurns) {
  Reduce reduce;
  reduce.leaves = 9;
  reduce.operators = {"mix", "wide-mix"};
  reduce.elements = 100;
  reduce.payload = 256;
  ReduceRig rig(reduce);
  const Tally tally = run_to_the_end(rig, 3'000'000);
  EXPECT_GE(tally.figure("operations"), operator_names(true).size());
}

TEST(ReduceVectors, OneWrongLaneIsFoundAtEveryMemberItReaches) {
  // In every byte of an element, at the first column, in the middle, and at the last.
  for (const std::size_t at : {0U, 1U, 703U, 1403U}) {
    ReduceRig rig(vectors(4, "float32", 351));
    int damaged = 0;
    rig.on_arrival = [&](PortIndex port, std::byte* frame) {
      if (port == 1 && is_wide(frame) && damaged == 0) {
        frame[wire::wide_header_bytes + at] ^= std::byte{1};
        ++damaged;
      }
      return true;
    };
    rig.run(200'000);
    ASSERT_TRUE(rig.finish());
    ASSERT_EQ(damaged, 1);
    // Ports 1 and 2 share the four leaves: the damaged copy is read by two.
    EXPECT_EQ(rig.tally().figure("wrong_results"), 2U) << "byte " << at;
    ASSERT_FALSE(rig.tally().remarks.empty());
    EXPECT_THAT(rig.tally().remarks.front(), HasSubstr("got a wrong result"));
  }
}

TEST(ReduceVectors, OneWrongLaneOfAContributionIsFoundAtTheRootAndAllLeaves) {
  ReduceRig rig(vectors(4, "int32", 1000));
  int damaged = 0;
  rig.on_arrival = [&](PortIndex port, std::byte* frame) {
    if (port == 0 && is_wide(frame) && damaged == 0) {
      frame[wire::wide_header_bytes + 804] ^= std::byte{1};
      ++damaged;
    }
    return true;
  };
  rig.run(200'000);
  ASSERT_TRUE(rig.finish());
  ASSERT_EQ(damaged, 1);
  EXPECT_EQ(rig.tally().figure("wrong_results"), 5U);
}

TEST(ReduceVectors, LostFramesAreAskedForAgain) {
  Reduce reduce = vectors(10, "float32", 20'000);
  reduce.retry = std::chrono::milliseconds(32); // for losses before any completion
  ReduceRig rig(reduce);
  int seen = 0;
  int lost = 0;
  rig.on_arrival = [&](PortIndex, std::byte*) {
    const bool loses = ++seen % 50 == 0;
    lost += loses ? 1 : 0;
    return !loses;
  };
  const Tally tally = run_to_the_end(rig, 200'000'000);
  EXPECT_GT(lost, 20);
  EXPECT_GT(tally.figure("overdue"), 0U) << "by what completes behind them";
  EXPECT_GT(tally.figure("operations"), 10U);
}

TEST(ReduceVectors, TreesThatShareAPortLoseNothingToOneAnother) {
  // A leaf contributes the same memory under the same id to every tree.
  Reduce reduce = vectors(3, "float32", 5000);
  reduce.trees = 4;
  ReduceRig rig(reduce, 2);
  const Tally tally = run_to_the_end(rig, 1'000'000);
  EXPECT_EQ(tally.figure("asked_again") + tally.figure("results_requested"), 0U);
  EXPECT_GT(tally.figure("operations"), 20U);
}

TEST(ReduceVectors, WithoutArmsEveryContributionReachesTheRoot) {
  Reduce reduce = vectors(12, "bfloat16", 2000);
  reduce.armed = false;
  ReduceRig rig(reduce);
  const Tally tally = run_to_the_end(rig, 2'000'000);
  EXPECT_EQ(tally.figure("frames_that_made_reductions"), 12 * tally.figure("reductions"));
}

/// Share of the time that is enough for an alteration of each kind.
constexpr std::uint64_t share = TRIBUTARY_SEED_DIVISOR == 1 ? 1 : 2;

TEST(ReduceVectors, AlteredContributionsChangeNoResult) {
  using scenario::Tampering;
  for (double Tampering::*how : {&Tampering::absent, &Tampering::late, &Tampering::wrong_cookie,
                                 &Tampering::wrong_vni, &Tampering::stale}) {
    Reduce reduce = vectors(8, "float32", 5000);
    reduce.tampering.*how = 0.01;
    reduce.tampering.late_by = std::chrono::microseconds(300);
    ReduceRig rig(reduce);
    const Tally tally = run_to_the_end(rig, 2'000'000 / share);
    std::uint64_t tampered = 0;
    for (const Figure& figure : tally.figures) {
      tampered += figure.name.starts_with("tampered_") ? figure.value : 0;
    }
    EXPECT_GT(tampered, 10U);
  }
}

TEST(ReduceVectors, WrongOpcodesAreReported) {
  for (const char* type : {"float32", "bfloat16", "int8", "minmaxloc_float64"}) {
    Reduce reduce = vectors(8, type, 2000, type[0] == 'm' ? "minmaxloc" : "sum");
    reduce.tampering.wrong_opcode = 0.002;
    ReduceRig rig(reduce);
    SCOPED_TRACE(type);
    const Tally tally = run_to_the_end(rig, 1'000'000 / share);
    EXPECT_GT(tally.figure("tampered_wrong_opcode"), 3U);
    EXPECT_GT(tally.figure("mismatches_reported"), 0U);
  }
}

TEST(ReduceVectors, GivenUpInFullFlightTheyLeaveNothingArmed) {
  Reduce reduce = vectors(6, "float32", 100'000);
  reduce.trees = 2;
  ReduceRig rig(reduce);
  rig.run(500'000);
  ASSERT_GT(rig.armed(), 0U);
  rig.give_up();
  EXPECT_EQ(rig.armed(), 0U);
}

TEST(ReduceVectors, WhatThereIsNotIsRefusedWithWhatThereIs) {
  Placement two;
  two.ports.resize(2);
  const auto refusal = [&](const Reduce& reduce) -> std::string {
    try {
      const ReduceTraffic traffic(reduce, two, 1);
      return {};
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
  };
  EXPECT_THAT(refusal(vectors(4, "float32", 100, "and")),
              AllOf(HasSubstr("no and of float32"), HasSubstr("min, max, sum")));
  EXPECT_THAT(refusal(vectors(4, "bfloat16", 100, "repsum")), HasSubstr("no repsum of bfloat16"));
  EXPECT_THAT(refusal(vectors(4, "float46", 100)),
              AllOf(HasSubstr("no type \"float46\""), HasSubstr("bfloat16")));
  EXPECT_THAT(refusal(vectors(4, "float32", 100, "product")), HasSubstr("no operation"));
  Reduce reduce = vectors(4, "float32", 100);
  reduce.payload = 32;
  EXPECT_THAT(refusal(reduce), HasSubstr("needs wide frames"));
  reduce = Reduce();
  reduce.operators = {"sum-float"};
  EXPECT_THAT(refusal(reduce), HasSubstr("needs wide frames"));
  reduce = vectors(4, "float64", 100, "repsum");
  reduce.tampering.wrong_opcode = 0.1;
  EXPECT_THAT(refusal(reduce), HasSubstr("wrong_opcode"));
  reduce = vectors(4, "int16", std::uint64_t{1} << 28);
  reduce.payload = 64;
  EXPECT_THAT(refusal(reduce), HasSubstr("a larger payload"));
}

TEST(ReduceVectors, PortThatTakesNoFramesSoLongIsNamed) {
  Reduce reduce = vectors(4, "float32", 100'000);
  reduce.payload = 16'384;
  Reduce shorter = reduce;
  shorter.payload = 64;
  ReduceRig narrow(shorter); // its ports take 9,230 bytes
  Placement placement;
  placement.ports.resize(3);
  ReduceTraffic traffic(reduce, placement, 1);
  traffic.start(narrow.now);
  const std::vector<link::Port*> ports = narrow.loop().ports();
  try {
    traffic.generate(ports, narrow.now);
    ADD_FAILURE() << "nothing was refused";
  } catch (const std::runtime_error& problem) {
    EXPECT_THAT(problem.what(),
                AllOf(HasSubstr("memory takes an MTU of up to 9216"), HasSubstr("--payload 9152")));
  }
}

} // namespace
} // namespace tributary::pktgen::traffic::test
