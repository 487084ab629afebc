// The distribution of open files.
#include "controlplane/process/descriptors.hpp"

#include <gtest/gtest.h>

namespace tributary::fabricd {
namespace {

TEST(descriptors, http_and_the_store_keep_their_part_whatever_the_limit) {
  EXPECT_EQ(descriptors_for_http(1024), 612U);
  EXPECT_EQ(descriptors_for_switches(1024), 156U);
  EXPECT_EQ(descriptors_for_http(20'000), 12'000U);
  EXPECT_EQ(descriptors_for_switches(20'000), 7'744U);
  EXPECT_EQ(descriptors_for_http(1'048'576), 32'768U);
  EXPECT_EQ(descriptors_for_switches(1'048'576), 1'015'552U);
  EXPECT_GE(descriptors_for_http(2), 1U);
  EXPECT_GE(descriptors_for_switches(2), 1U);
}

} // namespace
} // namespace tributary::fabricd
