// Two nodes on a network in virtual time, and memory with canaries around it.
#pragma once

#include "endpoint/rdma/node.hpp"
#include "tests/rdma/network.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tributary::rdma::test {

inline constexpr std::size_t memory_bytes = std::size_t{1} << 18;
inline constexpr Vni vni{0x0400};
inline constexpr Nid source_nid{0x12345};
inline constexpr Nid sink_nid{0x00101};

/// Memory of a host with 64 bytes on both sides that must not be written.
class Memory {
public:
  static constexpr std::size_t canary_bytes = 64;
  static constexpr std::byte canary{0xC5};

  explicit Memory(std::size_t size) : bytes_(size + 2 * canary_bytes, canary) {
    std::fill(region().begin(), region().end(), std::byte{0});
  }
  [[nodiscard]] std::span<std::byte> region() {
    return std::span(bytes_).subspan(canary_bytes, bytes_.size() - 2 * canary_bytes);
  }
  void fill(std::uint64_t seed) {
    Random random(seed);
    const auto bytes = region();
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      const std::uint64_t word = random.next();
      std::memcpy(&bytes[at], &word, sizeof word);
    }
  }
  [[nodiscard]] bool canaries_live() const {
    const auto live = [](std::byte b) { return b == canary; };
    return std::all_of(bytes_.begin(), bytes_.begin() + canary_bytes, live) &&
           std::all_of(bytes_.end() - canary_bytes, bytes_.end(), live);
  }

private:
  std::vector<std::byte> bytes_;
};

inline rdma_policy::Policy quick_policy() {
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

class PairTest : public testing::Test {
protected:
  PairTest() {
    from.fill(1);
    make(small(source_nid), small(sink_nid));
  }
  static Options small(Nid nid) {
    Options o;
    o.address = nid;
    o.seed = nid.value;
    o.longest_frame = 1070; // 1,000 bytes of payload
    o.sinks = o.sources = o.works = 64;
    o.records = 256;
    o.peers = o.regions = 16;
    o.completions = 64;
    return o;
  }
  void make(const Options& a, const Options& b) {
    network_ = std::make_unique<Network>(NetworkSettings{.bits_per_second = 100'000'000'000}, 1);
    source = std::make_unique<Node>(a);
    sink = std::make_unique<Node>(b);
    network().add(*source);
    network().add(*sink);
    set_policy(quick_policy());
    key = *sink->register_region(to.region(), {.peers_write = true, .peers_read = true}, vni);
  }
  [[nodiscard]] Network& network() { return *network_; }
  void set_policy(const rdma_policy::Policy& policy) {
    source->set_policy(policy);
    sink->set_policy(policy);
  }
  /// Begins a write of the first bytes of `from`.
  Begun write(std::size_t length, std::uint64_t offset = 0,
              std::optional<std::uint64_t> immediate = {}) {
    const Begun begun = source->write({.peer = sink_nid,
                                       .vni = vni,
                                       .memory = from.region().first(length),
                                       .key = key,
                                       .offset = offset,
                                       .user = ++user,
                                       .immediate = immediate});
    network().pump();
    return begun;
  }
  Begun read(std::size_t length, std::uint64_t offset = 0) {
    const Begun begun = source->read({.peer = sink_nid,
                                      .vni = vni,
                                      .memory = from.region().first(length),
                                      .key = key,
                                      .offset = offset,
                                      .user = ++user});
    network().pump();
    return begun;
  }
  /// The source's next completion; fails if none arrives within a virtual second.
  Completion completion() {
    std::optional<Completion> got;
    EXPECT_TRUE(network().run_until(network().now() + ns_per_second, [&] {
      got = source->take_completion();
      return got.has_value();
    })) << "nothing completes";
    return got.value_or(Completion{.cause = Cause::cancelled});
  }
  bool arrived(std::size_t length, std::uint64_t offset = 0) {
    const auto expected = from.region().first(length);
    const auto got = to.region().subspan(offset, length);
    return std::equal(expected.begin(), expected.end(), got.begin()) && to.canaries_live();
  }
  void expect_all_free() {
    network().run_for(100'000'000);
    EXPECT_EQ(source->sinks_in_use() + source->sources_in_use(), 0U);
    EXPECT_EQ(sink->sinks_in_use() + sink->sources_in_use(), 0U);
  }

  Memory from{memory_bytes};
  Memory to{memory_bytes};
  std::unique_ptr<Node> source;
  std::unique_ptr<Node> sink;
  RegionKey key;
  std::uint64_t user = 0;

private:
  std::unique_ptr<Network> network_;
};

} // namespace tributary::rdma::test
