// The campaign, with as many messages as fit into a test run; messages-campaign does more.
#include "tests/messages/campaign.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#ifndef TRIBUTARY_SEED_DIVISOR
#define TRIBUTARY_SEED_DIVISOR 1
#endif

namespace tributary::messages::test {
namespace {

constexpr std::uint64_t messages_a_run = 1000;
constexpr std::uint64_t runs_a_scene = 25 / TRIBUTARY_SEED_DIVISOR;

CampaignReport run_scene(Scene scene) {
  const char* const text = std::getenv("TRIBUTARY_SEED");
  const std::uint64_t seed = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  CampaignReport all;
  for (std::uint64_t i = 0; i < runs_a_scene; ++i) {
    const CampaignReport report =
        run_campaign({.scene = scene, .seed = seed + i, .messages = messages_a_run});
    for (const std::string& violation : report.violations) {
      ADD_FAILURE() << "messages-campaign --scene " << scene_names[static_cast<std::size_t>(scene)]
                    << " --seed " << seed + i << " --messages " << messages_a_run << "\n"
                    << violation;
    }
    all.add(report);
  }
  std::cout << "seed " << seed << ": " << all.received << " of " << all.sent << " received, "
            << all.frames << " frames\n";
  return all;
}

TEST(MessagesCampaign, UnderEveryFaultAllArriveOnceAndInOrder) {
  const CampaignReport all = run_scene(Scene::faults);
  EXPECT_EQ(all.received, all.sent);
  EXPECT_GT(all.resent, all.sent / 100) << "frames were lost";
  EXPECT_GT(all.long_ones, all.sent / 20);
  EXPECT_GT(all.truncated, 0U);
  EXPECT_GT(all.atomics, all.sent / 10);
}

TEST(MessagesCampaign, OverASprayingNetworkAllArriveOnceAndInOrder) {
  const CampaignReport all = run_scene(Scene::spraying);
  EXPECT_EQ(all.received, all.sent);
}

TEST(MessagesCampaign, WithLittleRoomSendersWaitAndAllArrive) {
  const CampaignReport all = run_scene(Scene::narrow);
  EXPECT_EQ(all.received, all.sent);
  EXPECT_GT(all.blocked, 0U) << "the room was too small at times";
}

TEST(MessagesCampaign, WhenProgramsRestartNothingIsCorruptAndNothingHangs) {
  const CampaignReport all = run_scene(Scene::restarts);
  EXPECT_GT(all.restarts, runs_a_scene);
  EXPECT_GT(all.failed, 0U) << "what was on its way has failed";
  EXPECT_GT(all.received, all.sent / 2);
}

} // namespace
} // namespace tributary::messages::test
