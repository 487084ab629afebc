// The impairments of a port: the stage that holds real frames. What it decides is tested in
// tests/unit/dataplane/impairment.
#include "dataplane/port/impairment_stage.hpp"
#include "dataplane/port/mbuf_ownership.hpp"
#include "tests/unit/dataplane/port/shared_eal.hpp"

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <bit>
#include <cstdlib>
#include <vector>

namespace tributary::port::test {
namespace {

std::uint64_t seed() {
  const char* given = std::getenv("TRIBUTARY_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : 20'260'101;
}

class ImpairmentStageTest : public ::testing::Test {
protected:
  rte_mbuf* frame(std::uint8_t tag) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(shared_eal().pool());
    *reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(buffer, 64)) = tag;
    return buffer;
  }
  static std::uint8_t tag_of(const rte_mbuf* buffer) {
    return *rte_pktmbuf_mtod(buffer, const std::uint8_t*);
  }
  ImpairmentStage stage_of(const impairment::Settings& settings) {
    return ImpairmentStage(settings, seed(), wire::default_ethertype, counters,
                           ImpairedMbufs(shared_eal().pool()));
  }
  std::vector<std::uint8_t> take(ImpairmentStage& stage, TimeNs now) {
    std::vector<std::uint8_t> tags;
    rte_mbuf* buffer = nullptr;
    while (stage.take_due(now, &buffer, 1) == 1) {
      tags.push_back(tag_of(buffer));
      rte_pktmbuf_free(buffer);
    }
    return tags;
  }
  impairment::Counters counters;
};

TEST_F(ImpairmentStageTest, gives_frames_back_in_order_when_they_are_due) {
  ImpairmentStage stage = stage_of({.delay_ns = 1'000});
  for (std::uint8_t i = 0; i < 5; ++i) {
    rte_mbuf* f = frame(i);
    EXPECT_EQ(stage.admit(&f, 1, TimeNs{i < 3 ? 0U : 500U}), 0U);
  }
  EXPECT_EQ(stage.next_due(), TimeNs{1000});
  EXPECT_TRUE(take(stage, TimeNs{999}).empty());
  EXPECT_EQ(take(stage, TimeNs{1000}), (std::vector<std::uint8_t>{0, 1, 2}));
  EXPECT_EQ(take(stage, TimeNs{1500}), (std::vector<std::uint8_t>{3, 4}));
  EXPECT_EQ(stage.next_due(), never);
}

TEST_F(ImpairmentStageTest, a_duplicate_is_a_buffer_of_its_own) {
  ImpairmentStage stage = stage_of({.duplicate = 1});
  rte_mbuf* original = frame(7);
  stage.admit(&original, 1, TimeNs{0});
  rte_mbuf* two[2] = {};
  ASSERT_EQ(stage.take_due(TimeNs{0}, two, 2), 2);
  EXPECT_NE(rte_pktmbuf_mtod(two[0], void*), rte_pktmbuf_mtod(two[1], void*));
  EXPECT_EQ(tag_of(two[0]), 7);
  EXPECT_EQ(tag_of(two[1]), 7);
  rte_pktmbuf_free_bulk(two, 2);
}

TEST_F(ImpairmentStageTest, lost_and_held_frames_return_to_the_pool_and_capacity_is_bounded) {
  const std::uint32_t before = shared_eal().free_buffers();
  {
    ImpairmentStage lossy = stage_of({.loss = 1});
    rte_mbuf* f = frame(0);
    EXPECT_EQ(lossy.admit(&f, 1, TimeNs{0}), 1U);
    EXPECT_EQ(shared_eal().free_buffers(), before);
    constexpr std::uint32_t capacity = 100;
    ImpairmentStage slow = stage_of({.delay_ns = 9 * ns_per_second, .held_frames = capacity});
    std::uint32_t lost = 0;
    for (std::size_t i = 0; i < capacity + 10; ++i) {
      rte_mbuf* one = frame(0);
      lost += slow.admit(&one, 1, TimeNs{0});
    }
    EXPECT_EQ(lost, 10U);
    EXPECT_EQ(counters.did_not_fit.read(), 10U);
    EXPECT_EQ(shared_eal().free_buffers(), before - capacity);
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

TEST_F(ImpairmentStageTest, bits_of_a_shared_buffer_are_changed_in_a_copy) {
  ImpairmentStage stage = stage_of({.corrupt = 1, .corrupt_bits = 3});
  rte_mbuf* original = frame(7);
  const std::vector<std::uint8_t> untouched(rte_pktmbuf_mtod(original, const std::uint8_t*),
                                            rte_pktmbuf_mtod(original, const std::uint8_t*) + 64);
  rte_mbuf_refcnt_update(original, 1);
  stage.admit(&original, 1, TimeNs{0});
  rte_mbuf* changed = nullptr;
  ASSERT_EQ(stage.take_due(TimeNs{0}, &changed, 1), 1);
  ASSERT_NE(changed, original);
  EXPECT_EQ(counters.corrupted.read(), 1U);
  int bits = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(rte_pktmbuf_mtod(original, const std::uint8_t*)[i], untouched[i]);
    bits += std::popcount(
        static_cast<unsigned>(untouched[i] ^ rte_pktmbuf_mtod(changed, const std::uint8_t*)[i]));
  }
  EXPECT_EQ(bits, 3);
  rte_pktmbuf_free(original);
  rte_pktmbuf_free(changed);
}

} // namespace
} // namespace tributary::port::test
