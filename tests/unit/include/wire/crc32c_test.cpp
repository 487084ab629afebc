// CRC32C against the vectors of RFC 3720, by instruction and by table, whole and in pieces.
#include "tributary/wire/crc32c.hpp"

#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string_view>
#include <vector>

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
Bytes made(int first, int step) {
  Bytes bytes(32);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(first + static_cast<int>(i) * step);
  }
  return bytes;
}

struct Vector {
  Bytes bytes;
  std::uint32_t crc;
};
std::vector<Vector> vectors() {
  return {{bytes_of(""), 0},        {bytes_of("123456789"), 0xE3069283},
          {made(0, 0), 0x8A9136AA}, {made(0xFF, 0), 0x62A8AB43},
          {made(0, 1), 0x46DD794E}, {made(31, -1), 0x113FDB5C}};
}

TEST(Crc32c, gives_the_values_of_the_rfc) {
  for (const Vector& v : vectors()) {
    Crc32c crc;
    crc.add(v.bytes.data(), v.bytes.size());
    EXPECT_EQ(crc.value(), v.crc) << v.bytes.size() << " bytes";
  }
}

TEST(Crc32c, gives_the_values_of_the_rfc_by_table) {
  for (const Vector& v : vectors()) {
    EXPECT_EQ(~crc32c_detail::add_by_table(~0U, v.bytes.data(), v.bytes.size()), v.crc)
        << v.bytes.size() << " bytes";
  }
}

#if defined(TRIBUTARY_CRC32C_INSTRUCTION)
TEST(Crc32c, gives_the_values_of_the_rfc_by_instruction) {
  for (const Vector& v : vectors()) {
    EXPECT_EQ(~crc32c_detail::add_by_instruction(~0U, v.bytes.data(), v.bytes.size()), v.crc)
        << v.bytes.size() << " bytes";
  }
}

TEST(Crc32c, is_by_instruction_what_it_is_by_table) {
  Random random(1);
  Bytes bytes(4500);
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(random.next());
  }
  for (std::size_t length = 0; length <= bytes.size(); length += 1 + length / 64) {
    const auto before = static_cast<std::uint32_t>(random.next());
    ASSERT_EQ(crc32c_detail::add_by_instruction(before, bytes.data(), length),
              crc32c_detail::add_by_table(before, bytes.data(), length))
        << length << " bytes";
  }
}
#endif

TEST(Crc32c, is_the_same_in_pieces_of_any_length) {
  Random random(3720);
  Bytes bytes(9000); // three lanes of 1,024 twice, of 128 seven times, and the remainder
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(random.next());
  }
  Crc32c whole;
  whole.add(bytes.data(), bytes.size());
  EXPECT_EQ(~crc32c_detail::add_by_table(~0U, bytes.data(), bytes.size()), whole.value());
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 1 + random.below(80)) {
    Crc32c pieces;
    pieces.add(bytes.data(), cut);
    pieces.add(bytes.data() + cut, bytes.size() - cut);
    ASSERT_EQ(pieces.value(), whole.value()) << "cut at " << cut;
  }
}

} // namespace
} // namespace tributary::wire
