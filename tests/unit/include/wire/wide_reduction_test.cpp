#include "tributary/wire/wide_reduction.hpp"

#include "tests/unit/include/wire/golden.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

namespace tributary::test::wide {
namespace {

using wire::DecodeError;
using wire::Form;
using wire::Opcode;
using wire::WideFrame;

using Bytes = std::vector<std::byte>;
using Header = std::array<std::uint8_t, wire::wide_packet_header_bytes>;

/// Sixteen binary32 of leaf NID 0x12345 for an FLT_SUM of tree 0xABC under id 77.
WideFrame contribution() {
  WideFrame f;
  f.destination = wire::port_mac(Nid{0x12345});
  f.source = wire::host_mac(Nid{0x12345});
  f.vni = Vni{0x0400};
  f.source_nid = Nid{0x12345};
  f.tree = TreeNumber{0xABC};
  f.slot = ReductionId{77};
  f.signature = 0x0123456789ABCD;
  f.rank = 7;
  f.cookie = Cookie{0x677DAABC};
  f.word.seqno = SequenceNumber{0x155};
  f.word.resno = SequenceNumber{0x155};
  f.word.op = static_cast<std::uint8_t>(Opcode::flt_sum_nearest);
  f.word.count = 1;
  f.form = Form::bits32;
  f.payload_bytes = 64;
  return f;
}
constexpr Header contribution_header{
    0x45, 0xd0, 0x00, 0x70, 0x04, 0x00, 0x00, 0x00, 0x5a, 0x77, 0xa3, 0x75, 0x12, 0x34, 0x50, 0x00,
    0xff, 0xb6, 0x55, 0xe7, 0xcd, 0x00, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0x00, 0x51, 0x02,
    0x07, 0x00, 0x00, 0x00, 0x67, 0x7d, 0xaa, 0xbc, 0x00, 0x00, 0x2a, 0xa0, 0x00, 0x03, 0x41, 0x55};

/// Root NID 1: the result of sequence 1, of 16 contributions, rounded; it opens sequence 2.
WideFrame result() {
  WideFrame f = contribution();
  f.destination = wire::port_mac(Nid{1});
  f.source = wire::host_mac(Nid{1});
  f.dscp = wire::dscp_root;
  f.source_nid = Nid{1};
  f.slot = ReductionId{127};
  f.signature = 0;
  f.rank = 0;
  f.word.seqno = SequenceNumber{2};
  f.word.arm = true;
  f.word.count = 16;
  f.word.resno = SequenceNumber{1};
  f.word.rc = 1;
  f.form = Form::bfloat16;
  f.payload_bytes = 48;
  return f;
}
constexpr Header result_header{
    0x45, 0x20, 0x00, 0x60, 0x04, 0x00, 0x00, 0x00, 0x5a, 0x77, 0xf6, 0x20, 0x00, 0x00, 0x10, 0x00,
    0xff, 0xff, 0x55, 0xe7, 0xcd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x41, 0x05,
    0x00, 0x00, 0x00, 0x00, 0x67, 0x7d, 0xaa, 0xbc, 0x00, 0x00, 0x80, 0x20, 0x00, 0x21, 0x44, 0x02};

/// With a payload of consecutive bytes.
Bytes encoded(const WideFrame& f) {
  std::array<std::byte, wire::wide_header_bytes> header{};
  wire::encode_header(f, header);
  Bytes frame(header.begin(), header.end());
  for (std::size_t i = 0; i < f.payload_bytes; ++i) {
    frame.push_back(static_cast<std::byte>(i));
  }
  return frame;
}
std::byte* packet_of(Bytes& frame) { return frame.data() + wire::ethernet_header_bytes; }

DecodeError decode_error(std::span<const std::byte> frame) {
  WideFrame out;
  return wire::decode(frame, wire::default_ethertype, out);
}
Bytes with_byte(std::size_t offset, std::uint8_t value) {
  Bytes frame = encoded(contribution());
  packet_of(frame)[offset] = std::byte{value};
  wire::write_fabric_header_checksum(packet_of(frame));
  return frame;
}

void expect_same(const WideFrame& a, const WideFrame& b) {
  EXPECT_EQ(a.ethertype, b.ethertype);
  EXPECT_EQ(a.destination, b.destination);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.dscp, b.dscp);
  EXPECT_EQ(a.vni, b.vni);
  EXPECT_EQ(a.source_nid, b.source_nid);
  EXPECT_EQ(a.tree, b.tree);
  EXPECT_EQ(a.slot, b.slot);
  EXPECT_EQ(a.signature, b.signature);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.cookie, b.cookie);
  EXPECT_EQ(a.word, b.word);
  EXPECT_EQ(a.form, b.form);
  EXPECT_EQ(a.payload_bytes, b.payload_bytes);
}

void expect_golden(const WideFrame& fields, const Header& header) {
  Bytes frame = encoded(fields);
  for (std::size_t i = 0; i < header.size(); ++i) {
    EXPECT_EQ(packet_of(frame)[i], std::byte{header[i]}) << "byte " << i;
  }
  WideFrame back;
  ASSERT_EQ(wire::decode(frame, wire::default_ethertype, back), DecodeError::none);
  expect_same(back, fields);
  const auto payload = wire::payload_of(frame, back);
  EXPECT_EQ(payload.data(), frame.data() + 62);
  EXPECT_EQ(payload.size(), fields.payload_bytes);
}

TEST(wide_frame, of_a_contribution_is_golden_both_ways) {
  expect_golden(contribution(), contribution_header);
}

TEST(wide_frame, of_a_result_is_golden_both_ways) { expect_golden(result(), result_header); }

TEST(wide_frame, of_8192_bytes_is_golden) {
  WideFrame f = contribution();
  f.form = Form::bits64;
  f.slot = ReductionId{8};
  f.payload_bytes = 8192;
  Bytes frame = encoded(f);
  const std::byte* p = packet_of(frame);
  EXPECT_EQ(wire::load_be<std::uint32_t>(p), 0x45D02030U);
  EXPECT_EQ(wire::dfa_of(p).value, 0xFFA055E7U);
  EXPECT_EQ(wire::load_be<std::uint16_t>(p + 29), 0x0011U);
  EXPECT_EQ(wire::form_byte_of(p), 1);
}

TEST(wide_frame, carries_every_length_there_is) {
  Bytes frame(wire::wide_header_bytes + wire::most_wide_payload);
  for (std::size_t bytes = wire::least_wide_payload; bytes <= wire::most_wide_payload; bytes += 8) {
    WideFrame f = contribution();
    f.payload_bytes = bytes;
    wire::encode_header(f, std::span(frame).first<wire::wide_header_bytes>());
    const auto sent = std::span<const std::byte>(frame).first(wire::wide_header_bytes + bytes);
    WideFrame back;
    ASSERT_EQ(wire::decode(sent, wire::default_ethertype, back), DecodeError::none) << bytes;
    ASSERT_EQ(back.payload_bytes, bytes);
    ASSERT_EQ(wire::decode(sent.first(sent.size() - 1), wire::default_ethertype, back),
              DecodeError::too_short)
        << bytes;
  }
}

TEST(wide_frame, has_seven_bits_for_the_id_and_the_lowest_three_where_they_were) {
  for (unsigned id = 0; id < 128; ++id) {
    const auto address = wire::FabricAddress::multicast(TreeNumber{0x1FFF},
                                                        ReductionId{static_cast<std::uint8_t>(id)});
    ASSERT_TRUE(address.is_multicast());
    ASSERT_EQ(address.tree(), TreeNumber{0x1FFF});
    ASSERT_EQ(address.slot().value, id);
    ASSERT_EQ(address.reduction().value, id & 7U);
  }
}

TEST(wide_frame, is_none_to_who_knows_the_84_byte_form_alone) {
  wire::ReductionFrame out;
  EXPECT_EQ(wire::decode(encoded(contribution()), wire::default_ethertype, out),
            DecodeError::wrong_length);
}

TEST(wide_frame, of_84_bytes_is_refused) {
  EXPECT_EQ(decode_error(test::encoded(contribution_frame())), DecodeError::wrong_length);
}

TEST(wide_frame, cut_anywhere_is_too_short) {
  const Bytes frame = encoded(contribution());
  for (std::size_t length = 0; length < frame.size(); ++length) {
    // A copy of its own, so that a sanitizer sees a read past the end.
    const Bytes part(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_EQ(decode_error(part), DecodeError::too_short) << length << " bytes";
  }
  Bytes longer = frame;
  longer.resize(1500, std::byte{0xEE});
  EXPECT_EQ(decode_error(longer), DecodeError::none);
}

TEST(wide_frame, of_an_odd_length_is_refused) {
  for (const std::uint8_t total_length :
       std::initializer_list<std::uint8_t>{87, 80, 89, 111, 113, 47}) {
    EXPECT_EQ(decode_error(with_byte(3, total_length)), DecodeError::wrong_length) << +total_length;
  }
  Bytes longest(wire::wide_header_bytes + 65'488);
  const Bytes frame = encoded(contribution());
  std::copy(frame.begin(), frame.end(), longest.begin());
  wire::store_be<std::uint16_t>(packet_of(longest) + 2, wire::wide_total_length(65'480));
  wire::write_fabric_header_checksum(packet_of(longest));
  EXPECT_EQ(decode_error(longest), DecodeError::wrong_length);
}

TEST(wide_frame, whose_request_length_is_another_payloads_is_refused) {
  EXPECT_EQ(decode_error(with_byte(30, 0x31)), DecodeError::wrong_request);
}

TEST(wide_frame, of_an_unknown_form_is_refused) {
  for (const std::uint8_t form : std::initializer_list<std::uint8_t>{0, 8, 0x12, 0x82, 0xFF}) {
    EXPECT_EQ(decode_error(with_byte(31, form)), DecodeError::wrong_form) << +form;
  }
  for (std::uint8_t form = 1; form <= 7; ++form) {
    EXPECT_EQ(decode_error(with_byte(31, form)), DecodeError::none) << +form;
  }
}

TEST(wide_frame, that_is_no_reduction_is_refused) {
  EXPECT_EQ(decode_error(with_byte(0, 0x46)), DecodeError::wrong_version);
  EXPECT_EQ(decode_error(with_byte(19, 0xE6)), DecodeError::not_multicast);
  Bytes frame = encoded(contribution());
  packet_of(frame)[8] ^= std::byte{1};
  EXPECT_EQ(decode_error(frame), DecodeError::wrong_checksum);
  frame[12] ^= std::byte{1};
  EXPECT_EQ(decode_error(frame), DecodeError::wrong_ethertype);
}

TEST(wide_payload_limit, is_the_largest_multiple_of_64_that_fits) {
  EXPECT_EQ(wire::wide_payload_limit(1'500), 1'408U);
  EXPECT_EQ(wire::wide_payload_limit(9'000), 8'896U);
  EXPECT_EQ(wire::wide_payload_limit(65'535), 65'472U);
  EXPECT_EQ(wire::wide_payload_limit(1'000'000), 65'472U);
  EXPECT_EQ(wire::wide_payload_limit(112), 64U);
  EXPECT_EQ(wire::wide_payload_limit(111), 0U);
  EXPECT_EQ(wire::wide_payload_limit(0), 0U);
}

TEST(form, carries_the_operators_of_its_elements) {
  const auto carried = [](Form form) {
    std::size_t count = 0;
    for (const Opcode op : wire::all_opcodes) {
      count += wire::carries(form, op) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(carried(Form::words), std::size(wire::all_opcodes));
  EXPECT_EQ(carried(Form::bits64), 18U);
  EXPECT_EQ(carried(Form::bits32), 18U);
  EXPECT_EQ(carried(Form::bits16), 18U);
  EXPECT_EQ(carried(Form::bits8), 6U);
  EXPECT_EQ(carried(Form::bfloat16), 12U);
  EXPECT_EQ(carried(Form::tuple), 3U);
  EXPECT_EQ(carried(Form::repsum), 1U);
  for (const Form form : wire::wide_forms) {
    EXPECT_FALSE(wire::carries(form, Opcode::barrier)) << wire::name_of(form);
    EXPECT_FALSE(wire::carries(form, static_cast<Opcode>(0x3F))) << wire::name_of(form);
    EXPECT_GT(wire::element_bytes(form), 0U);
  }
}

} // namespace
} // namespace tributary::test::wide
