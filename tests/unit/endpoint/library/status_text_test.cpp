#include "endpoint/library/status_text.hpp"

#include <gtest/gtest.h>

namespace tributary::library {
namespace {

using collective::GroupParameters;
using collective::Member;

GroupParameters group_of(std::uint32_t size, std::uint32_t rank) {
  GroupParameters p;
  p.tree = TreeNumber{7};
  p.size = size;
  p.rank = rank;
  p.nid = Nid{rank + 1};
  return p;
}

TEST(StatusText, IdleMemberIsOneLine) {
  EXPECT_EQ(status_text(Member(group_of(4, 2)), TimeNs{0}),
            "tree 7: leaf, rank 2 of 4, 0 pieces completed\n");
}

TEST(StatusText, RootSaysHowManyCameAndWhoIsMissing) {
  Member root(group_of(2, 0));
  root.inject(collective::Operand{}, TimeNs{1'000'000'000});
  EXPECT_EQ(status_text(root, TimeNs{2'500'000'000}),
            "tree 7: root, rank 0 of 2, 0 pieces completed\n"
            "  reduction 0: piece 0, waiting for contributions for 1.500 s, 1 of 2 came, rank 1 "
            "is missing, sequence 0, 0 retries\n");
}

TEST(StatusText, LeafSaysWhetherItWaitsForTheArmOrTheResult) {
  Member leaf(group_of(2, 1));
  leaf.inject(collective::Operand{}, TimeNs{0});
  EXPECT_NE(status_text(leaf, TimeNs{0}).find("waiting for the root's arm"), std::string::npos);
}

} // namespace
} // namespace tributary::library
