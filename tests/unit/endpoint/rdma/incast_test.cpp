// Many sources, one sink, one queue: grants keep the data in flight below the queue's limit, so
// that many-to-one does not collapse.
#include "endpoint/rdma/node.hpp"
#include "tests/rdma/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace tributary::rdma::test {
namespace {

constexpr Vni incast_vni{1};
constexpr std::size_t hosts = 64;
constexpr std::size_t bytes_of_each = 128'000; // 128 frames of 1,000

struct Incast {
  bool intact = true;
  std::size_t done = 0;
  std::uint64_t took_ns = 0;
  std::uint64_t dropped = 0; ///< data frames that found the queue full
  std::uint64_t trimmed = 0;
  double sent_for_each = 0; ///< data frames sent for each that was needed
  bool all_free = true;
};

Incast run(std::uint32_t sink_credit, bool trims) {
  Network network(
      {.delay_ns = 1000, .bits_per_second = 100'000'000'000, .queue_frames = 128, .trims = trims},
      7);
  rdma_policy::Policy policy;
  policy.initial_timeout_ns = 50'000;
  policy.least_timeout_ns = 20'000;
  policy.most_timeout_ns = 10'000'000;
  policy.initial_reordering_ns = 2'000;
  policy.sink_credit = sink_credit;
  const auto make = [&](std::uint32_t nid) {
    Options o;
    o.address = Nid{nid};
    o.seed = nid;
    o.longest_frame = 1070;
    o.sinks = o.sources = o.records = o.peers = 128;
    o.works = o.completions = o.regions = 8;
    auto node = std::make_unique<Node>(o);
    node->set_policy(policy);
    network.add(*node);
    return node;
  };
  std::vector<std::byte> from(bytes_of_each);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<std::byte>(i * 7 + i / 256);
  }
  std::vector<std::byte> to(hosts * bytes_of_each);
  const auto sink = make(1);
  const RegionKey key = *sink->register_region(to, {.peers_write = true}, incast_vni);
  std::vector<std::unique_ptr<Node>> sources;
  for (std::uint32_t i = 0; i < hosts; ++i) {
    sources.push_back(make(100 + i));
    EXPECT_EQ(sources.back()
                  ->write({.peer = Nid{1},
                           .vni = incast_vni,
                           .memory = from,
                           .key = key,
                           .offset = i * bytes_of_each})
                  .error,
              BeginError::none);
  }
  Incast result;
  network.run_until(TimeNs{ns_per_second}, [&] {
    for (const auto& source : sources) {
      while (const auto completion = source->take_completion()) {
        result.done += completion->done() ? 1 : 0;
      }
    }
    return result.done == hosts;
  });
  result.took_ns = network.now().value;
  std::uint64_t sent = 0;
  for (std::size_t i = 0; i < hosts; ++i) {
    sent += sources[i]->counters().data_sent;
    result.intact =
        result.intact && std::memcmp(&to[i * bytes_of_each], from.data(), bytes_of_each) == 0;
    result.all_free = result.all_free && sources[i]->sources_in_use() == 0;
  }
  result.all_free = result.all_free && sink->sinks_in_use() == 0;
  const auto& wr = network.counts()[static_cast<std::size_t>(wire::RdmaKind::wr)];
  result.dropped = wr[static_cast<std::size_t>(Fault::queue_full)];
  result.trimmed = wr[static_cast<std::size_t>(Fault::trimmed)];
  result.sent_for_each = static_cast<double>(sent) / (hosts * bytes_of_each / 1000);
  return result;
}

/// All frames one after the other on the sink's link, and a round trip for the request.
constexpr double ideal_ns = hosts * 128 * (1070 + 24) * 8 / 100.0 + 4000;

TEST(Incast, OfSixtyFourSourcesThroughALimitedQueueLosesNothingAndFillsTheLink) {
  const Incast incast = run(96, false);
  EXPECT_EQ(incast.done, hosts);
  EXPECT_TRUE(incast.intact);
  EXPECT_TRUE(incast.all_free);
  EXPECT_EQ(incast.dropped, 0U);
  EXPECT_EQ(incast.sent_for_each, 1.0);
  EXPECT_LT(static_cast<double>(incast.took_ns), 1.25 * ideal_ns);
}

TEST(Incast, WithoutGrantsOverflowsTheQueueAndIsDoneAllTheSame) {
  const Incast incast = run(0, false);
  EXPECT_EQ(incast.done, hosts);
  EXPECT_TRUE(incast.intact);
  EXPECT_TRUE(incast.all_free);
  EXPECT_GT(incast.dropped, hosts * 128U / 4) << "what the grants are for";
}

TEST(Incast, WithTrimmingWhatFindsNoRoomIsAskedForAtOnce) {
  const Incast incast = run(200, true);
  EXPECT_EQ(incast.done, hosts);
  EXPECT_TRUE(incast.intact);
  EXPECT_TRUE(incast.all_free);
  EXPECT_GT(incast.trimmed, 0U);
  EXPECT_EQ(incast.dropped, 0U);
  EXPECT_LT(incast.sent_for_each, 2.5);
  EXPECT_LT(static_cast<double>(incast.took_ns), 1.25 * ideal_ns);
}

} // namespace
} // namespace tributary::rdma::test
