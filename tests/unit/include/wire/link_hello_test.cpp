// The link hello's codec (tributary/wire/link_hello.hpp) against golden bytes, and every refusal.

#include "tests/unit/include/wire/seed.hpp"
#include "tributary/wire/link_hello.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

LinkHello link_hello() {
  return {.sender = {0x1122334455667788, PortNumber{7}},
          .sequence = 0x01020304,
          .interval_ms = 10,
          .uses_link = true,
          .heard = LinkEnd{0x99AABBCCDDEEFF00, PortNumber{63}}};
}

Bytes bytes_of(const LinkHelloFrame& frame) { return {frame.begin(), frame.end()}; }

std::string hex_of(const Bytes& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

Bytes changed_to(Bytes frame, std::size_t offset, unsigned value) {
  std::byte* p = frame.data() + ethernet_header_bytes;
  p[offset] = static_cast<std::byte>(value);
  store_be<std::uint16_t>(p + hello_offset::checksum, 0);
  store_be<std::uint16_t>(p + hello_offset::checksum,
                          static_cast<std::uint16_t>(~hello_sum({p, link_hello_bytes})));
  return frame;
}

void expect_refused(const Bytes& frame, HelloError error,
                    std::uint16_t ethertype = default_ethertype) {
  LinkHello out{.sender = {1, PortNumber{2}}, .heard = {}};
  const LinkHello before = out;
  const HelloError got = decode(frame, ethertype, out);
  EXPECT_EQ(got, error) << name_of(got) << " instead of " << name_of(error);
  EXPECT_EQ(out, before);
}

TEST(LinkHello, has_these_bytes) {
  EXPECT_EQ(hex_of(bytes_of(encode(link_hello()))), "0180c200000e"
                                                    "02fd66778807"
                                                    "88b5"
                                                    "00545242"
                                                    "0103"
                                                    "0000"
                                                    "1122334455667788"
                                                    "01020304"
                                                    "000a0703"
                                                    "1e97"
                                                    "99aabbccddeeff00"
                                                    "3f00"
                                                    "00000000000000000000");
}

TEST(LinkHello, decodes_to_what_was_encoded_whatever_it_holds) {
  test::Random random(test::seed());
  for (int i = 0; i < 2000; ++i) {
    LinkHello hello;
    hello.sender = {random(), PortNumber{static_cast<std::uint8_t>(random() % max_ports)}};
    hello.sequence = static_cast<std::uint32_t>(random());
    hello.interval_ms = static_cast<std::uint16_t>(1 + random() % 0xFFFF);
    hello.uses_link = random() % 2 == 0;
    if (random() % 2 == 0) {
      hello.heard = {random(), PortNumber{static_cast<std::uint8_t>(random() % max_ports)}};
    }
    LinkHello again;
    ASSERT_EQ(decode(encode(hello, 0x1234), 0x1234, again), HelloError::none);
    ASSERT_EQ(again, hello);
  }
}

TEST(LinkHello, cut_anywhere_is_too_short) {
  const Bytes whole = bytes_of(encode(link_hello()));
  for (std::size_t length = 0; length < ethernet_header_bytes + link_hello_bytes; ++length) {
    expect_refused(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)),
                   HelloError::too_short);
  }
}

TEST(LinkHello, with_any_bit_of_it_flipped_is_refused) {
  const Bytes whole = bytes_of(encode(link_hello()));
  for (std::size_t bit = 8 * ethernet_header_bytes;
       bit < 8 * (ethernet_header_bytes + link_hello_bytes); ++bit) {
    Bytes frame = whole;
    frame[bit / 8] ^= std::byte{1} << (bit % 8);
    LinkHello out;
    EXPECT_NE(decode(frame, default_ethertype, out), HelloError::none) << "bit " << bit;
  }
}

TEST(LinkHello, names_what_is_wrong_with_it) {
  const Bytes good = bytes_of(encode(link_hello()));
  expect_refused(good, HelloError::wrong_ethertype, 0x88B6);
  expect_refused(changed_to(good, 0, 0x45), HelloError::no_hello);
  expect_refused(changed_to(good, hello_offset::version, 2), HelloError::unknown_version);
  expect_refused(changed_to(good, hello_offset::kind, 1), HelloError::unknown_kind);
  expect_refused(changed_to(good, hello_offset::port, max_ports), HelloError::bad_port);
  expect_refused(changed_to(good, link_hello_offset::heard_port, max_ports), HelloError::bad_port);
  Bytes frame = changed_to(good, hello_offset::interval, 0);
  expect_refused(changed_to(frame, hello_offset::interval + 1, 0), HelloError::bad_interval);
  frame = good;
  frame[ethernet_header_bytes + hello_offset::checksum] ^= std::byte{1};
  expect_refused(frame, HelloError::wrong_checksum);
}

TEST(LinkHello, is_refused_by_who_expects_a_hello_and_the_other_way_round) {
  Hello hello;
  EXPECT_EQ(decode(encode(link_hello()), default_ethertype, hello), HelloError::wrong_checksum);
  hello = {.kind = HelloKind::switch_port, .guid = 5, .nid = {}, .name = "s", .port_name = {}};
  expect_refused(encode(hello), HelloError::unknown_kind);
}

TEST(LinkHello, has_no_reserved_byte_or_flag_that_matters) {
  LinkHello out;
  Bytes frame = bytes_of(encode(link_hello()));
  for (const std::size_t offset : {hello_offset::name_length, hello_offset::port_name_length,
                                   link_hello_offset::heard_port + 1}) {
    frame = changed_to(frame, offset, 0xFF);
  }
  frame = changed_to(frame, hello_offset::flags, 0xFF);
  EXPECT_EQ(decode(frame, default_ethertype, out), HelloError::none);
  EXPECT_EQ(out, link_hello());
}

} // namespace
} // namespace tributary::wire
