// Jobs and their session tokens.
#include "controlplane/api/status.hpp"
#include "tests/unit/controlplane/group/registry_fixture.hpp"

#include <gmock/gmock.h>

#include <set>

namespace tributary::test {
namespace {

using ::testing::HasSubstr;

TEST(Jobs, a_new_one_has_a_token_of_its_own_and_is_on_disk) {
  RegistryFixture fixture;
  std::set<std::string> tokens;
  for (int n = 0; n < 100; ++n) {
    const auto job = fixture->create_job("job" + std::to_string(n), 4);
    ASSERT_TRUE(job.ok());
    EXPECT_EQ((*job)->token.size(), 64U);
    EXPECT_EQ((*job)->token.find_first_not_of("0123456789abcdef"), std::string::npos);
    tokens.insert((*job)->token);
    EXPECT_EQ(*fixture->job_of_token((*job)->token), *job);
  }
  EXPECT_EQ(tokens.size(), 100U);
  fixture.act();
  EXPECT_EQ(fixture.disk().jobs.size(), 100U);
  EXPECT_EQ(fixture.disk().jobs[0].token, fixture->find_job("job0")->token);
}

TEST(Jobs, the_same_name_twice_is_refused) {
  RegistryFixture fixture;
  fixture.job();
  EXPECT_EQ(fixture->create_job("j1", 1).error().kind, group::ErrorKind::conflict);
}

TEST(Jobs, tokens_that_are_unknown_and_those_of_a_job_that_ended_are_distinguished) {
  RegistryFixture fixture;
  fixture.job();
  const std::string token = fixture->find_job("j1")->token;
  EXPECT_THAT(fixture->job_of_token("").error().message, HasSubstr("unknown"));
  EXPECT_THAT(fixture->job_of_token(std::string(64, '0')).error().message, HasSubstr("unknown"));
  ASSERT_TRUE(fixture->delete_job("j1", fixture.now).ok());
  const auto expired = fixture->job_of_token(token);
  ASSERT_FALSE(expired.ok());
  EXPECT_EQ(expired.error().kind, group::ErrorKind::unknown_token);
  EXPECT_THAT(expired.error().message, HasSubstr("has expired: job j1"));
}

TEST(Jobs, with_a_list_of_hosts_bring_no_others_into_a_group) {
  RegistryFixture fixture;
  fixture.hosts(1, 4);
  ASSERT_TRUE(fixture->create_job("j1", 4, {.hosts = {{Nid{2}, Nid{1}, Nid{2}}}, .vnis = {}}).ok());
  fixture.job("j2");
  for (int restarted = 0; restarted < 2; ++restarted) {
    EXPECT_TRUE(fixture.join(0, 3).ok());
    const auto foreign = fixture->join(request_to_join(1, 3, 3), fixture.now);
    ASSERT_FALSE(foreign.ok());
    EXPECT_EQ(foreign.error().kind, group::ErrorKind::forbidden);
    EXPECT_THAT(foreign.error().message, HasSubstr("NID 3 is not one of the 2 hosts"));
    const auto multicast = fixture->create_multicast(
        {.job = "j1", .step = "0", .members = {Nid{1}, Nid{4}}, .vni = Vni{9}}, fixture.now);
    ASSERT_FALSE(multicast.ok());
    EXPECT_EQ(multicast.error().kind, group::ErrorKind::forbidden);
    EXPECT_TRUE(fixture.join(3, 5, "other", "j2").ok()) << "j2 may use any";
    fixture.act();
    fixture.restart();
    fixture.hosts(1, 4);
  }
  const auto alone = fixture->join(request_to_join(0, 3, 3, "another"), fixture.now);
  EXPECT_FALSE(alone.ok());
  EXPECT_EQ(fixture->find("j1", "another"), nullptr) << "a refused join leaves no group behind";
}

TEST(Jobs, with_a_list_of_vnis_have_them_before_any_other_job) {
  RegistryFixture fixture;
  fixture.hosts(1, 4);
  ASSERT_TRUE(fixture->create_job("j1", 4, {.hosts = {}, .vnis = {{Vni{2000}, Vni{77}}}}).ok());
  fixture.job("j2");
  const auto bring = [&](const char* job, std::uint16_t vni) {
    const auto made = fixture->create_multicast(
        {.job = job, .step = "0", .members = {Nid{1}, Nid{2}}, .vni = Vni{vni}}, fixture.now);
    return made.ok() ? 201U : api::status_of(made.error().kind);
  };
  for (int restarted = 0; restarted < 2; ++restarted) {
    EXPECT_EQ(bring("j2", 2000), 403U) << "it is j1's, which has not used it yet";
    EXPECT_EQ(bring("j1", 1500), 403U) << "not among its own";
    EXPECT_EQ((*fixture.join(2, 9))->vni, Vni{77}) << "its own groups have the first of its list";
    const auto taken = fixture->create_job("j3", 4, {.hosts = {}, .vnis = {{Vni{77}}}});
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().kind, group::ErrorKind::conflict);
    EXPECT_THAT(taken.error().message, HasSubstr("VNI 77 belongs to job j1"));
    EXPECT_EQ(fixture->find_job("j3"), nullptr);
    fixture.act();
    fixture.restart();
    fixture.hosts(1, 4);
  }
  EXPECT_EQ(bring("j1", 2000), 201U);
}

TEST(Jobs, leave_their_vnis_to_the_next) {
  RegistryFixture fixture;
  fixture.hosts(1, 4);
  ASSERT_TRUE(fixture->create_job("j1", 4, {.hosts = {}, .vnis = {{Vni{2000}}}}).ok());
  ASSERT_TRUE(fixture.join(0, 2).ok());
  ASSERT_TRUE(fixture->delete_job("j1", fixture.now).ok());
  fixture.act();
  EXPECT_EQ(fixture->find("j1", "demo"), nullptr);
  ASSERT_TRUE(fixture->create_job("j2", 4, {.hosts = {}, .vnis = {{Vni{2000}}}}).ok());
  EXPECT_TRUE(fixture
                  ->create_multicast(
                      {.job = "j2", .step = "0", .members = {Nid{1}, Nid{2}}, .vni = Vni{2000}},
                      fixture.now)
                  .ok());
}

TEST(Jobs, whose_limit_changes_have_the_new_one_after_a_restart_too) {
  RegistryFixture fixture;
  fixture.job("j1", 1);
  ASSERT_TRUE(fixture.join(0, 3, "a").ok());
  EXPECT_EQ(fixture.join(0, 3, "b").error().kind, group::ErrorKind::exhausted);
  ASSERT_TRUE(fixture->set_limit("j1", 2).ok());
  EXPECT_TRUE(fixture.join(0, 3, "b").ok());
  ASSERT_TRUE(fixture->set_limit("j1", 1).ok());
  fixture.act();
  fixture.restart();
  EXPECT_EQ(fixture->find_job("j1")->multicast_limit, 1U);
  EXPECT_EQ(fixture->groups().size(), 2U) << "those there are go on";
  EXPECT_EQ(fixture.join(0, 3, "c").error().kind, group::ErrorKind::exhausted);
  EXPECT_EQ(fixture->set_limit("nobody", 1).error().kind, group::ErrorKind::not_found);
}

TEST(Jobs, of_very_many_that_ended_the_first_are_forgotten) {
  RegistryFixture fixture;
  std::vector<std::string> tokens;
  for (int n = 0; n < 1'100; ++n) {
    const std::string id = "job" + std::to_string(n);
    tokens.push_back((*fixture->create_job(id, 1))->token);
    ASSERT_TRUE(fixture->delete_job(id, fixture.now).ok());
  }
  EXPECT_THAT(fixture->job_of_token(tokens.front()).error().message, HasSubstr("unknown"));
  EXPECT_THAT(fixture->job_of_token(tokens.back()).error().message, HasSubstr("has expired"));
}

TEST(Jobs, one_that_is_deleted_is_gone_when_its_groups_are) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  ASSERT_TRUE(fixture.join(0, 2, "waiting").ok());
  fixture.act();
  const auto ended = fixture->delete_job("j1", fixture.now);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(*ended, 2U);
  EXPECT_EQ(fixture->find_job("j1"), nullptr);
  EXPECT_EQ(fixture.join(1, 2, "waiting").error().kind, group::ErrorKind::not_found);
  const auto again = fixture->create_job("j1", 1);
  EXPECT_EQ(again.error().kind, group::ErrorKind::conflict);
  EXPECT_THAT(again.error().message, HasSubstr("1 group still to be removed"));
  EXPECT_EQ(fixture->delete_job("j1", fixture.now).error().kind, group::ErrorKind::not_found);
  EXPECT_EQ(fixture.act().size(), 2U) << "one Gone, one Remove";
  EXPECT_TRUE(fixture.disk().jobs.at(0).deleting);

  fixture->removed(id, fixture.now);
  EXPECT_TRUE(fixture->jobs().empty());
  fixture.act();
  EXPECT_TRUE(fixture.disk().jobs.empty());
  EXPECT_TRUE(fixture->create_job("j1", 1).ok());
}

TEST(Jobs, a_deleted_job_goes_on_ending_after_a_restart) {
  RegistryFixture fixture;
  fixture.job();
  const std::string token = fixture->find_job("j1")->token;
  const GroupId id = fixture.ready();
  ASSERT_TRUE(fixture->delete_job("j1", fixture.now).ok());
  fixture.act();
  fixture.restart();
  EXPECT_EQ(fixture->find_job("j1"), nullptr);
  EXPECT_FALSE(fixture->job_of_token(token).ok());
  EXPECT_EQ(fixture.expect<group::Remove>().group, id);
  fixture->removed(id, fixture.now);
  fixture.act();
  EXPECT_TRUE(fixture.disk().jobs.empty());
}

TEST(Jobs, may_have_their_vni_at_once_and_keep_it) {
  group::Settings one_vni;
  one_vni.first_vni = one_vni.last_vni = Vni{2000};
  RegistryFixture fixture(one_vni);
  const auto job = fixture->create_job("j1", 4, {std::nullopt, std::nullopt, true});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ((*job)->vni, Vni{2000});
  const auto refused = fixture->create_job("j2", 4, {std::nullopt, std::nullopt, true});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::exhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("no VNI is left for job j2"));
  EXPECT_EQ(fixture->find_job("j2"), nullptr) << "it is not there without";
  EXPECT_EQ(fixture->create_job("j1", 4, {std::nullopt, std::nullopt, true}).error().kind,
            group::ErrorKind::conflict);
  fixture.act();
  fixture.restart();
  EXPECT_EQ(fixture->find_job("j1")->vni, Vni{2000});
  fixture.hosts(1, 1);
  EXPECT_EQ((*fixture.join(0, 1))->vni, Vni{2000}) << "its groups have the same";
  const auto own = fixture->create_job("j3", 4, {std::nullopt, {{Vni{9}}}, true});
  ASSERT_TRUE(own.ok());
  EXPECT_FALSE((*own)->vni) << "who brings some is given none";
}

TEST(Jobs, tokens_are_the_same_after_a_restart) {
  RegistryFixture fixture;
  fixture.job();
  const std::string token = fixture->find_job("j1")->token;
  fixture.act();
  fixture.restart();
  ASSERT_TRUE(fixture->job_of_token(token).ok());
  EXPECT_EQ((*fixture->job_of_token(token))->id, "j1");
}

} // namespace
} // namespace tributary::test
