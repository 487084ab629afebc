// The retransmit policy as people set it: the policy in force for each, and refusals with their
// messages.
#include "controlplane/retransmit/policy_document.hpp"

#include "lib/rdma_policy/policy_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tributary::retransmit::policy_document_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Vni vni{1024};

std::string set_one(PolicyDocument& document, Scope scope, std::string field, std::uint64_t value) {
  return document.set(scope, std::array{Setting{std::move(field), value}});
}

TEST(PolicyDocument, without_anything_set_it_is_what_hosts_have_built_in) {
  const PolicyDocument document(7);
  EXPECT_EQ(document.of(std::nullopt), Policy{});
  EXPECT_EQ(document.of(vni), Policy{});
  EXPECT_EQ(document.version(), 7U);
}

TEST(PolicyDocument, every_field_takes_its_bounds_and_nothing_beyond) {
  for (const rdma_policy::PolicyField& field : rdma_policy::policy_fields) {
    Policy policy;
    for (const std::uint64_t value : {field.least, field.most}) {
      field.set(policy, value);
      EXPECT_EQ(field.get(policy), value) << field.name << " is narrower than its bounds";
    }
    PolicyDocument document(1);
    EXPECT_THAT(set_one(document, vni, std::string(field.name), field.most + 1),
                HasSubstr(std::string(field.name)));
    EXPECT_EQ(document.version(), 1U);
    EXPECT_GE(field.get(Policy{}), field.least) << field.name;
    EXPECT_LE(field.get(Policy{}), field.most) << field.name;
  }
}

TEST(PolicyDocument, a_vni_has_its_own_and_the_others_what_is_set_for_all) {
  PolicyDocument document(1);
  EXPECT_EQ(set_one(document, std::nullopt, "window", 512), "");
  EXPECT_EQ(set_one(document, vni, "window", 256), "");
  EXPECT_EQ(set_one(document, vni, "spraying", 1), "");
  EXPECT_EQ(document.of(vni).window, 256U);
  EXPECT_TRUE(document.of(vni).spraying);
  EXPECT_EQ(document.of(Vni{1025}).window, 512U);
  EXPECT_FALSE(document.of(Vni{1025}).spraying);
  EXPECT_EQ(document.version(), 4U);
  EXPECT_EQ(set_one(document, vni, "window", 256), "");
  EXPECT_EQ(document.version(), 4U) << "nothing has changed";
  EXPECT_THAT(document.vnis(), ElementsAre(vni));
}

TEST(PolicyDocument, what_is_reset_is_as_it_was_before) {
  PolicyDocument document(1);
  ASSERT_EQ(set_one(document, std::nullopt, "window", 512), "");
  ASSERT_EQ(set_one(document, vni, "window", 256), "");
  ASSERT_EQ(set_one(document, vni, "restarts", 3), "");
  std::vector<std::string> erased;
  const std::vector<std::string> window{"window"};
  EXPECT_EQ(document.reset(vni, window, erased), "");
  EXPECT_THAT(erased, ElementsAre("window"));
  EXPECT_EQ(document.of(vni).window, 512U);
  EXPECT_EQ(document.reset(vni, {}, erased), "");
  EXPECT_THAT(erased, ElementsAre("restarts"));
  EXPECT_THAT(document.vnis(), IsEmpty());
  EXPECT_EQ(document.reset(vni, {}, erased), "");
  EXPECT_THAT(erased, IsEmpty());
  const std::vector<std::string> unknown{"windows"};
  EXPECT_THAT(document.reset(vni, unknown, erased), HasSubstr("no field \"windows\""));
}

TEST(PolicyDocument, what_makes_no_sense_together_changes_nothing_and_says_which_vni) {
  PolicyDocument document(1);
  ASSERT_EQ(set_one(document, vni, "initial_timeout_ns", 300'000), "");
  const std::array both{Setting{"least_timeout_ns", 400'000}, Setting{"window", 128}};
  const std::string problem = document.set(std::nullopt, both);
  EXPECT_THAT(problem, HasSubstr("VNI 1024"));
  EXPECT_THAT(problem, HasSubstr("time-out 300000 ns, from 400000"));
  EXPECT_EQ(document.of(std::nullopt), Policy{});
  EXPECT_THAT(set_one(document, vni, "window", 200), HasSubstr("not 128, 256, 512 or 1024"));
}

TEST(PolicyDocument, a_reset_that_leaves_a_policy_without_sense_is_refused) {
  PolicyDocument document(1);
  const std::array both{Setting{"initial_timeout_ns", 50'000}, Setting{"least_timeout_ns", 20'000}};
  ASSERT_EQ(document.set(vni, both), "");
  std::vector<std::string> erased;
  const std::vector<std::string> least{"least_timeout_ns"};
  EXPECT_THAT(document.reset(vni, least, erased), HasSubstr("time-out"));
  EXPECT_THAT(erased, IsEmpty());
  EXPECT_EQ(document.of(vni).least_timeout_ns, 20'000U);
}

TEST(PolicyDocument, the_file_stands_below_what_was_set_and_a_reload_takes_its_place) {
  PolicyDocument document(1);
  const std::vector<std::string> file{"window=512", "1024/initial_timeout_ns=2ms",
                                      "1024/spraying=on"};
  ASSERT_EQ(document.configure(file), "");
  EXPECT_EQ(document.of(vni).window, 512U);
  EXPECT_EQ(document.of(vni).initial_timeout_ns, 2'000'000U);
  EXPECT_TRUE(document.of(vni).spraying);
  EXPECT_EQ(document.version(), 2U);
  EXPECT_EQ(document.configure(file), "");
  EXPECT_EQ(document.version(), 2U);
  ASSERT_EQ(set_one(document, vni, "window", 128), "");
  ASSERT_EQ(document.configure({}), "");
  EXPECT_EQ(document.of(vni).window, 128U);
  EXPECT_FALSE(document.of(vni).spraying);
  EXPECT_TRUE(document.differences().contains(vni));
}

TEST(PolicyDocument, a_line_of_the_file_that_is_wrong_is_named) {
  const auto problem = [](std::string line) {
    PolicyDocument document(1);
    const std::vector<std::string> lines{std::move(line)};
    std::string error = document.configure(lines);
    EXPECT_EQ(document.version(), 1U);
    return error;
  };
  EXPECT_THAT(problem("window"), HasSubstr("FIELD=VALUE"));
  EXPECT_THAT(problem("x/window=512"), HasSubstr("must be a VNI"));
  EXPECT_THAT(problem("70000/window=512"), HasSubstr("must be a VNI"));
  EXPECT_THAT(problem("wnidow=512"), HasSubstr("no field \"wnidow\""));
  EXPECT_THAT(problem("window=-1"), HasSubstr("window must be 128 to 1024, not \"-1\""));
  EXPECT_THAT(problem("window=512ms"), HasSubstr("window must be"));
  EXPECT_THAT(problem("spraying=perhaps"), HasSubstr("spraying must be on or off"));
  EXPECT_THAT(problem("finished_ns=1h"), HasSubstr("finished_ns must be"));
  EXPECT_THAT(problem("finished_ns=99999999999999999s"), HasSubstr("finished_ns must be"));
}

TEST(PolicyDocument, what_was_stored_is_restored_together_and_what_is_unknown_is_left_out) {
  PolicyDocument document(1);
  const auto left_out = document.restore(
      {{std::nullopt, {{"initial_timeout_ns", 50'000}, {"least_timeout_ns", 20'000}}},
       {vni, {{"window", 256}, {"colour", 3}}}});
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_THAT(left_out[0], HasSubstr("colour"));
  EXPECT_EQ(document.of(vni).window, 256U);
  EXPECT_EQ(document.of(vni).initial_timeout_ns, 50'000U);
}

TEST(PolicyDocument, the_number_of_vnis_with_their_own_is_bounded) {
  PolicyDocument document(1);
  PolicyDocument::Settings window{{"window", 256}};
  std::map<Scope, PolicyDocument::Settings> stored;
  for (std::uint16_t i = 0; i < 200; ++i) {
    stored[Vni{i}] = window;
  }
  EXPECT_THAT(document.restore(stored), IsEmpty());
  EXPECT_EQ(document.vnis().size(), 200U);
}

} // namespace
} // namespace tributary::retransmit::policy_document_test
