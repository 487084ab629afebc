// The campaign, with as many transfers as fit into a test run; rdma-campaign does more.
#include "tests/rdma/campaign.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#ifndef TRIBUTARY_SEED_DIVISOR
#define TRIBUTARY_SEED_DIVISOR 1
#endif

namespace tributary::rdma::test {
namespace {

constexpr std::uint64_t transfers_a_run = 1000;
constexpr std::uint64_t runs_a_scene = 21 / TRIBUTARY_SEED_DIVISOR;

std::uint64_t seed_of_run() {
  const char* const text = std::getenv("TRIBUTARY_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

CampaignReport run_scene(Scene scene) {
  CampaignReport all;
  const std::uint64_t seed = seed_of_run();
  for (std::uint64_t i = 0; i < runs_a_scene; ++i) {
    const CampaignReport report =
        run_campaign({.scene = scene, .seed = seed + i, .transfers = transfers_a_run});
    for (const std::string& violation : report.violations) {
      ADD_FAILURE() << "rdma-campaign --scene " << scene_names[static_cast<std::size_t>(scene)]
                    << " --seed " << seed + i << " --transfers " << transfers_a_run << "\n"
                    << violation;
    }
    all.add(report);
  }
  std::cout << "seed " << seed << ": " << all.done << " of " << all.begun << " done, " << all.frames
            << " frames\n";
  return all;
}

/// Kinds that occur often in every run.
constexpr wire::RdmaKind frequent_kinds[] = {wire::RdmaKind::rqt,  wire::RdmaKind::rsp,
                                             wire::RdmaKind::wr,   wire::RdmaKind::resend,
                                             wire::RdmaKind::done, wire::RdmaKind::rd_rqt};

TEST(RdmaCampaign, UnderEveryFaultAllAreDoneAndNothingIsCorrupt) {
  const CampaignReport all = run_scene(Scene::faults);
  EXPECT_EQ(all.done, all.begun);
  for (const wire::RdmaKind kind : frequent_kinds) {
    const auto& of_kind = all.faults[static_cast<std::size_t>(kind)];
    EXPECT_GT(of_kind[static_cast<std::size_t>(Fault::lost)], 0U) << name_of(kind);
    EXPECT_GT(of_kind[static_cast<std::size_t>(Fault::duplicated)], 0U) << name_of(kind);
  }
  for (const Fault fault : {Fault::lost, Fault::duplicated, Fault::corrupted, Fault::delayed}) {
    EXPECT_GT(
        all.faults[static_cast<std::size_t>(wire::RdmaKind::wr)][static_cast<std::size_t>(fault)],
        runs_a_scene);
  }
  EXPECT_GT(all.sink.bad_crc, 0U);
  EXPECT_GT(all.sink.zombie + all.sink.wrong_generation, 0U);
  EXPECT_GT(all.source.busy_received, 0U);
}

TEST(RdmaCampaign, WhenTheSinksHostRestartsNothingIsCorrupt) {
  const CampaignReport all = run_scene(Scene::sink_restarts);
  EXPECT_GT(all.failed, 0U) << "a key of the last life is refused";
  EXPECT_GT(all.done, all.begun / 2);
}

TEST(RdmaCampaign, WhenTheSourcesHostRestartsOldFramesHarmNobody) {
  const CampaignReport all = run_scene(Scene::source_restarts);
  EXPECT_GT(all.restarts, 0U);
  EXPECT_GT(all.sink.incarnations, 0U);
  EXPECT_EQ(all.failed, 0U);
}

TEST(RdmaCampaign, WhenThePathDiesForLongTransfersEndWithErrorsAndAfterwardsGoOn) {
  const CampaignReport all = run_scene(Scene::dead_path);
  EXPECT_GT(all.failed, 0U);
  EXPECT_GT(all.done, all.begun / 4);
}

TEST(RdmaCampaign, ThroughAQueueThatOverflowsAndTrimsAllAreDone) {
  const CampaignReport all = run_scene(Scene::queue);
  EXPECT_EQ(all.done, all.begun);
  const auto& wr = all.faults[static_cast<std::size_t>(wire::RdmaKind::wr)];
  EXPECT_GT(wr[static_cast<std::size_t>(Fault::trimmed)] +
                wr[static_cast<std::size_t>(Fault::queue_full)],
            0U);
}

TEST(RdmaCampaign, AHostThatForgesAndHoardsHarmsNobody) {
  const CampaignReport all = run_scene(Scene::hostile);
  EXPECT_EQ(all.done, all.begun);
  EXPECT_GT(all.forged, all.begun);
  EXPECT_GT(all.sink.challenged, 0U);
  EXPECT_GT(all.sink.served, all.sink.excess_credit / 2) << "its own reads are served";
  EXPECT_GT(all.sink.excess_credit, 0U) << "within a window";
  EXPECT_GT(all.source.stale_answers, 0U);
  EXPECT_EQ(all.source.incarnations + all.source.restarts, 0U);
}

} // namespace
} // namespace tributary::rdma::test
