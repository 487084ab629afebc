// The cost of losses and disorder: 256 KB at 100 Gb/s and 1 us one way, against the goals of the
// protocol's page.
#include "tests/rdma/network.hpp"
#include "tests/unit/endpoint/rdma/pair.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace tributary::rdma::test {
namespace {

struct Cost {
  double mean_us = 0;
  double sent_for_each = 0;      ///< data frames sent for each that was needed
  double control_for_each = 0;   ///< frames without data, of both ends, for each data frame
  double sent_for_each_lost = 0; ///< data frames that were not needed
  std::uint64_t above = 0;
};

Cost cost_of(std::uint32_t window, double loss, std::uint64_t jitter_ns,
             bool jitter_of_data_alone = false) {
  constexpr int transfers = 40;
  constexpr std::size_t bytes = 256 * 1024;
  Network network({.delay_ns = 1000,
                   .jitter_ns = jitter_ns,
                   .jitter_of_data_alone = jitter_of_data_alone,
                   .faults = {.loss = loss},
                   .bits_per_second = 100'000'000'000},
                  17);
  rdma_policy::Policy policy;
  policy.window = window;
  policy.initial_timeout_ns = 50'000;
  policy.least_timeout_ns = 8'000;
  policy.most_timeout_ns = 1'000'000;
  policy.initial_reordering_ns = 1'000;
  policy.sink_credit = 0;
  const auto make = [&](Nid nid) {
    Options o;
    o.address = nid;
    o.longest_frame = 1024 + wire::rdma_overhead_bytes;
    o.sinks = o.sources = o.works = o.peers = o.regions = o.records = o.completions = 16;
    auto node = std::make_unique<Node>(o);
    node->set_policy(policy);
    network.add(*node);
    return node;
  };
  const auto source = make(source_nid);
  const auto sink = make(sink_nid);
  std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  const RegionKey key = *sink->register_region(to, {.peers_write = true}, vni);
  Cost cost;
  for (int i = 0; i < transfers; ++i) {
    source->poll(network.now());
    const TimeNs begun = network.now();
    EXPECT_EQ(source->write({.peer = sink_nid, .vni = vni, .memory = from, .key = key}).error,
              BeginError::none);
    EXPECT_TRUE(network.run_until(begun + ns_per_second, [&] {
      const auto completion = source->take_completion();
      return completion && completion->done();
    }));
    cost.mean_us += static_cast<double>(elapsed_ns(network.now(), begun)) / 1000 / transfers;
    network.run_for(50'000); // no frame of this transfer meets the next one
  }
  const double needed = transfers * bytes / 1024.0;
  const Counters& a = source->counters();
  const Counters& b = sink->counters();
  cost.sent_for_each = static_cast<double>(a.data_sent) / needed;
  cost.control_for_each = static_cast<double>(a.control_sent + b.control_sent) / needed;
  cost.above = b.above_window;
  const auto& wr = network.counts()[static_cast<std::size_t>(wire::RdmaKind::wr)];
  if (const std::uint64_t lost = wr[static_cast<std::size_t>(Fault::lost)]; lost > 0) {
    cost.sent_for_each_lost =
        (static_cast<double>(a.data_sent) - needed) / static_cast<double>(lost);
  }
  testing::Test::RecordProperty("mean_us", std::to_string(cost.mean_us));
  std::cout << "W " << window << ", loss " << loss << ", spread " << jitter_ns
            << " ns: " << cost.mean_us << " us, sent " << cost.sent_for_each << ", control "
            << cost.control_for_each << "\n";
  return cost;
}

TEST(RdmaLoss, OfFivePerMilleCostsAFewPercentOfTheTime) {
  const Cost without = cost_of(512, 0, 0);
  const Cost with = cost_of(512, 0.005, 0);
  EXPECT_EQ(without.sent_for_each, 1.0);
  EXPECT_LT(with.mean_us, 1.05 * without.mean_us);
  EXPECT_LE(with.sent_for_each_lost, 2.5);
}

TEST(RdmaLoss, OfTwoPercentSendsLittleMoreThanWasLost) {
  const Cost cost = cost_of(512, 0.02, 0);
  EXPECT_LE(cost.sent_for_each_lost, 2.5);
  EXPECT_EQ(cost.above, 0U);
}

TEST(RdmaLoss, ControlFramesAreFew) {
  EXPECT_LE(cost_of(128, 0, 0).control_for_each, 0.04);
  EXPECT_LE(cost_of(512, 0, 0).control_for_each, 0.015);
}

constexpr std::uint64_t places_64 = 64ULL * 88; // ns
constexpr double spread_us = 64 * 0.088;        // the last frame's part of it

TEST(RdmaDisorder, OfHalfAWindowCostsNoRate) {
  const Cost in_order = cost_of(128, 0, 0);
  const Cost spread = cost_of(128, 0, places_64, true);
  EXPECT_LT(spread.sent_for_each, 1.01) << "late frames are waited for, not asked for";
  EXPECT_LT(spread.mean_us - spread_us, in_order.mean_us / 0.95);
}

TEST(RdmaDisorder, OfAnswersToTakesNoMoreThanAWiderWindowWould) {
  const Cost wide = cost_of(512, 0, places_64);
  const Cost narrow = cost_of(128, 0, places_64);
  EXPECT_LT(narrow.sent_for_each, 1.01);
  EXPECT_LT(narrow.mean_us, wide.mean_us * 1.04);
}

} // namespace
} // namespace tributary::rdma::test
