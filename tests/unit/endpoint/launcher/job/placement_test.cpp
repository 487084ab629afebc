#include "endpoint/launcher/job/placement.hpp"

#include <gtest/gtest.h>

namespace tributary::launch::job {
namespace {

using Placed = std::vector<PlacedNode>;

TEST(Placement, FillsOneNodeAfterTheOther) {
  const std::vector<NodeSlots> nodes{{"a", 2}, {"b", 3}, {"c", 1}};
  EXPECT_EQ(place(nodes, {}), (Placed{{"a", 0, 2}, {"b", 2, 3}, {"c", 5, 1}}));
  EXPECT_EQ(place(nodes, {.ranks = 3}), (Placed{{"a", 0, 2}, {"b", 2, 1}}));
  EXPECT_EQ(place(nodes, {.ranks = 5, .per_node = 2}),
            (Placed{{"a", 0, 2}, {"b", 2, 2}, {"c", 4, 1}}));
}

TEST(Placement, LeavesNoRankOut) {
  const std::vector<NodeSlots> nodes{{"a", 2}, {"b", 2}};
  try {
    (void)place(nodes, {.ranks = 5});
    FAIL() << "five ranks fit into four places";
  } catch (const NodeListError& error) {
    EXPECT_NE(std::string(error.what()).find("--ppn 3"), std::string::npos) << error.what();
  }
  EXPECT_THROW((void)place(nodes, {.ranks = 0}), NodeListError);
  EXPECT_EQ(place(nodes, {.ranks = 5, .per_node = 3}), (Placed{{"a", 0, 3}, {"b", 3, 2}}));
}

} // namespace
} // namespace tributary::launch::job
