// The hello's codec (tributary/wire/hello.hpp) against golden bytes, and every refusal.

#include "tests/unit/include/wire/seed.hpp"
#include "tributary/wire/hello.hpp"
#include "tributary/wire/portals.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

Hello switch_hello() {
  return {.kind = HelloKind::switch_port,
          .guid = 0x1122334455667788,
          .port = PortNumber{7},
          .nid = {},
          .interval_ms = 1000,
          .name = "leaf0",
          .port_name = "up1"};
}
Hello host_hello() {
  return {.kind = HelloKind::host,
          .guid = 0,
          .port = PortNumber{0},
          .nid = Nid{0x12345},
          .interval_ms = 500,
          .name = "node-17.cluster_a",
          .port_name = "eth0"};
}

std::string hex(const Bytes& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

/// The frame with its checksum corrected.
Bytes fixed(Bytes frame) {
  std::byte* p = frame.data() + ethernet_header_bytes;
  const std::size_t length = hello_header_bytes +
                             std::to_integer<std::size_t>(p[hello_offset::name_length]) +
                             std::to_integer<std::size_t>(p[hello_offset::port_name_length]);
  store_be<std::uint16_t>(p + hello_offset::checksum, 0);
  store_be<std::uint16_t>(p + hello_offset::checksum,
                          static_cast<std::uint16_t>(~hello_sum({p, length})));
  return frame;
}
Bytes changed(Bytes frame, std::size_t offset, unsigned value) {
  frame[ethernet_header_bytes + offset] = static_cast<std::byte>(value);
  return fixed(std::move(frame));
}

void expect_error(const Bytes& frame, HelloError error,
                  std::uint16_t ethertype = default_ethertype) {
  Hello out{.kind = HelloKind::host,
            .guid = 1,
            .port = PortNumber{2},
            .nid = Nid{3},
            .interval_ms = 4,
            .name = "untouched",
            .port_name = {}};
  const Hello before = out;
  const HelloError got = decode(frame, ethertype, out);
  EXPECT_EQ(got, error) << name_of(got) << " instead of " << name_of(error);
  EXPECT_EQ(out, before);
}

TEST(Hello, of_a_switch_has_these_bytes) {
  EXPECT_EQ(hex(encode(switch_hello())), "0180c200000e"
                                         "02fd66778807"
                                         "88b5"
                                         "00545242"
                                         "01010503"
                                         "1122334455667788"
                                         "00000000"
                                         "03e80700"
                                         "1cb6"
                                         "6c65616630"
                                         "757031"
                                         "000000000000000000000000");
}

TEST(Hello, of_a_host_has_these_bytes) {
  EXPECT_EQ(hex(encode(host_hello(), 0x88B6)), "0180c200000e"
                                               "020000012345"
                                               "88b6"
                                               "00545242"
                                               "01021104"
                                               "0000000000000000"
                                               "00012345"
                                               "01f40000"
                                               "7982"
                                               "6e6f64652d31372e636c75737465725f61"
                                               "65746830");
}

TEST(Hello, is_at_least_as_long_as_ethernet_frames_are) {
  EXPECT_EQ(encode(switch_hello()).size(), shortest_ethernet_frame_bytes);
  Hello longest = switch_hello();
  longest.name.assign(max_hello_name, 'n');
  longest.port_name.assign(max_hello_port_name, 'p');
  EXPECT_EQ(encode(longest).size(), longest_hello_frame_bytes);
}

TEST(Hello, decodes_to_what_was_encoded_whatever_it_holds) {
  test::Random random(test::seed());
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  const auto text = [&](std::size_t length) {
    std::string s;
    while (s.size() < length) {
      s += letters[random() % letters.size()];
    }
    return s;
  };
  for (int i = 0; i < 2000; ++i) {
    Hello hello;
    hello.kind = random() % 2 == 0 ? HelloKind::switch_port : HelloKind::host;
    if (hello.kind == HelloKind::host) {
      hello.nid = Nid{static_cast<std::uint32_t>(random() % (0x1FFU << 11))};
    } else {
      hello.guid = random();
      hello.port = PortNumber{static_cast<std::uint8_t>(random() % max_ports)};
      hello.link_hellos = random() % 2 == 0;
    }
    hello.interval_ms = static_cast<std::uint16_t>(random());
    hello.name = "h" + text(random() % max_hello_name); // not "." or ".."
    hello.port_name = text(random() % (max_hello_port_name + 1));
    const auto ethertype = static_cast<std::uint16_t>(random());
    Bytes frame = encode(hello, ethertype);
    frame.resize(frame.size() + random() % 20, std::byte{0xEE}); // the rest is ignored
    Hello again;
    const HelloError error = decode(frame, ethertype, again);
    ASSERT_EQ(error, HelloError::none) << name_of(error);
    ASSERT_EQ(again, hello);
  }
}

TEST(Hello, cut_anywhere_is_too_short) {
  const Bytes whole = encode(host_hello());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    expect_error(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)),
                 HelloError::too_short);
  }
}

TEST(Hello, with_any_bit_of_it_flipped_is_refused) {
  const Bytes whole = encode(host_hello());
  for (std::size_t bit = 8 * ethernet_header_bytes; bit < 8 * whole.size(); ++bit) {
    Bytes frame = whole;
    frame[bit / 8] ^= std::byte{1} << (bit % 8);
    Hello out;
    EXPECT_NE(decode(frame, default_ethertype, out), HelloError::none) << "bit " << bit;
  }
}

TEST(Hello, names_what_is_wrong_with_it) {
  const Bytes good = encode(switch_hello());
  expect_error(good, HelloError::wrong_ethertype, 0x88B6);
  for (std::size_t i = 0; i < 4; ++i) {
    expect_error(changed(good, i, 0x45), HelloError::no_hello);
  }
  expect_error(changed(good, hello_offset::version, 0), HelloError::unknown_version);
  expect_error(changed(good, hello_offset::version, 2), HelloError::unknown_version);
  expect_error(changed(good, hello_offset::kind, 0), HelloError::unknown_kind);
  expect_error(changed(good, hello_offset::kind, 3), HelloError::unknown_kind);
  EXPECT_FALSE(is_hello_name("."));
  EXPECT_FALSE(is_hello_name(".."));
  EXPECT_TRUE(is_hello_name("..."));
  expect_error(changed(good, hello_offset::name_length, 0), HelloError::bad_name);
  expect_error(changed(good, hello_offset::port, max_ports), HelloError::bad_port);
  expect_error(changed(good, hello_offset::nid, 0x01), HelloError::bad_nid);
  Bytes frame = good;
  frame[ethernet_header_bytes + hello_offset::checksum] ^= std::byte{1};
  expect_error(frame, HelloError::wrong_checksum);
}

TEST(Hello, with_a_nid_that_looks_like_a_multicast_address_is_refused) {
  Bytes frame = encode(host_hello());
  store_be<std::uint32_t>(frame.data() + ethernet_header_bytes + hello_offset::nid, 0x1FFU << 11);
  expect_error(fixed(frame), HelloError::bad_nid);
}

TEST(Hello, with_a_name_that_could_harm_a_log_is_refused) {
  const Bytes good = encode(switch_hello());
  for (const unsigned bad :
       {0x00U, 0x0AU, 0x1BU, 0x20U, 0x22U, 0x2FU, 0x5CU, 0x7FU, 0x80U, 0xFFU}) {
    expect_error(changed(good, hello_header_bytes + 1, bad), HelloError::bad_name);
    expect_error(changed(good, hello_header_bytes + 6, bad), HelloError::bad_name); // the port's
  }
  // Longer names than there may be, all of good letters.
  Bytes longer = good;
  longer.resize(200, std::byte{'x'});
  std::fill(longer.begin() + ethernet_header_bytes + hello_header_bytes, longer.end(),
            std::byte{'x'});
  expect_error(changed(longer, hello_offset::name_length, max_hello_name + 1),
               HelloError::bad_name);
  expect_error(changed(longer, hello_offset::port_name_length, max_hello_port_name + 1),
               HelloError::bad_name);
}

TEST(Hello, has_no_flag_that_matters_but_the_one_of_link_hellos) {
  Hello out;
  EXPECT_EQ(
      decode(changed(encode(switch_hello()), hello_offset::flags, 0xFE), default_ethertype, out),
      HelloError::none);
  EXPECT_EQ(out, switch_hello());
  Hello with = switch_hello();
  with.link_hellos = true;
  EXPECT_EQ(encode(with), changed(encode(switch_hello()), hello_offset::flags, 1));
  EXPECT_EQ(
      decode(changed(encode(switch_hello()), hello_offset::flags, 0xFF), default_ethertype, out),
      HelloError::none);
  EXPECT_EQ(out, with);
}

TEST(Hello, of_a_host_has_no_flags) {
  Hello out;
  EXPECT_EQ(
      decode(changed(encode(host_hello()), hello_offset::flags, 0xFF), default_ethertype, out),
      HelloError::none);
  EXPECT_EQ(out, host_hello());
}

TEST(Hello, is_no_fabric_header_and_has_no_multicast_address_in_its_place) {
  for (const Hello& hello : {switch_hello(), host_hello()}) {
    const Bytes frame = encode(hello);
    const std::byte* p = frame.data() + ethernet_header_bytes;
    EXPECT_NE(p[portals_offset::version_ihl], std::byte{portals_version_ihl});
    EXPECT_FALSE(dfa_of(p).is_multicast());
  }
}

TEST(Hello, guid_of_a_name_is_the_same_everywhere) {
  EXPECT_EQ(guid_of_name("leaf0"), 0x54e1580a49751d1fU);
  EXPECT_NE(guid_of_name("leaf0"), guid_of_name("leaf1"));
}

} // namespace
} // namespace tributary::wire
