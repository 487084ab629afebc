// The window's ring against a set of numbers, and its edges.
#include "endpoint/rdma/window.hpp"

#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

namespace tributary::rdma {
namespace {

/// Words of a window of `width` frames.
std::vector<std::uint64_t> words_of(std::uint32_t width) {
  return std::vector<std::uint64_t>(width / 64);
}

TEST(Window, moves_by_one_with_every_frame_in_order) {
  auto words = words_of(128);
  Window window(words.data(), 128);
  for (std::uint32_t pidx = 0; pidx < 1000; ++pidx) {
    const Window::Step step = window.take(pidx, pidx);
    ASSERT_EQ(step.arrival, Arrival::advanced);
    ASSERT_EQ(step.advance, 1U);
  }
}

TEST(Window, does_not_move_by_the_rule_as_printed) {
  auto words = words_of(128);
  Window window(words.data(), 128);
  EXPECT_EQ(window.take(0, 0, false).advance, 0U);
}

TEST(Window, moves_by_all_of_its_129_frames_when_the_first_comes_last) {
  for (const std::uint32_t width : {128U, 256U, 512U, 1024U}) {
    for (const std::uint32_t base : {0U, 1U, 63U, 64U, 127U, 1000U, 0xFFFF0000U}) {
      auto words = words_of(width);
      Window window(words.data(), width);
      for (std::uint32_t i = width; i > 0; --i) {
        ASSERT_EQ(window.take(base, base + i).arrival, Arrival::placed) << i;
      }
      const Window::Step step = window.take(base, base);
      EXPECT_EQ(step.arrival, Arrival::advanced);
      EXPECT_EQ(step.advance, width + 1) << width << " from " << base;
      for (const std::uint64_t word : words) {
        EXPECT_EQ(word, 0U) << "what has been passed is free for what comes";
      }
    }
  }
}

TEST(Window, refuses_what_came_before_and_what_is_above) {
  auto words = words_of(128);
  Window window(words.data(), 128);
  EXPECT_EQ(window.take(10, 9).arrival, Arrival::duplicate);
  EXPECT_EQ(window.take(10, 138).arrival, Arrival::placed);
  EXPECT_EQ(window.take(10, 138).arrival, Arrival::duplicate);
  EXPECT_EQ(window.take(10, 139).arrival, Arrival::above);
  EXPECT_EQ(window.take(10, 0xFFFFFFFF).arrival, Arrival::above);
}

TEST(Window, says_what_is_missing_as_a_set_of_numbers_does) {
  Random random(129);
  for (const std::uint32_t width : {128U, 256U, 512U, 1024U}) {
    auto words = words_of(width);
    Window window(words.data(), width);
    std::set<std::uint32_t> came;
    std::uint32_t base = static_cast<std::uint32_t>(random.below(100'000));
    for (int round = 0; round < 300; ++round) {
      const bool low = random.chance(0.2);
      const std::uint32_t pidx =
          base + static_cast<std::uint32_t>(random.below(low ? 3 : width + 4));
      const bool known = came.count(pidx) > 0;
      const Window::Step step = window.take(base, pidx);
      if (pidx > base + width) {
        ASSERT_EQ(step.arrival, Arrival::above);
      } else if (known) {
        ASSERT_EQ(step.arrival, Arrival::duplicate);
      } else {
        came.insert(pidx);
        std::uint32_t expected = 0;
        while (came.count(base + expected) > 0) {
          came.erase(base + expected);
          ++expected;
        }
        ASSERT_EQ(step.advance, expected);
        ASSERT_EQ(step.arrival, expected > 0 ? Arrival::advanced : Arrival::placed);
        base += step.advance;
      }
      const auto to = static_cast<std::uint32_t>(random.below(width + 1));
      const auto from = static_cast<std::uint32_t>(random.below(to + 1));
      std::vector<std::uint64_t> bits(rdma_policy::most_window / 64);
      const std::uint32_t count = window.missing(base, from, to, bits.data());
      std::uint32_t expected = 0;
      for (std::uint32_t i = 0; i < to; ++i) {
        const bool missing = i >= from && came.count(base + i) == 0;
        ASSERT_EQ((bits[i / 64] >> (i % 64) & 1U) != 0, missing) << i << " of " << to;
        ASSERT_EQ(window.has(base, base + i), came.count(base + i) > 0);
        expected += missing ? 1 : 0;
      }
      ASSERT_EQ(count, expected);
    }
  }
}

TEST(Window, has_a_power_of_two_of_frames_from_128_to_1024) {
  EXPECT_TRUE(rdma_policy::is_window(128));
  EXPECT_TRUE(rdma_policy::is_window(1024));
  EXPECT_FALSE(rdma_policy::is_window(64));
  EXPECT_FALSE(rdma_policy::is_window(192));
  EXPECT_FALSE(rdma_policy::is_window(2048));
}

} // namespace
} // namespace tributary::rdma
