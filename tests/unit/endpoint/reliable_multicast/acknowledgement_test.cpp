// Bitmaps, what acknowledgements and roll calls carry, and what the root tells of them.
#include "endpoint/reliable_multicast/acknowledgement.hpp"
#include "endpoint/reliable_multicast/verdict.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::reliable_multicast::test {
namespace {

TEST(chunk_set, holds_what_was_inserted_in_all_of_its_words) {
  ChunkSet set;
  for (const std::uint32_t chunk : {0U, 63U, 64U, 130U, 191U}) {
    EXPECT_FALSE(set.contains(chunk));
    set.insert(chunk);
    EXPECT_TRUE(set.contains(chunk));
  }
  EXPECT_EQ(set.size(), 5U);
  EXPECT_EQ(set.lowest(), 0U);
  std::vector<std::uint32_t> seen;
  set.for_each([&](std::uint32_t chunk) { seen.push_back(chunk); });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 63, 64, 130, 191}));
  EXPECT_EQ((set & ChunkSet::first(65)).size(), 3U);
  EXPECT_EQ((set - ChunkSet::first(65)).lowest(), 130U);
  set.erase(130);
  EXPECT_FALSE(set.contains(130));
}

TEST(chunk_set, of_the_first_chunks_has_as_many) {
  for (std::uint32_t count = 0; count <= most_window_chunks; ++count) {
    const ChunkSet set = ChunkSet::first(count);
    ASSERT_EQ(set.size(), count);
    ASSERT_EQ(count > 0 && set.contains(count - 1), count > 0);
    ASSERT_FALSE(count < most_window_chunks && set.contains(count));
  }
}

wire::Payload both(const wire::Payload& a, const wire::Payload& b) {
  return {a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3]};
}

TEST(acknowledgement, of_several_members_is_what_all_have) {
  ChunkSet one;
  one.insert(3);
  ChunkSet other;
  other.insert(100);
  const wire::Payload all = both(acknowledgement(7, one), acknowledgement(7, other));
  EXPECT_EQ(window_in(all), 7U);
  EXPECT_EQ(holes_in(all, 192), one | other);
  EXPECT_EQ(holes_in(all, 50), one); // beyond the window nothing is lacked
  EXPECT_TRUE(holes_in(both(acknowledgement(7, {}), acknowledgement(7, {})), 192).empty());
}

TEST(acknowledgement, of_two_windows_passes_for_neither) {
  for (const std::uint64_t window :
       {0ULL, 1ULL, 0x7FFFFFFFULL, 0xFFFFFFFFULL, 0x123456789ABCDULL}) {
    for (const std::uint64_t ahead : {4ULL, 8ULL, 128ULL, 0x80000000ULL}) {
      EXPECT_EQ(window_in(acknowledgement(window, {})), static_cast<std::uint32_t>(window));
      EXPECT_EQ(window_in(both(acknowledgement(window, {}), acknowledgement(window + ahead, {}))),
                std::nullopt);
    }
  }
}

TEST(roll_answer, is_read_as_it_was_written) {
  const RollAnswer lacking{
      .missing = 192,
      .first_missing = 191,
      .call = CallShape{.kind = Kind::allgather, .root = 0xFFFFF, .bytes = std::uint64_t{3} << 30}};
  const RollAnswer back = roll_answer_in(payload_of(lacking, 5));
  EXPECT_EQ(back.missing, 192U);
  EXPECT_EQ(back.first_missing, 191U);
  EXPECT_EQ(back.call, lacking.call);
  EXPECT_EQ(window_in(payload_of(lacking, 5)), 5U);
  RollAnswer reducing = lacking;
  reducing.call = {.kind = Kind::reduce_scatter, .root = 0, .bytes = 12, .op = 0x2F, .type = 14};
  EXPECT_EQ(roll_answer_in(payload_of(reducing, 5)).call, reducing.call);
  EXPECT_EQ(roll_answer_in(payload_of(RollAnswer{}, 5)).call, std::nullopt);
}

TEST(verdict, is_read_as_it_was_written) {
  Verdict missing{.what = Verdict::What::not_acknowledging};
  for (std::uint32_t rank = 0; rank < 11; ++rank) {
    missing.missing.add(rank * 95'000);
  }
  Verdict ended = missing;
  ended.group_ended = true;
  const Verdict lacks{
      .what = Verdict::What::lacks_chunks, .rank = 0xFFFFF, .owner = 0x12345, .chunks = 192};
  const Verdict differ{
      .what = Verdict::What::calls_differ,
      .group_ended = true,
      .rank = 77,
      .root_call = {.kind = Kind::broadcast, .root = 3, .bytes = most_call_bytes - 1},
      .other_call = {.kind = Kind::reduce, .root = 0xFFFFF, .bytes = 8, .op = 0x2F, .type = 14}};
  const Verdict outside{.what = Verdict::What::ended, .group_ended = true};
  for (const Verdict& verdict : {missing, ended, lacks, differ, outside}) {
    EXPECT_EQ(verdict_in(payload_of(verdict)), verdict);
  }
  EXPECT_EQ(verdict_in({}), std::nullopt);
  EXPECT_EQ(verdict_in({5}), std::nullopt); // of a reduction
}

} // namespace
} // namespace tributary::reliable_multicast::test
