#include "endpoint/mpi/model/plan.hpp"

#include "tributary/tributary.h"

#include <gtest/gtest.h>

namespace tributary::mpi::test {
namespace {

constexpr Abilities wide{.wide_frames = true, .reproducible = false};
constexpr Abilities narrow{.wide_frames = false, .reproducible = false};

TEST(Plan, ShortIntegersAndFloatsNeedWideFramesToBeAddedUp) {
  for (const Element element : {Element::int8, Element::uint16, Element::int32, Element::float32}) {
    EXPECT_EQ(plan_reduction(Operator::sum, element, wide).reason, Reason::none);
    EXPECT_EQ(plan_reduction(Operator::sum, element, narrow).reason, Reason::needs_wide_frames);
  }
  for (const Element element : {Element::int64, Element::uint64, Element::float64}) {
    EXPECT_EQ(plan_reduction(Operator::sum, element, narrow).reason, Reason::none);
  }
  EXPECT_EQ(plan_reduction(Operator::min, Element::uint64, narrow).reason,
            Reason::needs_wide_frames);
}

TEST(Plan, BitsAndTruthAreOfIntegersInAnyFrames) {
  for (const Operator op : {Operator::band, Operator::bor, Operator::bxor, Operator::land,
                            Operator::lor, Operator::lxor}) {
    EXPECT_EQ(plan_reduction(op, Element::uint8, narrow).reason, Reason::none);
    EXPECT_EQ(plan_reduction(op, Element::float64, wide).reason, Reason::datatype_not_carried);
    EXPECT_EQ(plan_reduction(op, Element::double_int, wide).reason, Reason::datatype_not_carried);
  }
}

TEST(Plan, PlacesAreOfPairsAlone) {
  const Verdict verdict = plan_reduction(Operator::maxloc, Element::double_int, narrow);
  ASSERT_EQ(verdict.reason, Reason::none);
  EXPECT_EQ(verdict.plan.type, TRIBUTARY_MINMAXLOC_DOUBLE);
  EXPECT_EQ(verdict.plan.user_bytes, 16U);
  EXPECT_EQ(verdict.plan.frame_bytes, 32U);
  EXPECT_EQ(plan_reduction(Operator::maxloc, Element::float64, wide).reason,
            Reason::datatype_not_carried);
  EXPECT_EQ(plan_reduction(Operator::sum, Element::double_int, wide).reason,
            Reason::datatype_not_carried);
}

TEST(Plan, OnlySumsOfFloatsAreMadeReproducible) {
  const Abilities reproducible{.wide_frames = true, .reproducible = true};
  const Verdict floats = plan_reduction(Operator::sum, Element::float32, reproducible);
  EXPECT_EQ(floats.plan.op, TRIBUTARY_REPSUM);
  EXPECT_EQ(floats.plan.user_bytes, 4U);
  EXPECT_EQ(floats.plan.frame_bytes, sizeof(tributary_repsum_state));
  EXPECT_EQ(
      plan_reduction(Operator::sum, Element::float32, {.wide_frames = false, .reproducible = true})
          .reason,
      Reason::none);
  EXPECT_EQ(plan_reduction(Operator::sum, Element::float64, reproducible).plan.op,
            TRIBUTARY_REPSUM);
  EXPECT_EQ(plan_reduction(Operator::min, Element::float64, reproducible).plan.op,
            TRIBUTARY_MIN_NAN);
  EXPECT_EQ(plan_reduction(Operator::sum, Element::int64, reproducible).plan.op, TRIBUTARY_SUM);
}

TEST(Plan, ANumberBeatsANaNWhereRequested) {
  const Abilities ignored{.wide_frames = true, .reproducible = false, .nan_wins = false};
  EXPECT_EQ(plan_reduction(Operator::max, Element::float32, ignored).plan.op, TRIBUTARY_MAX);
  EXPECT_EQ(plan_reduction(Operator::max, Element::float32, wide).plan.op, TRIBUTARY_MAX_NAN);
  EXPECT_EQ(plan_reduction(Operator::max, Element::int32, wide).plan.op, TRIBUTARY_MAX);
  EXPECT_EQ(plan_reduction(Operator::minloc, Element::float_int, ignored).plan.op,
            TRIBUTARY_MINMAXLOC);
  EXPECT_EQ(plan_reduction(Operator::minloc, Element::float_int, wide).plan.op,
            TRIBUTARY_MINMAXLOC_NAN);
  EXPECT_EQ(plan_reduction(Operator::minloc, Element::two_int, wide).plan.op, TRIBUTARY_MINMAXLOC);
}

TEST(Plan, ComplexNumbersAreTwoNumbersAndHaveOnlySums) {
  const Verdict doubles = plan_reduction(Operator::sum, Element::complex128, narrow);
  ASSERT_EQ(doubles.reason, Reason::none);
  EXPECT_EQ(doubles.plan.type, TRIBUTARY_DOUBLE);
  EXPECT_EQ(doubles.plan.numbers, 2U);
  EXPECT_EQ(doubles.plan.user_bytes, 8U);
  EXPECT_EQ(doubles.plan.frame_bytes, 8U);
  EXPECT_EQ(bytes_of(Element::complex128), 16U);
  EXPECT_EQ(plan_reduction(Operator::sum, Element::complex64, wide).plan.type, TRIBUTARY_FLOAT);
  EXPECT_EQ(plan_reduction(Operator::sum, Element::complex64, narrow).reason,
            Reason::needs_wide_frames);
  EXPECT_EQ(plan_reduction(Operator::sum, Element::float64, narrow).plan.numbers, 1U);
  const Abilities reproducible{.wide_frames = true, .reproducible = true};
  EXPECT_EQ(plan_reduction(Operator::sum, Element::complex128, reproducible).plan.op,
            TRIBUTARY_REPSUM);
  const Plan parts = plan_reduction(Operator::sum, Element::complex64, reproducible).plan;
  EXPECT_EQ(parts.op, TRIBUTARY_REPSUM);
  EXPECT_EQ(parts.user_bytes, 4U);
  EXPECT_EQ(parts.numbers, 2U);
  for (std::size_t o = 0; o + 1 < operator_count; ++o) {
    const auto op = static_cast<Operator>(o);
    for (const Element element : {Element::complex64, Element::complex128}) {
      EXPECT_EQ(plan_reduction(op, element, wide).reason == Reason::none, op == Operator::sum)
          << terms_of(op).name;
    }
  }
}

TEST(Plan, WhatNoFrameCarriesHasAReason) {
  EXPECT_EQ(plan_reduction(Operator::other, Element::float64, wide).reason,
            Reason::operator_not_carried);
  EXPECT_EQ(plan_reduction(Operator::sum, Element::other, wide).reason,
            Reason::datatype_not_carried);
}

} // namespace
} // namespace tributary::mpi::test
