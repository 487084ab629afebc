#include "tests/unit/include/wire/golden.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tributary::test {
namespace {

using wire::ReductionWord;

TEST(ReductionWord, EachFieldSitsAtItsBits) {
  const auto bits = [](auto set) {
    ReductionWord w;
    set(w);
    return wire::pack(w);
  };
  EXPECT_EQ(bits([](auto& w) { w.seqno = SequenceNumber{0x3FF}; }), 0x3FFULL);
  EXPECT_EQ(bits([](auto& w) { w.arm = true; }), 1ULL << 10);
  EXPECT_EQ(bits([](auto& w) { w.op = 0x3F; }), 0x3FULL << 11);
  EXPECT_EQ(bits([](auto& w) { w.count = 0xFFFFF; }), 0xFFFFFULL << 17);
  EXPECT_EQ(bits([](auto& w) { w.resno = SequenceNumber{0x3FF}; }), 0x3FFULL << 37);
  EXPECT_EQ(bits([](auto& w) { w.rc = 0xF; }), 0xFULL << 47);
  EXPECT_EQ(bits([](auto& w) { w.m = -1; }), 0xFFULL << 51);
  EXPECT_EQ(bits([](auto& w) { w.overflow_id = 3; }), 3ULL << 59);
  EXPECT_EQ(bits([](auto& w) { w.pad = 7; }), 7ULL << 61);
}

TEST(ReductionWord, PackInvertsUnpackForRandomBits) {
  Random random(seed());
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t bits = random();
    ASSERT_EQ(wire::pack(wire::unpack(bits)), bits);
  }
}

TEST(ReductionWord, OversizedFieldsDoNotSpillIntoNeighbours) {
  ReductionWord w;
  w.op = 0xFF;
  w.count = 0xFFFFFFFF;
  w.rc = 0xFF;
  w.overflow_id = 0xFF;
  w.pad = 0xFF;
  const ReductionWord back = wire::unpack(wire::pack(w));
  EXPECT_EQ(back.op, 0x3F);
  EXPECT_EQ(back.count, max_contributions);
  EXPECT_EQ(back.rc, 0xF);
  EXPECT_EQ(back.overflow_id, 3);
  EXPECT_EQ(back.pad, 7);
  EXPECT_FALSE(back.arm);
  EXPECT_EQ(back.seqno, SequenceNumber{0});
  EXPECT_EQ(back.resno, SequenceNumber{0});
  EXPECT_EQ(back.m, 0);
}

TEST(ReductionWord, MIsSigned) {
  for (int m = -128; m <= 127; ++m) {
    ReductionWord w;
    w.m = static_cast<std::int8_t>(m);
    EXPECT_EQ(wire::unpack(wire::pack(w)).m, m);
  }
}

TEST(ReductionWord, RetryIsTheLowestPadBit) {
  EXPECT_TRUE(wire::unpack(1ULL << 61).retry());
  EXPECT_FALSE(wire::unpack(6ULL << 61).retry());
}

} // namespace
} // namespace tributary::test
