// How calls are cut into chunks and windows: the same at every member.
#include "endpoint/reliable_multicast/operation.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace tributary::reliable_multicast::test {
namespace {

std::vector<Chunk> all_of(ChunkWalk walk) {
  std::vector<Chunk> chunks;
  while (walk.left() > 0) {
    chunks.push_back(walk.next());
  }
  return chunks;
}

TEST(chunk_walk, of_a_broadcast_is_the_root_s_block_in_order) {
  const auto chunks = all_of({{{.rank = 3, .offset = 0, .bytes = 100}}, 40});
  ASSERT_EQ(chunks.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(chunks[i].owner, 3U);
    EXPECT_EQ(chunks[i].offset, i * 40);
    EXPECT_EQ(chunks[i].bytes, i == 2 ? 20U : 40U);
  }
}

TEST(chunk_walk, of_an_allgather_takes_a_chunk_of_each_rank_in_turn) {
  const Task task = allgather(3, nullptr, 80);
  const auto chunks = all_of({task.blocks, 40});
  ASSERT_EQ(chunks.size(), 6U);
  for (std::size_t g = 0; g < 6; ++g) {
    EXPECT_EQ(chunks[g].owner, g % 3);
    EXPECT_EQ(chunks[g].offset, g % 3 * 80 + g / 3 * 40);
  }
}

TEST(chunk_walk, leaves_out_blocks_that_have_ended) {
  const std::vector<Block> blocks{{.rank = 0, .offset = 0, .bytes = 0},
                                  {.rank = 1, .offset = 0, .bytes = 90},
                                  {.rank = 2, .offset = 90, .bytes = 1},
                                  {.rank = 3, .offset = 91, .bytes = 41}};
  const auto chunks = all_of({blocks, 40});
  std::vector<std::uint32_t> owners;
  std::map<std::uint32_t, std::uint64_t> bytes;
  for (const Chunk& chunk : chunks) {
    owners.push_back(chunk.owner);
    bytes[chunk.owner] += chunk.bytes;
  }
  EXPECT_EQ(owners, (std::vector<std::uint32_t>{1, 2, 3, 1, 3, 1}));
  EXPECT_EQ(bytes, (std::map<std::uint32_t, std::uint64_t>{{1, 90}, {2, 1}, {3, 41}}));
}

TEST(chunk_walk, counts_chunks_of_buffers_longer_than_32_bits) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  ChunkWalk walk({{.rank = 0, .offset = 0, .bytes = 3 * gib}}, 1408);
  EXPECT_EQ(walk.left(), (3 * gib + 1407) / 1408);
  EXPECT_EQ(walk.next().offset, 0U);
  EXPECT_EQ(walk.next().offset, 1408U);
}

TEST(operation, has_a_window_though_it_has_no_chunk) {
  EXPECT_EQ(Operation(broadcast(0, nullptr, 0), 40, 8).windows(), 1U);
  EXPECT_EQ(Operation(allgather(5, nullptr, 0), 40, 8).windows(), 1U);
  EXPECT_EQ(Operation(broadcast(0, nullptr, 320), 40, 8).windows(), 1U);
  EXPECT_EQ(Operation(broadcast(0, nullptr, 321), 40, 8).windows(), 2U);
  EXPECT_EQ(Operation(allgather(5, nullptr, 80), 40, 8).windows(), 2U);
}

} // namespace
} // namespace tributary::reliable_multicast::test
