// The codec of RDMA frames (tributary/wire/rdma.hpp) against the golden frames of the page, every
// refusal, and that neither it nor the one of reductions takes the other's frames.
#include "tributary/wire/rdma.hpp"

#include "tests/unit/include/wire/golden.hpp"
#include "tests/unit/include/wire/rdma_golden.hpp"
#include "tributary/wire/reduction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t portals_at = ethernet_header_bytes;
constexpr std::size_t header_at = portals_at + rdma_offset::header;

RdmaError error_in(const Bytes& frame, std::uint16_t ethertype = default_ethertype) {
  RdmaFrame out;
  return decode(frame, ethertype, out);
}
test::GoldenRdmaFrame golden_data() {
  const auto all = test::golden_rdma_frames();
  return *std::ranges::find(all, RdmaKind::wr, [](const auto& one) { return one.header.kind; });
}
Bytes data_frame() { return test::encoded(golden_data()); }

Bytes with_byte(Bytes frame, std::size_t at, unsigned value) {
  frame[at] = static_cast<std::byte>(value);
  return frame;
}
Bytes with_fabric_checksum(Bytes frame) {
  write_fabric_header_checksum(frame.data() + portals_at);
  return frame;
}

/// The hexadecimal bytes of the code block behind "golden: NAME" in the page.
Bytes in_page(const std::string& name) {
  std::ifstream page(TRIBUTARY_RDMA_PAGE);
  Bytes bytes;
  bool found = false;
  for (std::string line; std::getline(page, line);) {
    if (found) {
      if (line.rfind("    ", 0) == 0 && line.find(": ") != std::string::npos) {
        for (const char* at = line.c_str() + line.find(": ") + 2; *at != '\0';) {
          char* end = nullptr;
          const unsigned long value = std::strtoul(at, &end, 16);
          if (end == at) {
            break;
          }
          bytes.push_back(static_cast<std::byte>(value));
          at = end;
        }
      } else if (!bytes.empty()) {
        break;
      }
    }
    found = found || line == "golden: " + name;
  }
  return bytes;
}

std::string dump_of(const Bytes& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char part[16];
    std::snprintf(part, sizeof part, "%02x", std::to_integer<unsigned>(bytes[i]));
    if (i % 16 == 0) {
      char offset[32];
      std::snprintf(offset, sizeof offset, "\n    %02zu:", i);
      text += offset;
    }
    text += ' ';
    text += part;
  }
  return text;
}

TEST(RdmaFrame, has_the_bytes_of_the_page) {
  for (const auto& golden : test::golden_rdma_frames()) {
    const Bytes frame = test::encoded(golden);
    EXPECT_EQ(dump_of(frame), dump_of(in_page(golden.name))) << golden.name;
  }
}

TEST(RdmaFrame, decodes_to_what_was_encoded) {
  for (const auto& golden : test::golden_rdma_frames()) {
    Bytes frame = test::encoded(golden);
    frame.resize(std::max<std::size_t>(frame.size(), 60) + 5); // padding is ignored
    RdmaFrame out;
    ASSERT_EQ(decode(frame, default_ethertype, out), RdmaError::none) << golden.name;
    EXPECT_EQ(out.header, golden.header) << golden.name;
    EXPECT_FALSE(out.trimmed);
    EXPECT_EQ(Bytes(out.payload.begin(), out.payload.end()), golden.payload) << golden.name;
  }
}

TEST(RdmaFrame, of_every_kind_comes_back_as_that_kind) {
  for (unsigned kind = 1; kind < rdma_kinds; ++kind) {
    auto golden = test::golden_rdma_frames()[1];
    golden.header.kind = static_cast<RdmaKind>(kind);
    RdmaFrame out;
    ASSERT_EQ(decode(test::encoded(golden), default_ethertype, out), RdmaError::none);
    EXPECT_EQ(out.header.kind, golden.header.kind);
    EXPECT_NE(name_of(out.header.kind), "unknown");
  }
}

TEST(RdmaFrame, is_refused_by_name) {
  const Bytes good = data_frame();
  EXPECT_EQ(error_in(good), RdmaError::none);
  EXPECT_EQ(error_in({}), RdmaError::too_short);
  EXPECT_EQ(error_in(Bytes(good.begin(), good.begin() + rdma_overhead_bytes - 1)),
            RdmaError::too_short);
  EXPECT_EQ(error_in(good, 0x88B6), RdmaError::wrong_ethertype);
  EXPECT_EQ(error_in(with_byte(good, portals_at, 0x46)), RdmaError::wrong_version);
  EXPECT_EQ(error_in(Bytes(good.begin(), good.end() - 1)), RdmaError::wrong_length);
  EXPECT_EQ(error_in(with_byte(good, portals_at + 3, rdma_offset::payload - 1)),
            RdmaError::wrong_length);
  EXPECT_EQ(error_in(with_byte(good, portals_at + portals_offset::ttl, 1)),
            RdmaError::wrong_checksum);
  EXPECT_EQ(error_in(with_fabric_checksum(
                with_byte(with_byte(good, portals_at + portals_offset::dfa, 0xFF),
                          portals_at + portals_offset::dfa + 1, 0x80))),
            RdmaError::not_unicast);
  EXPECT_EQ(error_in(with_byte(good, portals_at + portals_offset::command, 0xCD)),
            RdmaError::not_rdma);
  EXPECT_EQ(error_in(with_byte(good, header_at, 0x13)), RdmaError::unknown_version);
  EXPECT_EQ(error_in(with_byte(good, header_at, 0x20)), RdmaError::unknown_kind);
  EXPECT_EQ(error_in(with_byte(good, header_at, 0x2E)), RdmaError::unknown_kind);
  EXPECT_EQ(error_in(with_byte(good, portals_at + rdma_offset::mark, 1)), RdmaError::wrong_mark);
  EXPECT_EQ(error_in(with_byte(good, portals_at + rdma_offset::mark, 2)), RdmaError::wrong_mark);
}

TEST(RdmaFrame, with_any_bit_changed_behind_the_checksummed_header_is_refused) {
  const Bytes good = data_frame();
  for (std::size_t at = portals_at + rdma_offset::header; at < good.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[at] ^= static_cast<std::byte>(1U << bit);
      ASSERT_NE(error_in(bad), RdmaError::none) << "byte " << at << " bit " << bit;
    }
  }
}

TEST(RdmaFrame, whose_addresses_or_vni_changed_with_their_checksum_fails_the_crc) {
  for (const std::size_t at : {portals_offset::vni, portals_offset::sfa, portals_offset::sfa + 2,
                               portals_offset::dfa + 1, portals_offset::dfa + 3}) {
    Bytes bad = data_frame();
    bad[portals_at + at] ^= std::byte{0x10};
    EXPECT_EQ(error_in(with_fabric_checksum(bad)), RdmaError::bad_crc) << at;
  }
}

TEST(TrimmedRdmaFrame, is_trusted_by_its_header_check) {
  Bytes frame = data_frame();
  const auto golden = golden_data();
  ASSERT_TRUE(is_trimmable(frame));
  frame.resize(trim(frame.data()));
  EXPECT_EQ(frame.size(), rdma_overhead_bytes);
  EXPECT_FALSE(is_trimmable(frame));
  RdmaFrame out;
  ASSERT_EQ(decode(frame, default_ethertype, out), RdmaError::none);
  EXPECT_TRUE(out.trimmed);
  EXPECT_TRUE(out.payload.empty());
  EXPECT_EQ(out.header, golden.header);
  for (std::size_t at = header_at; at < header_at + rdma_offset::crc; ++at) {
    EXPECT_NE(error_in(with_byte(frame, at, std::to_integer<unsigned>(~frame[at]))),
              RdmaError::none)
        << at;
  }
}

TEST(TrimmedRdmaFrame, without_its_mark_fails_the_crc) {
  Bytes frame = data_frame();
  frame.resize(trim(frame.data()));
  EXPECT_EQ(error_in(with_byte(frame, portals_at + rdma_offset::mark, 0)), RdmaError::bad_crc);
}

TEST(TrimmedRdmaFrame, is_never_made_of_anything_but_data) {
  for (const auto& golden : test::golden_rdma_frames()) {
    EXPECT_EQ(is_trimmable(test::encoded(golden)), golden.header.kind == RdmaKind::wr)
        << golden.name;
  }
}

TEST(RdmaFrame, is_no_reduction_nor_the_reverse) {
  for (const auto& golden : test::golden_rdma_frames()) {
    Bytes frame = test::encoded(golden);
    frame.resize(std::max(frame.size(), reduction_frame_bytes));
    // Also when it is as long as one.
    store_be<std::uint16_t>(frame.data() + portals_at + portals_offset::total_length,
                            reduction_packet_bytes);
    ReductionFrame reduction;
    EXPECT_EQ(decode(with_fabric_checksum(frame), default_ethertype, reduction),
              DecodeError::not_multicast)
        << golden.name;
  }
  for (const auto& reduction : {test::contribution_frame(), test::pre_arm_frame()}) {
    const test::Frame frame = test::encoded(reduction);
    EXPECT_EQ(error_in({frame.begin(), frame.end()}), RdmaError::not_unicast);
  }
}

TEST(RdmaRequest, decodes_to_what_was_encoded) {
  const RdmaRequest request{.key = 0x0102030405060708,
                            .immediate = 0x1112131415161718,
                            .incarnation = 0x2122232425262728,
                            .proof = 0x3132333435363738,
                            .length_high = 0x41424344,
                            .credit = 0x51525354,
                            .payload = 0x6162,
                            .slot = 0x7172};
  std::array<std::byte, rdma_request_bytes> bytes{};
  encode(request, bytes);
  RdmaRequest out;
  ASSERT_TRUE(decode(bytes, out));
  EXPECT_EQ(out, request);
  EXPECT_FALSE(decode(std::span(bytes).first(47), out));
}

TEST(RdmaRequest, has_a_frame_for_every_payload_and_one_for_none) {
  EXPECT_EQ(rdma_frames_of(0, 1444), 1U);
  EXPECT_EQ(rdma_frames_of(1, 1444), 1U);
  EXPECT_EQ(rdma_frames_of(1444, 1444), 1U);
  EXPECT_EQ(rdma_frames_of(1445, 1444), 2U);
  EXPECT_EQ(rdma_frames_of(~std::uint64_t{0}, 1), ~std::uint64_t{0});
}

TEST(RdmaStatus, has_a_name_and_a_text) {
  EXPECT_EQ(name_of(RdmaStatus::wrong_key), "wrong_key");
  EXPECT_EQ(name_of(static_cast<RdmaStatus>(200)), "unknown");
  EXPECT_FALSE(text_of(static_cast<RdmaStatus>(200)).empty());
}

} // namespace
} // namespace tributary::wire
