// Permissions of one switch: those needed, those in force, and their difference.
#include "controlplane/transaction/permissions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::transaction {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Permission at_port{PortNumber{3}, Vni{20}};
constexpr GuardedPermission plain{at_port, Nid{7}};
constexpr GuardedPermission closing{at_port, Nid{7}, true};

TEST(Permissions, close_a_port_as_long_as_one_that_needs_them_wants_that) {
  Permissions all;
  all.need(plain);
  all.applied(std::vector{plain});
  EXPECT_FALSE(all.permits(closing)) << "it has to be given again";
  all.need(closing);
  EXPECT_EQ(all.with_other_needs(plain), closing) << "whoever else asks leaves it closed";
  all.applied(std::vector{closing});
  EXPECT_TRUE(all.permits(plain));
  all.release(closing);
  EXPECT_EQ(all.with_other_needs(plain), plain);
  EXPECT_THAT(all.take_difference().permit, ElementsAre(plain)) << "opened again";
  all.applied(std::vector{plain});
  all.release(plain);
  const auto over = all.take_difference();
  EXPECT_THAT(over.permit, IsEmpty());
  EXPECT_THAT(over.revoke, ElementsAre(at_port));
}

TEST(Permissions, of_a_switch_that_comes_back_are_brought_to_what_is_needed) {
  Permissions all;
  all.need(closing);
  all.heard(std::vector{plain});
  EXPECT_THAT(all.take_difference().permit, ElementsAre(closing));
  all.heard(std::vector{closing});
  EXPECT_THAT(all.take_difference().permit, IsEmpty());
  all.need(plain);
  all.release(closing);
  all.heard(std::vector{closing});
  EXPECT_THAT(all.take_difference().permit, ElementsAre(plain));
}

} // namespace
} // namespace tributary::transaction
