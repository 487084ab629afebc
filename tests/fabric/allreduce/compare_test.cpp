// The simulator's allreduces hold on the virtual fabric: its time is a function of the seed, so the
// bounds are on models, not on this machine.
#include "tests/fabric/allreduce/compare.hpp"

#include <gtest/gtest.h>

namespace tributary::fabric {
namespace {

using simulator::allreduce::Algorithm;

struct Point {
  const char* topology;
  std::uint32_t hosts;
  std::uint64_t bytes;
};

class Allreduce : public testing::TestWithParam<Algorithm> {};

TEST_P(Allreduce, takes_as_long_on_the_virtual_fabric_as_the_model_says) {
  for (const Point& point : {Point{"ft3:4", 16, 8}, Point{"ft3:4", 16, 65'536},
                             Point{"ft3:4", 13, 20'000}, Point{"dragonfly:4,2,2", 24, 65'536}}) {
    const ComparedAllreduce compared = compare_allreduce(point.topology, point.hosts, point.bytes,
                                                         GetParam(), costs_of_virtual_fabric());
    const std::string where = std::string(point.topology) + ", " + std::to_string(point.hosts) +
                              " hosts, " + std::to_string(point.bytes) + " bytes";
    EXPECT_TRUE(compared.violations.empty())
        << where << ": " << (compared.violations.empty() ? "" : compared.violations.front());
    EXPECT_GT(compared.ratio(), 0.85) << where;
    EXPECT_LT(compared.ratio(), 1.15) << where;
  }
}

INSTANTIATE_TEST_SUITE_P(all, Allreduce,
                         testing::Values(Algorithm::in_network, Algorithm::ring,
                                         Algorithm::recursive_doubling, Algorithm::rabenseifner),
                         [](const auto& algorithm) { return std::string(name(algorithm.param)); });

TEST(allreduce_among_hosts, sends_as_many_frames_as_the_schedule_has) {
  // One switch with four hosts: each message crosses two links.
  const ComparedAllreduce compared =
      compare_allreduce("dragonfly:2,4,1", 4, 8 * 4, Algorithm::ring, costs_of_virtual_fabric());
  EXPECT_TRUE(compared.violations.empty());
  EXPECT_EQ(compared.frames, 2U * 4 * 2 * 3);
}

} // namespace
} // namespace tributary::fabric
