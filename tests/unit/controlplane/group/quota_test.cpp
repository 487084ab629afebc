// A job at its limit of groups gets their list, and when they end.
#include "tests/unit/controlplane/group/registry_fixture.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Quota, the_refusal_names_the_quota_the_holders_and_when_they_end) {
  RegistryFixture fixture;
  fixture.job("j1", 3);
  fixture.ready(3, "steady");
  const GroupId going = fixture.ready(3, "going");
  ASSERT_TRUE(fixture->destroy("j1", "going", fixture.now).ok());
  fixture.pass(10 * second);
  ASSERT_TRUE(fixture.join(0, 2, "waiting").ok());
  fixture.pass(4 * second);

  const auto refused = fixture.join(0, 2, "fourth");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::exhausted);
  EXPECT_EQ(refused.error().message,
            "01: job j1 may have 3 groups at a time and has 3: "
            "'steady' (ready, 3 members, until its members leave; their leases run for 16.0 s "
            "unless renewed), "
            "'going' (destroying, 3 members, is being removed), "
            "'waiting' (receiving_join_req, 2 members, ends in 26.0 s at the latest)");
  fixture->removed(going, fixture.now);
  EXPECT_TRUE(fixture.join(0, 2, "fourth").ok());
}

TEST(Quota, of_many_holders_the_oldest_are_named_and_the_others_counted) {
  RegistryFixture fixture;
  fixture.job("j1", 20);
  for (int n = 0; n < 20; ++n) {
    ASSERT_TRUE(fixture.join(0, 2, "g" + std::to_string(n)).ok());
  }
  const auto refused = fixture.join(0, 2, "more");
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("'g7'"), ::testing::Not(HasSubstr("'g8'")),
                                             ::testing::EndsWith(" and 12 more")));
}

TEST(Quota, a_job_may_have_none_at_all) {
  RegistryFixture fixture;
  fixture.job("j1", 0);
  EXPECT_THAT(fixture.join(0).error().message,
              StartsWith("01: job j1 may have no groups: its limit is 0"));
}

TEST(Quota, each_job_has_its_own) {
  RegistryFixture fixture;
  fixture.job("j1", 1);
  fixture.job("j2", 1);
  ASSERT_TRUE(fixture.join(0, 2, "a", "j1").ok());
  EXPECT_TRUE(fixture.join(0, 2, "a", "j2").ok());
  EXPECT_EQ(fixture.join(0, 2, "b", "j2").error().kind, group::ErrorKind::exhausted);
  EXPECT_TRUE(fixture.join(1, 2, "a", "j2").ok()) << "joining one that exists needs no quota";
}

TEST(Quota, a_job_that_names_none_has_the_default) {
  RegistryFixture fixture({.default_multicast_limit = 2});
  fixture.job();
  EXPECT_EQ(fixture->find_job("j1")->multicast_limit, 2U);
}

} // namespace
} // namespace tributary::test
