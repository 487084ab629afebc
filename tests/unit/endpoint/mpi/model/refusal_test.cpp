#include "endpoint/mpi/model/refusal.hpp"
#include "endpoint/mpi/model/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tributary::mpi::test {
namespace {

TEST(Refusals, OfNobodyHaveNoLine) { EXPECT_EQ(refusal_line({}, 5, ""), ""); }

TEST(Refusals, AreCountedByCauseInOneLine) {
  Refusals refusals{};
  refusals[static_cast<std::size_t>(Refusal::manager_refused)] = 11;
  refusals[static_cast<std::size_t>(Refusal::no_connection)] = 1;
  EXPECT_EQ(refusal_line(refusals, 28, "rows: rank 0 says: 01: job j1 may have 16 groups"),
            "12 of 40 communicators of several nodes got no group of the fabric: 1 because their "
            "nodes could not connect to each other, 11 because the fabric manager refused; for "
            "example rows: rank 0 says: 01: job j1 may have 16 groups");
  const std::string line = refusal_line(refusals, 0, "");
  EXPECT_TRUE(line.starts_with("12 of 12 ")) << line;
  EXPECT_EQ(std::ranges::count(line, '\n'), 0);
}

TEST(Refusals, HaveATextEach) {
  std::set<std::string_view> texts;
  for (std::size_t i = 0; i < refusal_count; ++i) {
    EXPECT_TRUE(texts.insert(text_of(static_cast<Refusal>(i))).second) << i;
  }
  EXPECT_FALSE(texts.contains("?"));
}

TEST(Refusals, OfAnotherVersionAreOthers) {
  EXPECT_EQ(refusal_from(static_cast<char>(Refusal::not_ready)), Refusal::not_ready);
  EXPECT_EQ(refusal_from(static_cast<char>(refusal_count)), Refusal::other);
  EXPECT_EQ(refusal_from('\xFF'), Refusal::other);
}

TEST(Refusals, AreSummedWithTheCalls) {
  Statistics all;
  all.cells[Statistics::refused_at + static_cast<std::size_t>(Refusal::no_interface)] = 3;
  EXPECT_EQ(all.refusals()[static_cast<std::size_t>(Refusal::no_interface)], 3U);
  EXPECT_EQ(calls_of(all), 0U);
}

} // namespace
} // namespace tributary::mpi::test
