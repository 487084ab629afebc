// Switches behind which several hosts are quarantined.
#include "controlplane/retransmit/suspects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::retransmit::suspects_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = SuspectChange::Kind;

constexpr TimeNs start{1000 * ns_per_second};
constexpr SuspectSettings settings{};

std::vector<Kind> kinds(Suspects& suspects) {
  std::vector<Kind> all;
  for (const SuspectChange& change : suspects.take_changes()) {
    all.push_back(change.kind);
  }
  return all;
}

TEST(Suspects, two_quarantined_hosts_are_none_and_three_are_one) {
  Suspects suspects(settings);
  suspects.update({{"leaf0", {.quarantined = 2, .others = 4}}}, start);
  EXPECT_THAT(kinds(suspects), IsEmpty());
  suspects.update({{"leaf0", {.quarantined = 3, .others = 4}}}, start);
  EXPECT_THAT(kinds(suspects), ElementsAre(Kind::suspected));
  EXPECT_THAT(suspects.avoided(), IsEmpty()) << "four hosts would be cut off";
  EXPECT_EQ(suspects.next_deadline(), never);
  suspects.update({{"leaf0", {.quarantined = 3, .others = 4}}}, start);
  EXPECT_THAT(kinds(suspects), IsEmpty()) << "that is known";
  suspects.update({{"leaf0", {.quarantined = 2, .others = 5}}}, start);
  EXPECT_THAT(kinds(suspects), ElementsAre(Kind::cleared));
  EXPECT_THAT(suspects.all(), IsEmpty());
}

TEST(Suspects, one_that_no_host_behind_it_needs_is_avoided_and_tried_again) {
  Suspects suspects(settings);
  const std::map<std::string, Behind> behind{{"leaf0", {.quarantined = 4, .others = 0}}};
  suspects.update(behind, start);
  EXPECT_THAT(kinds(suspects), ElementsAre(Kind::suspected, Kind::avoided));
  EXPECT_THAT(suspects.avoided(), ElementsAre("leaf0"));
  suspects.poll(start + (settings.hold_ns - 1));
  EXPECT_THAT(kinds(suspects), IsEmpty());
  suspects.poll(start + settings.hold_ns);
  EXPECT_THAT(kinds(suspects), ElementsAre(Kind::tried_again));
  EXPECT_THAT(suspects.avoided(), IsEmpty());
  const TimeNs tried = start + settings.hold_ns + settings.trial_ns;
  EXPECT_EQ(suspects.next_deadline(), tried);
  suspects.update(behind, tried);
  suspects.poll(tried);
  EXPECT_THAT(kinds(suspects), ElementsAre(Kind::avoided));
  EXPECT_EQ(suspects.next_deadline(), tried + 2 * settings.hold_ns);
  suspects.update({}, tried);
  EXPECT_THAT(kinds(suspects), ElementsAre(Kind::cleared));
  EXPECT_THAT(suspects.avoided(), IsEmpty());
  EXPECT_EQ(suspects.next_deadline(), never);
}

TEST(Suspects, one_that_a_healthy_host_comes_to_is_not_avoided_any_more) {
  Suspects suspects(settings);
  suspects.update({{"leaf0", {.quarantined = 3, .others = 0}}}, start);
  ASSERT_THAT(suspects.avoided(), ElementsAre("leaf0"));
  suspects.update({{"leaf0", {.quarantined = 3, .others = 1}}}, start);
  EXPECT_THAT(suspects.avoided(), IsEmpty());
  EXPECT_EQ(suspects.next_deadline(), never);
}

TEST(Suspects, the_hold_grows_to_its_longest_and_no_further) {
  Suspects suspects(settings);
  suspects.update({{"leaf0", {.quarantined = 3, .others = 0}}}, start);
  for (int i = 0; i < 40; ++i) {
    suspects.poll(suspects.next_deadline());
  }
  EXPECT_EQ(suspects.all().at("leaf0").hold_ns, settings.longest_hold_ns);
}

TEST(Suspects, another_limit_holds_at_once) {
  Suspects suspects(settings);
  suspects.update({{"leaf0", {.quarantined = 3, .others = 4}}}, start);
  SuspectSettings higher = settings;
  higher.peers = 5;
  suspects.reconfigure(higher, start);
  EXPECT_THAT(suspects.all(), IsEmpty());
  suspects.reconfigure(settings, start);
  EXPECT_EQ(suspects.all().size(), 1U);
}

} // namespace
} // namespace tributary::retransmit::suspects_test
