// Every reason to refuse a buffer, and what is deliberately accepted.
#include "tests/unit/include/wire/golden.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::test {
namespace {

using wire::DecodeError;

DecodeError decode_error(std::span<const std::byte> frame,
                         std::uint16_t ethertype = wire::default_ethertype) {
  wire::ReductionFrame out;
  return wire::decode(frame, ethertype, out);
}
/// The contribution with one byte of the packet changed and, by default a right checksum.
Frame with_byte(std::size_t offset, std::uint8_t value, bool fix_checksum = true) {
  Frame frame = encoded(contribution_frame());
  packet_of(frame)[offset] = std::byte{value};
  if (fix_checksum) {
    wire::write_fabric_header_checksum(packet_of(frame));
  }
  return frame;
}

TEST(Decode, EveryShorterBufferIsTooShort) {
  const Frame frame = encoded(contribution_frame());
  for (std::size_t length = 0; length < frame.size(); ++length) {
    // A copy of its own, so that a sanitizer sees a read past the end.
    const std::vector<std::byte> part(frame.begin(),
                                      frame.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(decode_error(part), DecodeError::too_short) << length << " bytes";
  }
}

TEST(Decode, BytesPastTheFrameAreIgnored) {
  const Frame frame = encoded(contribution_frame());
  std::vector<std::byte> longer(frame.begin(), frame.end());
  longer.resize(1500, std::byte{0xEE});
  EXPECT_EQ(decode_error(longer), DecodeError::none);
}

TEST(Decode, AnotherEtherTypeIsRefusedEvenWhenShort) {
  const Frame frame = encoded(contribution_frame());
  EXPECT_EQ(decode_error(frame, 0x88B6), DecodeError::wrong_ethertype);
  EXPECT_EQ(decode_error(std::span(frame).first(60), 0x88B6), DecodeError::wrong_ethertype);
  wire::ReductionFrame f = contribution_frame();
  f.ethertype = 0x0800;
  EXPECT_EQ(decode_error(encoded(f)), DecodeError::wrong_ethertype);
  EXPECT_EQ(decode_error(encoded(f), 0x0800), DecodeError::none);
}

TEST(Decode, WrongVersionOrHeaderLength) {
  EXPECT_EQ(decode_error(with_byte(0, 0x46)), DecodeError::wrong_version);
  EXPECT_EQ(decode_error(with_byte(0, 0x65)), DecodeError::wrong_version);
}

TEST(Decode, WrongTotalLength) {
  EXPECT_EQ(decode_error(with_byte(3, 0x4F)), DecodeError::wrong_length);
  EXPECT_EQ(decode_error(with_byte(2, 0x01)), DecodeError::wrong_length);
}

TEST(Decode, EveryFlippedBitOfTheHeaderIsRefused) {
  for (std::size_t bit = 0; bit < 8 * wire::fabric_header_bytes; ++bit) {
    Frame frame = encoded(contribution_frame());
    packet_of(frame)[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_NE(decode_error(frame), DecodeError::none) << "bit " << bit;
  }
  EXPECT_EQ(decode_error(with_byte(8, 0x59, false)), DecodeError::wrong_checksum);
}

TEST(Decode, UnicastAddressOrAnotherActionIsNotMulticast) {
  EXPECT_EQ(decode_error(with_byte(16, 0x12)), DecodeError::not_multicast);
  EXPECT_EQ(decode_error(with_byte(19, 0xE6)), DecodeError::not_multicast);
}

TEST(Decode, ReservedAddressBitsAreIgnored) {
  Frame frame = with_byte(17, 0x94 | 0x60 | 0x03);
  wire::ReductionFrame out;
  ASSERT_EQ(wire::decode(frame, wire::default_ethertype, out), DecodeError::none);
  EXPECT_EQ(out.tree, TreeNumber{0xABC});
  EXPECT_EQ(out.reduction, ReductionId{5});
}

TEST(Decode, RequestLengthMustBe49InAllTwelveBits) {
  EXPECT_EQ(decode_error(with_byte(30, 48)), DecodeError::wrong_request);
  EXPECT_EQ(decode_error(with_byte(29, 0x01)), DecodeError::wrong_request);
  EXPECT_EQ(decode_error(with_byte(29, 0xF0)), DecodeError::none) << "flags are not the length";
}

TEST(Decode, AnyPortalsOpcodeIsAccepted) {
  EXPECT_EQ(decode_error(with_byte(20, 0x00)), DecodeError::none);
}

TEST(Decode, ARefusedBufferLeavesTheOutputAlone) {
  wire::ReductionFrame out;
  out.cookie = Cookie{0xDEAD};
  EXPECT_NE(wire::decode(with_byte(30, 48), wire::default_ethertype, out), DecodeError::none);
  EXPECT_EQ(out.cookie, Cookie{0xDEAD});
}

TEST(Decode, EveryErrorHasItsOwnName) {
  EXPECT_EQ(wire::name_of(DecodeError::none), "none");
  EXPECT_EQ(wire::name_of(DecodeError::too_short), "too_short");
  EXPECT_EQ(wire::name_of(DecodeError::wrong_ethertype), "wrong_ethertype");
  EXPECT_EQ(wire::name_of(DecodeError::wrong_version), "wrong_version");
  EXPECT_EQ(wire::name_of(DecodeError::wrong_length), "wrong_length");
  EXPECT_EQ(wire::name_of(DecodeError::wrong_checksum), "wrong_checksum");
  EXPECT_EQ(wire::name_of(DecodeError::not_multicast), "not_multicast");
  EXPECT_EQ(wire::name_of(DecodeError::wrong_request), "wrong_request");
}

TEST(Decode, InvertsEncodeForRandomFrames) {
  Random random(seed());
  for (int i = 0; i < 20'000; ++i) {
    const auto mac = [&random] {
      wire::MacAddress m;
      for (auto& octet : m) {
        octet = static_cast<std::uint8_t>(random());
      }
      return m;
    };
    wire::ReductionFrame f;
    f.ethertype = static_cast<std::uint16_t>(random());
    f.destination = mac();
    f.source = mac();
    f.dscp = static_cast<std::uint8_t>(random() & 0x3F);
    f.vni = Vni{static_cast<std::uint16_t>(random())};
    f.source_nid = Nid{static_cast<std::uint32_t>(random() & max_nid)};
    f.tree = TreeNumber{static_cast<std::uint16_t>(random() % max_trees)};
    f.reduction = ReductionId{static_cast<std::uint8_t>(random() % reductions_per_tree)};
    f.signature = random() & wire::signature_mask;
    f.rank = static_cast<std::uint32_t>(random());
    f.cookie = Cookie{static_cast<std::uint32_t>(random())};
    f.word = wire::unpack(random());
    f.payload = {random(), random(), random(), random()};
    const Frame frame = encoded(f);
    wire::ReductionFrame back;
    ASSERT_EQ(wire::decode(frame, f.ethertype, back), DecodeError::none) << "frame " << i;
    ASSERT_EQ(encoded(back), frame) << "frame " << i;
    ASSERT_EQ(back.payload, f.payload);
    ASSERT_EQ(back.word, f.word);
    ASSERT_EQ(back.signature, f.signature);
    ASSERT_EQ(back.rank, f.rank);
    ASSERT_EQ(back.source_nid, f.source_nid);
    ASSERT_EQ(back.tree, f.tree);
    ASSERT_EQ(back.reduction, f.reduction);
  }
}

} // namespace
} // namespace tributary::test
