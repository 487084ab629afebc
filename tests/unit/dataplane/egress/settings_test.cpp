// Settings that make no sense are refused with a reason.

#include "tests/unit/dataplane/egress/frames.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tributary::egress::test {
namespace {

std::string problem_after(const std::function<void(PortSettings&)>& change) {
  PortSettings settings;
  change(settings);
  return problem_with(settings);
}

TEST(Settings, TheDefaultsAreFine) {
  EXPECT_EQ(problem_with(PortSettings{}), "");
  EXPECT_EQ(problem_with(PauseLimits{}), "");
}

TEST(Settings, WhatIsWrongIsSaidWithItsClassAndNumber) {
  EXPECT_EQ(problem_after([](auto& s) { s.classes[3].limit.frames = 0; }),
            "class 3: a queue holds 1 to 1048576 frames, not 0");
  EXPECT_EQ(problem_after([](auto& s) { s.classes[0].limit.frames = (1U << 20) + 1; }),
            "class 0: a queue holds 1 to 1048576 frames, not 1048577");
  EXPECT_EQ(problem_after([](auto& s) { s.classes[7].limit.bytes = 0; }),
            "class 7: a queue of 0 bytes holds nothing");
  EXPECT_EQ(problem_after([](auto& s) { s.classes[1].weight = 0; }),
            "class 1: a class of weight 0 is never served; the least weight is 1");
  EXPECT_EQ(problem_after([](auto& s) { s.classes[1].trimmed_frames = 0; }),
            "class 1: 1 to 1048576 trimmed frames may wait, not 0; a class that trims none drops");
  EXPECT_EQ(problem_after([](auto& s) { s.quantum_bytes = 63; }),
            "a quantum of 63 bytes is too small; the least one is 64");
}

TEST(Settings, AStrictClassNeedsNoWeight) {
  EXPECT_EQ(problem_after([](auto& s) {
              s.classes[1].weight = 0;
              s.classes[1].service = Service::strict;
            }),
            "");
}

TEST(Settings, QueuesRefuseThemWhenTheyAreMade) {
  PortSettings settings;
  settings.classes[2].limit.frames = 0;
  EXPECT_THROW(Queues{settings}, std::invalid_argument);
  settings = {};
  settings.classes[2].when_full = WhenFull::pause;
  EXPECT_THROW(Queues{settings}, std::invalid_argument) << "no accounts";
  IngressAccounts accounts;
  EXPECT_NO_THROW((Queues{settings, &accounts}));
}

TEST(Settings, ThresholdsWithoutHysteresisAreRefused) {
  PauseLimits limits;
  limits.xon = limits.xoff;
  EXPECT_NE(problem_with(limits), "");
  limits.xon = {limits.xoff.frames - 1, limits.xoff.bytes};
  EXPECT_NE(problem_with(limits), "");
  limits.xon = {limits.xoff.frames - 1, limits.xoff.bytes - 1};
  EXPECT_EQ(problem_with(limits), "");
  std::array<PauseLimits, traffic_classes> all{};
  all[5].xon = all[5].xoff;
  EXPECT_THROW(IngressAccounts{all}, std::invalid_argument);
}

TEST(ControlClass, is_the_highest_that_no_pause_stops) {
  PortSettings settings;
  EXPECT_EQ(control_class(settings), cls(7));
  settings.classes[7].when_full = WhenFull::pause;
  EXPECT_EQ(control_class(settings), cls(6));
  settings.classes[6].obeys_pause = true;
  EXPECT_EQ(control_class(settings), cls(5));
  for (ClassSettings& of_class : settings.classes) {
    of_class.obeys_pause = true;
  }
  EXPECT_EQ(control_class(settings), cls(7));
}

} // namespace
} // namespace tributary::egress::test
