#include "endpoint/library/transfer_table.hpp"

#include <gtest/gtest.h>

namespace tributary::library::test {
namespace {

TEST(TransferTable, GivesTransfersOutInTheOrderInWhichTheyEnded) {
  TransferTable table(3);
  const std::uint64_t a = table.begin(1);
  const std::uint64_t b = table.begin(2);
  const std::uint64_t c = table.begin(3);
  EXPECT_TRUE(table.full());
  EXPECT_EQ(table.oldest_over(), 0U);
  for (const std::uint64_t number : {b, c, a}) {
    table.end({.user = number});
  }
  table.release(c); // a caller waited for this one
  EXPECT_EQ(table.oldest_over(), b);
  table.release(b);
  EXPECT_EQ(table.oldest_over(), a);
  table.release(a);
  EXPECT_EQ(table.oldest_over(), 0U);
  EXPECT_FALSE(table.full());
}

TEST(TransferTable, AnOldNumberIsNobodys) {
  TransferTable table(1);
  const std::uint64_t first = table.begin(1);
  table.release(first);
  EXPECT_EQ(table.find(first), nullptr);
  const std::uint64_t second = table.begin(2);
  EXPECT_NE(first, second);
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_EQ(table.find(second)->user, 2U);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(2), nullptr);
}

} // namespace
} // namespace tributary::library::test
