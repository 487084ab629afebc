// Jobs and their session tokens.
#include "tests/unit/group/office.hpp"

#include <gmock/gmock.h>

#include <set>

namespace tributary::test {
namespace {

using ::testing::HasSubstr;

TEST(Jobs, a_new_one_has_a_token_of_its_own_and_is_on_disk) {
  Office office;
  std::set<std::string> tokens;
  for (int n = 0; n < 100; ++n) {
    const auto job = office->create_job("job" + std::to_string(n), 4);
    ASSERT_TRUE(job.ok());
    EXPECT_EQ((*job)->token.size(), 64U);
    EXPECT_EQ((*job)->token.find_first_not_of("0123456789abcdef"), std::string::npos);
    tokens.insert((*job)->token);
    EXPECT_EQ(*office->job_of_token((*job)->token), *job);
  }
  EXPECT_EQ(tokens.size(), 100U);
  office.act();
  EXPECT_EQ(office.disk().jobs.size(), 100U);
  EXPECT_EQ(office.disk().jobs[0].token, office->find_job("job0")->token);
}

TEST(Jobs, the_same_name_twice_is_refused) {
  Office office;
  office.job();
  EXPECT_EQ(office->create_job("j1", 1).refusal().status, 409U);
}

TEST(Jobs, tokens_that_are_unknown_or_of_a_job_that_ended_are_told_apart) {
  Office office;
  office.job();
  const std::string token = office->find_job("j1")->token;
  EXPECT_THAT(office->job_of_token("").refusal().message, HasSubstr("not known"));
  EXPECT_THAT(office->job_of_token(std::string(64, '0')).refusal().message, HasSubstr("not known"));
  ASSERT_TRUE(office->delete_job("j1", office.now).ok());
  const auto expired = office->job_of_token(token);
  ASSERT_FALSE(expired.ok());
  EXPECT_EQ(expired.refusal().status, 401U);
  EXPECT_THAT(expired.refusal().message, HasSubstr("has expired: job j1"));
}

TEST(Jobs, of_very_many_that_ended_the_first_are_forgotten) {
  Office office;
  std::vector<std::string> tokens;
  for (int n = 0; n < 1'100; ++n) {
    const std::string id = "job" + std::to_string(n);
    tokens.push_back((*office->create_job(id, 1))->token);
    ASSERT_TRUE(office->delete_job(id, office.now).ok());
  }
  EXPECT_THAT(office->job_of_token(tokens.front()).refusal().message, HasSubstr("not known"));
  EXPECT_THAT(office->job_of_token(tokens.back()).refusal().message, HasSubstr("has expired"));
}

TEST(Jobs, one_that_is_deleted_is_gone_when_its_groups_are) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  ASSERT_TRUE(office.join(0, 2, "waiting").ok());
  office.act();
  const auto ended = office->delete_job("j1", office.now);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(*ended, 2U);
  EXPECT_EQ(office->find_job("j1"), nullptr);
  EXPECT_EQ(office.join(1, 2, "waiting").refusal().status, 404U);
  const auto again = office->create_job("j1", 1);
  EXPECT_EQ(again.refusal().status, 409U);
  EXPECT_THAT(again.refusal().message, HasSubstr("1 group still to be removed"));
  EXPECT_EQ(office->delete_job("j1", office.now).refusal().status, 404U);
  EXPECT_EQ(office.act().size(), 2U) << "one Gone, one Remove";
  EXPECT_TRUE(office.disk().jobs.at(0).ending);

  office->removed(id, office.now);
  EXPECT_TRUE(office->jobs().empty());
  office.act();
  EXPECT_TRUE(office.disk().jobs.empty());
  EXPECT_TRUE(office->create_job("j1", 1).ok());
}

TEST(Jobs, a_deleted_job_goes_on_ending_after_a_restart) {
  Office office;
  office.job();
  const std::string token = office->find_job("j1")->token;
  const GroupId id = office.ready();
  ASSERT_TRUE(office->delete_job("j1", office.now).ok());
  office.act();
  office.restart();
  EXPECT_EQ(office->find_job("j1"), nullptr);
  EXPECT_FALSE(office->job_of_token(token).ok());
  EXPECT_EQ(office.expect<group::Remove>().group, id);
  office->removed(id, office.now);
  office.act();
  EXPECT_TRUE(office.disk().jobs.empty());
}

TEST(Jobs, tokens_are_the_same_after_a_restart) {
  Office office;
  office.job();
  const std::string token = office->find_job("j1")->token;
  office.act();
  office.restart();
  ASSERT_TRUE(office->job_of_token(token).ok());
  EXPECT_EQ((*office->job_of_token(token))->id, "j1");
}

} // namespace
} // namespace tributary::test
