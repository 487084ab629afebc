// The fabric manager's RDMA instructions, carried out by a host on a veth pair: policies,
// quarantined peers, and probes that a peer answers or does not.
#include "endpoint/library/host.hpp"
#include "endpoint/library/retransmit_exchange.hpp"
#include "tests/unit/endpoint/library/host_pair_test.hpp"
#include "tributary/rdma.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace tributary::library::test {
namespace {

using manager_client::RdmaPeer;
using manager_client::RetransmitNews;

constexpr Vni used{0x0400};

class RetransmitExchangeTest : public HostPairTest {
protected:
  void SetUp() override {
    HostPairTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(tributary_rdma_register(host[i], memory[i].data(), memory[i].size(),
                                        TRIBUTARY_RDMA_PEERS_WRITE, used.value, &region[i]),
                TRIBUTARY_OK)
          << tributary_last_error(host[i]);
    }
    peer = {host[1]->nid(), used};
  }
  template <typename F> void with_rdma(F&& f) {
    const auto lock = host[0]->loop().lock();
    f(*host[0]->rdma());
  }
  int begin_write() {
    const tributary_rdma_work work{.region = &region[1],
                                   .offset = 0,
                                   .memory = memory[0].data(),
                                   .length = 64,
                                   .user = 0,
                                   .immediate = 0,
                                   .flags = 0};
    std::uint64_t transfer = 0;
    return tributary_rdma_write_start(host[0], &work, &transfer);
  }
  RetransmitNews quarantined(std::set<Nid> nids) {
    RetransmitNews news;
    news.policy_version = 3;
    news.quarantined_version = 9;
    news.quarantined = {{used, std::move(nids)}};
    return news;
  }
  /// The outcome of the probe, within some seconds.
  std::optional<bool> outcome(const RdmaPeer& of) {
    for (int i = 0; i < 500; ++i) {
      tributary_progress(host[0]);
      with_rdma([&](Rdma& rdma) { exchange.gather(rdma); });
      if (const auto found = exchange.report().probes.find(of);
          found != exchange.report().probes.end()) {
        return found->second;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::nullopt;
  }

  std::array<std::byte, 256> memory[2]{};
  tributary_rdma_region region[2]{};
  RdmaPeer peer{};
  RetransmitExchange exchange{Nid{1}};
};

TEST_F(RetransmitExchangeTest,
       a_quarantined_peer_is_not_written_to_answers_a_probe_and_is_released) {
  with_rdma([&](Rdma& rdma) {
    exchange.gather(rdma);
    exchange.take(quarantined({peer.nid}), rdma);
  });
  EXPECT_TRUE(exchange.report().vnis.contains(used));
  EXPECT_EQ(exchange.report().quarantined_version, 9U);
  EXPECT_EQ(begin_write(), TRIBUTARY_ERR_PEER_QUARANTINED);
  RetransmitNews news;
  news.quarantined_version = 9;
  news.probe = {peer};
  with_rdma([&](Rdma& rdma) { exchange.take(news, rdma); });
  EXPECT_EQ(begin_write(), TRIBUTARY_ERR_PEER_QUARANTINED) << "only the probe is let through";
  EXPECT_EQ(outcome(peer), true);
  exchange.clear_reported(manager_client::RetransmitReport(exchange.report()));
  EXPECT_TRUE(exchange.report().probes.empty());
  with_rdma([&](Rdma& rdma) { exchange.take(quarantined({}), rdma); });
  EXPECT_EQ(begin_write(), TRIBUTARY_OK) << tributary_last_error(host[0]);
}

TEST_F(RetransmitExchangeTest, a_probe_of_a_host_that_is_not_there_fails_and_is_an_exception) {
  rdma_policy::Policy quick;
  quick.initial_timeout_ns = quick.least_timeout_ns = 200'000;
  quick.request_retries = 3;
  RetransmitNews news = quarantined({});
  news.policies = {{used, quick}};
  const RdmaPeer nobody{Nid{0x777}, used};
  news.probe = {nobody};
  with_rdma([&](Rdma& rdma) {
    exchange.gather(rdma);
    exchange.take(news, rdma);
    EXPECT_EQ(rdma.node().policy_of(used).request_retries, 3U);
  });
  EXPECT_EQ(outcome(nobody), false);
  EXPECT_EQ(
      exchange.report().exceptions.count({nobody, rdma_policy::Exception::Kind::unreachable_peer}),
      1U);
}

class SmallPeerTableTest : public RetransmitExchangeTest {
protected:
  void SetUp() override {
    setenv("TRIBUTARY_RDMA_PEERS", "1", 1);
    RetransmitExchangeTest::SetUp();
  }
  void TearDown() override {
    RetransmitExchangeTest::TearDown();
    unsetenv("TRIBUTARY_RDMA_PEERS");
  }
};

TEST_F(SmallPeerTableTest,
       quarantined_peers_without_room_are_counted_and_their_list_is_requested_again) {
  with_rdma([&](Rdma& rdma) {
    exchange.gather(rdma);
    exchange.take(quarantined({peer.nid, Nid{0x777}}), rdma);
    EXPECT_EQ(exchange.refused(), 1U);
    EXPECT_EQ(exchange.report().quarantined_version, 0U) << "as if all peers were quarantined";
    exchange.take(quarantined({peer.nid}), rdma);
    EXPECT_EQ(exchange.refused(), 0U);
    EXPECT_EQ(exchange.report().quarantined_version, 9U);
  });
}

} // namespace
} // namespace tributary::library::test
