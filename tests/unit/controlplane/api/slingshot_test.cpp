#include "controlplane/api/slingshot.hpp"

#include <gtest/gtest.h>

namespace tributary::api {
namespace {

TEST(parse_mac, takes_three_octets_or_six) {
  EXPECT_EQ(parse_mac("0:00:01"), Nid{1});
  EXPECT_EQ(parse_mac("1:23:45"), Nid{0x12345});
  EXPECT_EQ(parse_mac("00:00:00:01:23:45"), Nid{0x12345});
  EXPECT_EQ(parse_mac("02:00:00:01:23:45"), Nid{0x12345});
  EXPECT_EQ(parse_mac("f:E7:ff"), Nid{0xFE7FF}) << "the last one that is not a multicast";
}

TEST(parse_mac, takes_nothing_else) {
  for (const char* text : {"",
                           ":",
                           "0",
                           "0:0",
                           "0:0:0:0",
                           "0:0:0:0:0",
                           "0:0:0:0:0:0:0",
                           "0:00:",
                           ":0:00",
                           "0::00",
                           "000:0:0",
                           "g:0:0",
                           "0x0:0:0",
                           "-1:0:0",
                           "+1:0:0",
                           " 0:0:0",
                           "0:0:0 ",
                           "0-0-0",
                           "10:00:00",
                           "01:00:00:00:00:01",
                           "02:fe:00:00:00:01",
                           "04:00:00:00:00:01",
                           "02:00:01:00:00:01",
                           "02:00:00:10:00:01",
                           "f:f8:00",
                           "f:ff:ff"}) {
    EXPECT_EQ(parse_mac(text), std::nullopt) << text;
  }
}

/// As the existing tools read a MAC address: octets fill it from the top, and bits above 20 do not
/// make a NID.
std::uint64_t as_clients_read(const std::string& text) {
  std::uint64_t value = 0;
  int shift = 40;
  for (std::size_t at = 0; at < text.size(); at += 3, shift -= 8) {
    value |= std::stoull(text.substr(at, 2), nullptr, 16) << shift;
  }
  return value;
}

TEST(hardware_root_text, reads_as_the_nid_from_the_top_octet_down) {
  EXPECT_EQ(hardware_root_text(Nid{1}), "00:00:00:00:00:01");
  for (const std::uint32_t nid : {0U, 1U, 0x12345U, 0xFFU, 0x10000U, 0xFE7FFU}) {
    EXPECT_EQ(as_clients_read(hardware_root_text(Nid{nid})), nid);
    EXPECT_EQ(parse_mac(hardware_root_text(Nid{nid})), Nid{nid});
  }
}

} // namespace
} // namespace tributary::api
