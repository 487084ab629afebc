// The limit of open files, and its distribution.
#include "controlplane/process/descriptors.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

namespace tributary::fabricd {
namespace {

TEST(descriptors, the_soft_limit_is_raised_to_the_hard_one) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max);
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

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
