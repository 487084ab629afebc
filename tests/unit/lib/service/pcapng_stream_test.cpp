// Parses our own writer's output, in every possible division into pieces.
#include "lib/service/pcapng_stream.hpp"

#include "lib/service/pcapng.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tributary::service {
namespace {

using Bytes = std::vector<std::byte>;

Bytes stream() {
  PcapngWriter writer;
  const std::vector<std::string> interfaces = {"leaf0/host0"};
  writer.begin("test", interfaces, 0);
  writer.packet(0, 1, PcapngWriter::Direction::inbound, Bytes(94, std::byte{1}), 94);
  writer.packet(0, 2, PcapngWriter::Direction::outbound, Bytes(61, std::byte{2}), 94);
  writer.statistics(0, 2, 0x1234567890);
  return writer.take();
}

TEST(pcapng_stream, passes_on_all_blocks_whatever_the_pieces) {
  const Bytes all = stream();
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    PcapngStream file;
    Bytes out;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      const auto part = std::span(all).subspan(at, std::min(piece, all.size() - at));
      const Bytes complete = file.add(part);
      out.insert(out.end(), complete.begin(), complete.end());
    }
    EXPECT_EQ(out, all) << piece;
    EXPECT_EQ(file.packets(), 2U);
    EXPECT_EQ(file.missed(), 0x1234567890U);
    EXPECT_FALSE(file.malformed());
  }
}

TEST(pcapng_stream, a_block_that_is_cut_off_is_not_passed_on) {
  const Bytes all = stream();
  PcapngStream whole;
  PcapngStream cut;
  const std::size_t complete = whole.add(all).size();
  EXPECT_EQ(complete, all.size());
  EXPECT_LT(cut.add(std::span(all).first(all.size() - 1)).size(), all.size() - 1)
      << "the last block waits for its last byte";
}

TEST(pcapng_stream, what_is_no_pcapng_is_noticed) {
  PcapngStream text;
  const std::string nonsense = "this is not a capture at all";
  EXPECT_TRUE(text.add(std::as_bytes(std::span(nonsense))).empty());
  EXPECT_TRUE(text.malformed());
  PcapngStream zeros;
  EXPECT_TRUE(zeros.add(Bytes(64)).empty());
  EXPECT_TRUE(zeros.malformed()) << "a block of length 0 would never end";
}

} // namespace
} // namespace tributary::service
