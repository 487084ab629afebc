// Two programs with a messenger each on a network in virtual time.
#pragma once

#include "endpoint/messages/messenger.hpp"
#include "tests/rdma/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tributary::messages::test {

using Bytes = std::vector<std::byte>;

inline constexpr Vni job{0x0400};
inline constexpr EndPoint left_address{Nid{0x12345}, 256};
inline constexpr EndPoint right_address{Nid{0x00101}, 257};

inline rdma_policy::Policy test_policy() {
  rdma_policy::Policy p;
  p.initial_timeout_ns = 20'000;
  p.least_timeout_ns = 6'000;
  p.most_timeout_ns = 1'000'000;
  p.initial_reordering_ns = 1'000;
  p.most_reordering_ns = 100'000;
  p.busy_unit_ns = 1'000;
  p.finished_ns = 10'000'000;
  return p;
}

inline Options options_of(EndPoint address) {
  Options o;
  o.rdma.address = o.streams.address = address;
  o.rdma.seed = o.streams.seed = address.key() + 1;
  o.rdma.longest_frame = o.streams.longest_frame = 1070;
  o.rdma.sinks = o.rdma.sources = o.rdma.works = 64;
  o.rdma.records = 256;
  o.rdma.peers = 16;
  o.rdma.regions = 32;
  o.rdma.completions = 64;
  o.streams.sessions = 8;
  o.streams.window = 64;
  o.streams.send_frames = o.streams.hold_frames = 256;
  o.streams.receive_room = 256;
  o.streams.ack_delay_ns = 5'000;
  o.streams.keepalive_ns = 10'000'000;
  o.streams.policy = test_policy();
  o.operations = 256;
  o.completions = 512;
  o.unexpected_messages = 256;
  o.unexpected_bytes = 256 * 1024;
  o.eager_bytes = 4'096;
  return o;
}

inline Bytes pattern(std::size_t count, unsigned seed = 1) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(i * 31 + i / 256 + seed);
  }
  return bytes;
}

class TwoPrograms : public testing::Test {
protected:
  TwoPrograms() { make(options_of(left_address), options_of(right_address)); }
  void make(const Options& a, const Options& b) {
    network_ =
        std::make_unique<rdma::test::Network>(rdma::test::NetworkSettings{.delay_ns = 1000}, 1);
    left = std::make_unique<Messenger>(a);
    right = std::make_unique<Messenger>(b);
    for (Messenger* const each : {left.get(), right.get()}) {
      each->node().set_policy(test_policy());
      network().add(*each, each->options().rdma.address, each->options().rdma.longest_frame);
    }
  }
  [[nodiscard]] rdma::test::Network& network() { return *network_; }
  /// From left to right. The memory is kept.
  BeginError send(std::span<const std::byte> memory, std::uint64_t tag, std::uint64_t user = 1,
                  bool wants_done = false) {
    kept_.emplace_back(memory.begin(), memory.end());
    const BeginError error = left->send({.peer = right_address,
                                         .vni = job,
                                         .memory = kept_.back(),
                                         .tag = tag,
                                         .tagged = true,
                                         .wants_done = wants_done,
                                         .user = user});
    network().pump();
    return error;
  }
  BeginError receive(std::span<std::byte> memory, const Pattern& of, std::uint64_t user = 1) {
    const BeginError error = right->receive({.pattern = of, .memory = memory, .user = user});
    network().pump();
    return error;
  }
  static Pattern tag(std::uint64_t t) { return {.tag = t, .tagged = true}; }
  /// The next completion; fails if there is none within a virtual second.
  Completion completion(Messenger& of) {
    std::optional<Completion> got;
    EXPECT_TRUE(network().run_until(network().now() + ns_per_second, [&] {
      got = of.take_completion();
      return got.has_value();
    })) << "nothing completes";
    return got.value_or(Completion{.failure = Failure::cancelled});
  }
  void run_for_a_while() { network().run_for(10'000'000); }
  void expect_all_free() {
    run_for_a_while();
    for (const Messenger* const each : {left.get(), right.get()}) {
      EXPECT_EQ(each->operations_in_use(), 0U);
      EXPECT_EQ(each->unexpected(), 0U);
      EXPECT_EQ(each->streams().frames_in_use(), 0U);
    }
    EXPECT_EQ(left->node().regions_in_use() + right->node().regions_in_use(), 0U);
  }

  std::unique_ptr<Messenger> left;
  std::unique_ptr<Messenger> right;

private:
  std::unique_ptr<rdma::test::Network> network_;
  std::deque<Bytes> kept_;
};

} // namespace tributary::messages::test
