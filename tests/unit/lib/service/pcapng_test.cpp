#include "lib/service/pcapng.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace tributary::service {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> values) {
  Bytes out;
  for (const int v : values) {
    out.push_back(static_cast<std::byte>(v));
  }
  return out;
}

template <typename T> T load(const Bytes& from, std::size_t at) {
  T value{};
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}

/// Walks the blocks, checks both lengths of each, and returns (type, start, length).
struct BlockView {
  std::uint32_t type;
  std::size_t start;
  std::uint32_t length;
};
std::vector<BlockView> blocks_of(const Bytes& all) {
  std::vector<BlockView> out;
  std::size_t at = 0;
  while (at + 12 <= all.size()) {
    const auto length = load<std::uint32_t>(all, at + 4);
    EXPECT_EQ(length % 4, 0U);
    EXPECT_LE(at + length, all.size());
    EXPECT_EQ(load<std::uint32_t>(all, at + length - 4), length) << "the length stands at the end";
    out.push_back({load<std::uint32_t>(all, at), at, length});
    at += length;
  }
  EXPECT_EQ(at, all.size());
  return out;
}

TEST(pcapng_begin, byte_for_byte) {
  PcapngWriter writer;
  const std::vector<std::string> interfaces = {"l/h"};
  writer.begin("abcde", interfaces, 256);
  EXPECT_EQ(writer.take(), bytes({
                               // Section header: type, length 44, magic, 1.0, unknown length.
                               0x0A,
                               0x0D,
                               0x0D,
                               0x0A,
                               44,
                               0,
                               0,
                               0,
                               0x4D,
                               0x3C,
                               0x2B,
                               0x1A,
                               1,
                               0,
                               0,
                               0,
                               0xFF,
                               0xFF,
                               0xFF,
                               0xFF,
                               0xFF,
                               0xFF,
                               0xFF,
                               0xFF,
                               // Option 4, 5 bytes, padded; end of options; length again.
                               4,
                               0,
                               5,
                               0,
                               'a',
                               'b',
                               'c',
                               'd',
                               'e',
                               0,
                               0,
                               0,
                               0,
                               0,
                               0,
                               0,
                               44,
                               0,
                               0,
                               0,
                               // Interface: type, length 40, Ethernet, 256 bytes kept.
                               1,
                               0,
                               0,
                               0,
                               40,
                               0,
                               0,
                               0,
                               1,
                               0,
                               0,
                               0,
                               0,
                               1,
                               0,
                               0,
                               // Option 2, the name; option 9, nanoseconds.
                               2,
                               0,
                               3,
                               0,
                               'l',
                               '/',
                               'h',
                               0,
                               9,
                               0,
                               1,
                               0,
                               9,
                               0,
                               0,
                               0,
                               0,
                               0,
                               0,
                               0,
                               40,
                               0,
                               0,
                               0,
                           }));
  EXPECT_TRUE(writer.take().empty());
}

TEST(pcapng_packet, byte_for_byte) {
  PcapngWriter writer;
  writer.packet(1, 0x0123456789ABCDEF, PcapngWriter::Direction::outbound,
                bytes({0xAA, 0xBB, 0xCC, 0xDD, 0xEE}), 94);
  EXPECT_EQ(writer.take(), bytes({6, 0, 0, 0, 52, 0, 0, 0, 1, 0, 0, 0,
                                  // The time, high half first.
                                  0x67, 0x45, 0x23, 0x01, 0xEF, 0xCD, 0xAB, 0x89,
                                  // 5 bytes kept of 94, padded to 8.
                                  5, 0, 0, 0, 94, 0, 0, 0, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0, 0, 0,
                                  // Flags: outbound. End of options.
                                  2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 52, 0, 0, 0}));
}

TEST(pcapng_statistics, byte_for_byte) {
  PcapngWriter writer;
  writer.statistics(2, 5, 1000);
  EXPECT_EQ(writer.take(), bytes({5, 0, 0, 0, 40,   0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 5,  0, 0, 0,
                                  7, 0, 8, 0, 0xE8, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0}));
}

TEST(pcapng_packet, every_length_is_padded_to_four) {
  for (std::size_t length = 0; length <= 9; ++length) {
    PcapngWriter writer;
    writer.packet(0, 0, PcapngWriter::Direction::inbound, Bytes(length, std::byte{1}), 94);
    writer.packet(0, 0, PcapngWriter::Direction::inbound, Bytes(length, std::byte{1}), 94);
    const auto blocks = blocks_of(writer.take());
    ASSERT_EQ(blocks.size(), 2U) << length;
    EXPECT_EQ(blocks[0].length, PcapngWriter::packet_bytes(length));
    EXPECT_EQ(blocks[0].length, 44 + (length + 3) / 4 * 4);
  }
}

TEST(pcapng_begin, one_interface_block_for_each_name) {
  PcapngWriter writer;
  const std::vector<std::string> interfaces = {"a", "bb", "ccc", "dddd"};
  writer.begin("x", interfaces, 0);
  const Bytes all = writer.take();
  const auto blocks = blocks_of(all);
  ASSERT_EQ(blocks.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(blocks[i + 1].type, 1U);
    const std::string name(reinterpret_cast<const char*>(all.data()) + blocks[i + 1].start + 20,
                           interfaces[i].size());
    EXPECT_EQ(name, interfaces[i]);
  }
}

} // namespace
} // namespace tributary::service
