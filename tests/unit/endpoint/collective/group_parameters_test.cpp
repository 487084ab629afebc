#include "frames.hpp"

#include <gtest/gtest.h>

namespace tributary::collective::test {
namespace group_parameters_test {

TEST(GroupParameters, SoundOnesHaveNoFault) {
  EXPECT_EQ(fault_of(group_of(4, 0)), "");
  EXPECT_EQ(fault_of(group_of(4, 3)), "");
}

TEST(GroupParameters, EachFaultIsNamedAndRefused) {
  const auto faulty = [](auto change) {
    GroupParameters p = group_of(4, 1);
    change(p);
    EXPECT_THROW(Member{p}, std::invalid_argument);
    return fault_of(p);
  };
  using P = GroupParameters;
  EXPECT_NE(faulty([](P& p) { p.size = 0; }).find("size 0"), std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.size = 1U << 20; }).find("size 1048576"), std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.rank = 4; }).find("rank 4"), std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.root_rank = 9; }).find("root rank 9"), std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.tree.value = 8192; }).find("tree 8192"), std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.twin = TreeNumber{8192}; }).find("twin tree 8192"),
            std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.twin = p.tree; }).find("its own twin"), std::string::npos);
  EXPECT_NE(faulty([](P& p) {
              p.twin = TreeNumber{1};
              p.dialect = Dialect::cxi;
            }).find("unknown to cxi"),
            std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.nid.value = 0xFF801; }).find("0xff801"), std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.root_nid = p.nid; }).find("leaf's own"), std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.root_rank = 1; }).find("is the root"), std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.retry_ns = 0; }).find("longer than zero"), std::string::npos);
  EXPECT_NE(faulty([](P& p) { p.first_sequence = SequenceNumber{1022}; }).find("1022"),
            std::string::npos);
}

} // namespace group_parameters_test
} // namespace tributary::collective::test
