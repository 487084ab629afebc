// Places in slot memory: allocation, keeping, and refusal.

#include "dataplane/core/slot_dealer.hpp"
#include "dataplane/core/tables.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tributary::core::test {
namespace {

using tributary::test::Random;

TreeNumber numbered(unsigned n) { return TreeNumber{static_cast<std::uint16_t>(n)}; }

constexpr SlotDemand small{.slots = 8, .payload_bytes = 64};     // 512 bytes
constexpr SlotDemand large{.slots = 128, .payload_bytes = 1408}; // 176 KiB

void expect_says(const std::string& problem, const std::string& what) {
  EXPECT_NE(problem.find(what), std::string::npos) << problem << "\nlacks: " << what;
}

TEST(SlotDealer, HoldsAsManyTreesAsTheDesignSays) {
  SlotDealer dealer(std::uint64_t{64} << 20);
  unsigned trees = 0;
  while (dealer.add(numbered(trees), large).empty()) {
    ++trees;
  }
  EXPECT_EQ(trees, 372U);
  dealer.deal();
  EXPECT_EQ(dealer.place(numbered(0)), SlotPlace(large, 0));
  EXPECT_EQ(dealer.place(numbered(371)), SlotPlace(large, std::uint64_t{371} * 128 * 22));
}

TEST(SlotDealer, ATreeForHalfFloatsTakesTwice) {
  SlotDealer dealer(1 << 20);
  SlotDemand doubled = large;
  doubled.half_floats = true;
  EXPECT_EQ(dealer.add(numbered(1), doubled), "");
  EXPECT_EQ(dealer.free_bytes(), (1U << 20) - 2U * 128 * 1408);
  dealer.deal();
  const SlotPlace place = dealer.place(numbered(1));
  EXPECT_EQ(place.line_of(ReductionId{1}) - place.line_of(ReductionId{0}), 44U);
}

TEST(SlotDealer, RefusesWithTheNumbersAndTheLargestHolders) {
  SlotDealer dealer(2048);
  EXPECT_EQ(dealer.add(numbered(3), small), "");
  EXPECT_EQ(dealer.add(numbered(9), {.slots = 8, .payload_bytes = 128}), "");
  const std::string problem = dealer.add(numbered(5), {.slots = 16, .payload_bytes = 64});
  expect_says(problem, "16 slots of 64 bytes need 1024 bytes, and 512 of 2048 are free");
  expect_says(problem, "; tree 9 has 1024, tree 3 has 512");
  // Nothing has changed: the rest can still be allocated, and the freed place, too.
  EXPECT_EQ(dealer.free_bytes(), 512U);
  EXPECT_EQ(dealer.add(numbered(6), small), "");
  dealer.remove(numbered(9));
  EXPECT_EQ(dealer.add(numbered(5), {.slots = 16, .payload_bytes = 64}), "");
}

TEST(SlotDealer, RefusesDemandsThatCannotBe) {
  SlotDealer dealer(1 << 20);
  expect_says(dealer.add(numbered(1), {.slots = 24, .payload_bytes = 64}),
              "24 slots are not supported");
  expect_says(dealer.add(numbered(1), {.slots = 256, .payload_bytes = 64}),
              "256 slots are not supported");
  expect_says(dealer.add(numbered(1), {.slots = 4, .payload_bytes = 64}),
              "4 slots are not supported");
  expect_says(dealer.add(numbered(1), {.slots = 16}), "16 slots need wide frames");
  expect_says(dealer.add(numbered(1), {.slots = 8, .payload_bytes = 1400}),
              "1400 bytes is not supported");
  expect_says(dealer.add(numbered(1), {.slots = 8, .payload_bytes = 65536}), "at most 65472");
  EXPECT_EQ(dealer.add(numbered(1), {}), "");
  EXPECT_EQ(dealer.size(), 0U);
}

TEST(SlotDealer, ATreeKeepsItsPlaceAndOthersGetTheGaps) {
  SlotDealer dealer(4096);
  EXPECT_EQ(dealer.add(numbered(1), small), "");
  EXPECT_EQ(dealer.add(numbered(2), small), "");
  dealer.keep(numbered(2), SlotPlace(small, 0));
  EXPECT_EQ(dealer.add(numbered(3), small), "");
  dealer.keep(numbered(3), SlotPlace(small, 24));
  EXPECT_EQ(dealer.add(numbered(4), small), "");
  dealer.keep(numbered(4), SlotPlace({.slots = 8, .payload_bytes = 128}, 40)); // asks for less now
  dealer.deal();
  EXPECT_EQ(dealer.place(numbered(2)).first_line, 0U);
  EXPECT_EQ(dealer.place(numbered(3)).first_line, 24U);
  EXPECT_EQ(dealer.place(numbered(1)).first_line, 8U);
  EXPECT_EQ(dealer.place(numbered(4)).first_line, 16U);
}

TEST(SlotDealer, AllMoveWhereTheGapsAreTooSmall) {
  SlotDealer dealer(2048); // 32 lines, of which two trees hold 8 to 16 and 24 to 32
  EXPECT_EQ(dealer.add(numbered(1), small), "");
  dealer.keep(numbered(1), SlotPlace(small, 8));
  EXPECT_EQ(dealer.add(numbered(2), small), "");
  dealer.keep(numbered(2), SlotPlace(small, 24));
  EXPECT_EQ(dealer.add(numbered(3), {.slots = 16, .payload_bytes = 64}), "");
  dealer.deal();
  EXPECT_EQ(dealer.place(numbered(1)).first_line, 0U);
  EXPECT_EQ(dealer.place(numbered(2)).first_line, 8U);
  EXPECT_EQ(dealer.place(numbered(3)).first_line, 16U);
}

/// Snapshot after snapshot, each built on the one before, as the agent does it.
TEST(SlotDealer, NoPlaceIsEverSharedNorOutsideTheMemory) {
  Random random(tributary::test::seed());
  constexpr std::uint64_t bytes = 64 * 1024;
  TablesBuilder first({}, bytes);
  for (int p = 0; p < 2; ++p) {
    ASSERT_EQ(first.add_port({}), "");
  }
  std::shared_ptr<const Tables> tables = first.build(1);
  int refused = 0;
  int kept = 0;
  for (std::uint64_t version = 2; version < 2000 / TRIBUTARY_SEED_DIVISOR; ++version) {
    TablesBuilder builder({}, *tables, bytes);
    std::map<TreeNumber, bool> touched;
    for (int changes = 0; changes < 3; ++changes) {
      const TreeNumber tree = numbered(static_cast<unsigned>(random() % 24));
      touched[tree] = true;
      builder.remove_tree(tree);
      const SlotDemand demand{.slots = 8U << random() % 5,
                              .payload_bytes = 64U * static_cast<std::uint32_t>(random() % 8),
                              .half_floats = random() % 2 == 0};
      const std::string problem = builder.add_tree(tree, 2, PortNumber{0}, PortSet{0b10},
                                                   demand.any() ? demand : SlotDemand{});
      refused += problem.empty() ? 0 : 1;
    }
    const std::shared_ptr<const Tables> next = builder.build(version);
    std::vector<bool> taken(bytes / slot_line_bytes);
    for (unsigned t = 0; t < max_trees; ++t) {
      const SlotPlace& place = next->slot_place(numbered(t));
      ASSERT_EQ(next->tree(numbered(t)).has_place(), place.slots != 0);
      ASSERT_LE(place.first_line + place.lines(), next->slot_lines());
      for (std::uint64_t line = 0; line < place.lines(); ++line) {
        ASSERT_LT(place.first_line + line, taken.size());
        ASSERT_FALSE(taken[place.first_line + line]) << "tree " << t << " shares its place";
        taken[place.first_line + line] = true;
      }
      kept +=
          place.slots != 0 && !touched.contains(numbered(t)) && next->has_same(*tables, numbered(t))
              ? 1
              : 0;
    }
    tables = next;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(kept, 1000 / TRIBUTARY_SEED_DIVISOR);
}

} // namespace
} // namespace tributary::core::test
