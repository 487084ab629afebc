// Pause frames, byte by byte.

#include "tests/unit/dataplane/egress/frames.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace tributary::wire {
namespace {

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes;
  std::string digits;
  for (const char c : hex) {
    if (c != ' ') {
      digits += c;
    }
  }
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// Classes 0 and 3 for 0xFFFF and 0x0102 quanta; class 7 continues.
const std::vector<std::byte> golden = bytes_of("0180c2000001 02fd0ace0103 8808 0101 0089"
                                               "ffff 0000 0000 0102 0000 0000 0000 0000"
                                               "00000000000000000000000000"
                                               "00000000000000000000000000");
/// The whole link for 0x0200 quanta.
const std::vector<std::byte> golden_link = bytes_of("0180c2000001 02fd0ace0103 8808 0001 0200");
constexpr MacAddress source = {0x02, 0xFD, 0x0A, 0xCE, 0x01, 0x03};

PauseFrame meant() {
  PauseFrame pause;
  pause.classes = ClassSet(0x89);
  pause.quanta[0] = 0xFFFF;
  pause.quanta[3] = 0x0102;
  return pause;
}

TEST(PauseFrame, IsEncodedAsTheStandardSays) {
  std::array<std::byte, pause_frame_bytes> frame;
  frame.fill(std::byte{0xEE});
  encode(meant(), source, frame);
  EXPECT_EQ(golden.size(), pause_frame_bytes);
  EXPECT_TRUE(std::equal(frame.begin(), frame.end(), golden.begin(), golden.end()));
}

TEST(PauseFrame, IsDecodedFromItsBytes) {
  PauseFrame pause;
  EXPECT_EQ(decode(golden, pause), PauseError::none);
  EXPECT_EQ(pause, meant());
}

TEST(PauseFrame, QuantaOfClassesThatAreNotEnabledAreIgnored) {
  auto frame = golden;
  frame[pause_offset::quanta + 2] = std::byte{0x77};   // of class 1
  frame[pause_offset::class_enable] = std::byte{0xFF}; // reserved
  PauseFrame pause;
  EXPECT_EQ(decode(frame, pause), PauseError::none);
  EXPECT_EQ(pause, meant());
}

TEST(PauseFrame, ThePauseOfAWholeLinkIsOneOfAllClasses) {
  PauseFrame pause;
  EXPECT_EQ(decode(golden_link, pause), PauseError::none);
  EXPECT_EQ(pause, egress::test::pause_of(ClassSet::all(), 0x0200));
}

TEST(PauseFrame, WhatIsMalformedIsNamedAndLeavesNothing) {
  const auto error_of = [](std::vector<std::byte> frame) {
    PauseFrame pause;
    const PauseError error = decode(frame, pause);
    EXPECT_EQ(pause, PauseFrame{});
    return error;
  };
  const auto changed = [](std::size_t at, unsigned value) {
    auto frame = golden;
    frame[at] = static_cast<std::byte>(value);
    return frame;
  };
  for (std::size_t length = 0; length < 34; ++length) {
    EXPECT_EQ(error_of({golden.begin(), golden.begin() + static_cast<std::ptrdiff_t>(length)}),
              PauseError::too_short)
        << length;
  }
  EXPECT_EQ(error_of({golden_link.begin(), golden_link.end() - 1}), PauseError::too_short);
  EXPECT_EQ(error_of(changed(13, 0x09)), PauseError::wrong_ethertype);
  EXPECT_EQ(error_of(changed(5, 0x0E)), PauseError::wrong_destination);
  EXPECT_EQ(error_of(changed(14, 0x02)), PauseError::unknown_opcode);
  EXPECT_EQ(error_of(changed(15, 0x00)), PauseError::unknown_opcode);
}

TEST(PauseFrame, AQuantumIsTheTimeOf512Bits) {
  EXPECT_EQ(pause_ns(1, 1000), 512U);
  EXPECT_EQ(pause_ns(1000, 10'000), 51'200U);
  EXPECT_EQ(pause_ns(1, 10'000), 52U) << "51.2, rounded up";
  EXPECT_EQ(pause_ns(0xFFFF, 100'000), 335'540U);
  EXPECT_EQ(pause_ns(0xFFFF, 1), 33'553'920'000U);
}

} // namespace
} // namespace tributary::wire
