// The impairments of a port: the stage that holds real frames. What it decides is tested in
// tests/unit/dataplane/impairment.
#include "dataplane/port/impairment_stage.hpp"
#include "dataplane/port/mbuf_ownership.hpp"
#include "tests/unit/dataplane/port/shared_eal.hpp"

#include <gtest/gtest.h>
#include <rte_mbuf.h>

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
  std::vector<std::uint8_t> take(ImpairmentStage& stage, TimeNs now) {
    std::vector<std::uint8_t> tags;
    rte_mbuf* buffer = nullptr;
    while (stage.take_due(now, &buffer, 1) == 1) {
      tags.push_back(tag_of(buffer));
      rte_pktmbuf_free(buffer);
    }
    return tags;
  }
};

TEST_F(ImpairmentStageTest, gives_frames_back_in_order_when_they_are_due) {
  ImpairmentStage stage({.delay = std::chrono::microseconds(1)}, seed(), shared_eal().pool());
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
  ImpairmentStage stage({.duplicate = 1}, seed(), shared_eal().pool());
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
    ImpairmentStage lossy({.loss = 1}, seed(), shared_eal().pool());
    rte_mbuf* f = frame(0);
    EXPECT_EQ(lossy.admit(&f, 1, TimeNs{0}), 1U);
    EXPECT_EQ(shared_eal().free_buffers(), before);
    ImpairmentStage slow({.delay = std::chrono::seconds(9)}, seed(), shared_eal().pool());
    std::uint32_t lost = 0;
    for (std::size_t i = 0; i < ImpairmentStage::capacity + 10; ++i) {
      rte_mbuf* one = frame(0);
      lost += slow.admit(&one, 1, TimeNs{0});
    }
    EXPECT_EQ(lost, 10U);
    EXPECT_EQ(shared_eal().free_buffers(), before - ImpairmentStage::capacity);
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

} // namespace
} // namespace tributary::port::test
