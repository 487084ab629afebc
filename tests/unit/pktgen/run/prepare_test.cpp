// What a scenario leaves open, on machines of different sizes.
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/run/prepare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tributary::pktgen::run {

using scenario::Scenario;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t plenty = std::uint64_t{1} << 40;

Scenario in_process(std::uint32_t workers = 1) {
  Scenario scenario;
  scenario.hosted.emplace().workers = workers;
  return scenario;
}

TEST(Prepare, InProcessEachGetsACoreOfItsOwn) {
  Scenario scenario = in_process(2);
  EXPECT_THAT(prepare(scenario, {0, 2, 5}, plenty), IsEmpty());
  EXPECT_THAT(scenario.cores, ElementsAre(0U));
  EXPECT_THAT(scenario.hosted->cores, ElementsAre(2U, 5U));
  EXPECT_TRUE(scenario.busy);
}

TEST(Prepare, OnTooFewCoresNobodyPollsBusily) {
  Scenario scenario = in_process(2);
  EXPECT_THAT(prepare(scenario, {0, 1}, plenty), ElementsAre(HasSubstr("share 2 cores")));
  EXPECT_FALSE(scenario.busy);
  EXPECT_FALSE(scenario.hosted->busy);
  EXPECT_THAT(scenario.cores, IsEmpty());
}

TEST(Prepare, CoresThatWereGivenStay) {
  Scenario scenario = in_process();
  scenario.cores = {7};
  scenario.hosted->cores = {3};
  prepare(scenario, {0, 1, 2, 3, 7}, plenty);
  EXPECT_THAT(scenario.cores, ElementsAre(7U));
  EXPECT_THAT(scenario.hosted->cores, ElementsAre(3U));
}

TEST(Prepare, DrawsASeedUnlessOneIsGiven) {
  Scenario scenario = in_process();
  prepare(scenario, {0, 1}, plenty);
  EXPECT_NE(scenario.seed, 0U);
  scenario.seed = 12;
  prepare(scenario, {0, 1}, plenty);
  EXPECT_EQ(scenario.seed, 12U);
}

TEST(Prepare, MembersThatDoNotFitIntoMemoryAreRefused) {
  Scenario scenario = in_process();
  scenario.traffic.reduce.leaves = 100'000;
  scenario.traffic.reduce.trees = 1000;
  try {
    prepare(scenario, {0, 1}, std::uint64_t{8} << 30);
    FAIL() << "accepted";
  } catch (const ScenarioError& error) {
    EXPECT_THAT(error.what(), HasSubstr("8192 MiB are available"));
  }
}

TEST(Prepare, MembersOfVectorsTakeMoreWithMoreSlots) {
  Scenario scenario = in_process();
  scenario.traffic.reduce.leaves = 10'000;
  const std::uint64_t as_before = memory_of(scenario);
  scenario.traffic.reduce.type = "float32";
  EXPECT_GT(memory_of(scenario), as_before + 10'000 * 1408);
  EXPECT_LT(memory_of(scenario), as_before + 20'000 * 1408) << "eight slots, as before";
  scenario.traffic.reduce.slots = 128;
  EXPECT_GT(memory_of(scenario), 16 * as_before);
  scenario.traffic.reduce.elements = 100'000'000;
  EXPECT_LT(memory_of(scenario), 17 * as_before) << "long vectors are made of the same pieces";
}

TEST(Prepare, ReplayOfAFileThatIsNotThereIsRefusedByName) {
  Scenario scenario = in_process();
  scenario.traffic.kind = scenario::Kind::replay;
  scenario.traffic.replay.file = "/nonexistent/frames.pcap";
  try {
    prepare(scenario, {0, 1}, plenty);
    FAIL() << "accepted";
  } catch (const ScenarioError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/frames.pcap"));
  }
}

TEST(Prepare, CoresBeyondTheQueuesAreSaidToBeLeftOut) {
  Scenario scenario = in_process();
  scenario.hosted.reset();
  scenario.ports.resize(2);
  scenario.ports[1].queues = 2;
  scenario.cores = {0, 1, 2};
  EXPECT_TRUE(prepare(scenario, {0, 1, 2, 3}, plenty).empty());
  scenario.cores = {0, 1, 2, 3};
  EXPECT_THAT(prepare(scenario, {0, 1, 2, 3}, plenty),
              testing::ElementsAre(HasSubstr("4 cores are given, and the ports have 3 queues")));
}

TEST(Prepare, TransfersThatDoNotFitIntoMemoryAreRefused) {
  Scenario scenario = in_process();
  scenario.traffic.kind = scenario::Kind::mixed;
  scenario.parts.resize(2);
  scenario.parts[1].kind = scenario::Kind::rdma;
  scenario.parts[1].rdma.sizes = {1'000'000'000};
  EXPECT_THROW(prepare(scenario, {0, 1}, 40'000'000'000), ScenarioError);
  EXPECT_NO_THROW(prepare(scenario, {0, 1}, 60'000'000'000));
}

TEST(Prepare, OfTransfersNobodyKnowsAShareThatIsLost) {
  Scenario scenario = in_process();
  scenario.traffic.kind = scenario::Kind::rdma;
  scenario.phases.max_loss = 0.5;
  EXPECT_THROW(prepare(scenario, {0, 1}, plenty), ScenarioError);
}

TEST(Prepare, ProcessorsAreCalledAsTheirKernelDoes) {
  const auto name_of = [](const char* cpuinfo) {
    std::istringstream text(cpuinfo);
    return processor_name(text);
  };
  EXPECT_EQ(name_of("processor\t: 0\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\n"), "AMD EPYC");
  EXPECT_EQ(name_of("processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\n"
                    "CPU part\t: 0xd0c\n\nprocessor\t: 1\nCPU part\t: 0xd49\n"),
            "Arm processor, implementer 0x41, part 0xd0c");
  EXPECT_EQ(name_of("processor\t: 0\n"), "unknown processor");
}

TEST(Prepare, MachineIsDescribed) {
  EXPECT_THAT(machine_description(), HasSubstr("usable"));
  EXPECT_GT(available_memory(), 0U);
  EXPECT_FALSE(usable_cores().empty());
}

} // namespace
} // namespace tributary::pktgen::run
