// Managers that must not change a switch: one with an empty store, one on a back-up, one on a copy
// of the store. Groups reduce on, nothing is removed, and the operator's agreement ends it.
#include "tests/fabric/managed/managed_groups.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace tributary::fabric {
namespace two_managers_test {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t s = 1'000'000'000;
constexpr std::uint64_t ours = 0xFAB;
constexpr std::uint64_t theirs = 0xBAD;

ManagedOptions options_that_reject() {
  ManagedOptions options = patient_options();
  options.may_reject = true;
  return options;
}

class TwoManagers : public testing::TestWithParam<std::uint64_t> {
protected:
  static constexpr std::uint64_t pieces = 4000;

  TwoManagers() { // a group that reduces for longer than everything below takes
    std::vector<HostIndex> hosts(8);
    std::iota(hosts.begin(), hosts.end(), 0);
    group = &groups.join("demo", hosts, pieces, 1, 500'000);
  }
  void SetUp() override {
    ASSERT_TRUE(managed.run_until([&] { return reduced() > 10; }, 60 * s)) << group->error;
    ASSERT_TRUE(managed.run_until([&] { return managed.all_connected(); }, 10 * s));
  }
  [[nodiscard]] std::uint64_t reduced() const {
    return group->group == nullptr ? 0 : group->group->pieces_complete_everywhere();
  }
  /// Trees of the manager in all switches.
  [[nodiscard]] std::size_t trees() {
    std::size_t count = 0;
    for (SwitchIndex sw = 0; sw < switches; ++sw) {
      count += managed.agent_of(sw).status().trees_of_manager;
    }
    return count;
  }
  [[nodiscard]] bool is_any_welcomed() {
    for (SwitchIndex sw = 0; sw < switches; ++sw) {
      if (managed.agent_of(sw).is_welcomed()) {
        return true;
      }
    }
    return false;
  }
  /// The group continues, and no switch takes anything.
  void expect_nothing_changes_for(std::uint64_t ns) {
    const std::uint64_t before = reduced();
    const std::size_t held = trees();
    ASSERT_GT(held, 0U);
    managed.run_for(ns);
    EXPECT_FALSE(is_any_welcomed());
    EXPECT_EQ(trees(), held);
    EXPECT_GT(reduced(), before + 10) << "the group stands still";
    EXPECT_THAT(managed.fabric().violations(), IsEmpty());
  }
  void expect_agreement() {
    ASSERT_TRUE(managed.run_until([&] { return managed.all_connected(); }, 10 * s));
    managed.run_for(5 * s);
    EXPECT_THAT(managed.disagreements(), IsEmpty());
  }

  static constexpr SwitchIndex switches = 6;
  ManagedFabric managed{leaves_and_spines(4, 2, 4), options_that_reject(), GetParam()};
  ManagedGroups groups{managed, GetParam()};
  ManagedGroup* group = nullptr;
};

TEST_P(TwoManagers, one_with_an_empty_store_removes_nothing_before_the_operator_agrees) {
  managed.kill_manager();
  managed.start_manager(StoredPast(theirs));
  expect_nothing_changes_for(200 * ms);
  EXPECT_THAT(managed.rejections(), Contains(HasSubstr("belongs to fabric 0000000000000fab")));
  EXPECT_EQ(managed.adopt(theirs), 409U) << "that is its own";
  EXPECT_EQ(managed.adopt(0xC), 404U);
  EXPECT_EQ(managed.adopt(ours), 200U);
  expect_agreement();
  EXPECT_EQ(trees(), 0U) << "it knows of no group";
}

TEST_P(TwoManagers, one_on_a_back_up_removes_nothing_before_the_operator_agrees) {
  StoredPast back_up; // of a time before the group
  static_cast<void>(back_up.load());
  for (int start = 0; start < 2; ++start) {
    managed.kill_manager();
    managed.start_manager();
    ASSERT_TRUE(managed.run_until([&] { return managed.all_connected(); }, 10 * s));
  }
  managed.kill_manager();
  managed.start_manager(back_up);
  expect_nothing_changes_for(200 * ms);
  EXPECT_THAT(managed.rejections(), Contains(HasSubstr("with epoch 3, and this manager's is 2")));
  EXPECT_EQ(managed.adopt(ours), 200U);
  expect_agreement();
  EXPECT_EQ(trees(), 0U);
}

TEST_P(TwoManagers, one_on_a_copy_of_the_store_changes_nothing_and_after_it_the_right_one_leads) {
  const StoredPast copy = managed.past();
  managed.kill_manager();
  managed.start_manager();
  ASSERT_TRUE(managed.run_until([&] { return managed.all_connected(); }, 10 * s));
  const StoredPast real = managed.past();
  managed.kill_manager();
  managed.start_manager(copy); // with the epoch that the other one has
  expect_nothing_changes_for(200 * ms);
  EXPECT_THAT(managed.rejections(), Contains(HasSubstr("with the same epoch")));
  managed.kill_manager();
  managed.start_manager(real);
  expect_agreement();
  EXPECT_GT(trees(), 0U) << "it knows the group";
  ASSERT_TRUE(managed.run_until([&] { return group->over(); }, 60 * s));
}

TEST_P(TwoManagers, a_newer_manager_takes_over_and_the_old_one_does_not_come_back) {
  const StoredPast old = managed.past();
  for (int start = 0; start < 3; ++start) {
    managed.kill_manager();
    managed.start_manager();
    ASSERT_TRUE(managed.run_until([&] { return managed.all_connected(); }, 10 * s));
  }
  const StoredPast real = managed.past();
  managed.kill_manager();
  managed.start_manager(old);
  expect_nothing_changes_for(100 * ms);
  managed.kill_manager();
  managed.start_manager(real);
  expect_agreement();
  ASSERT_TRUE(managed.run_until([&] { return group->over(); }, 60 * s));
}

/// Managers on any past, in any order, while switches restart and channels break: an epoch that a
/// switch has accepted never falls, and a tree that reduces is never taken.
TEST_P(TwoManagers, epochs_in_switches_never_fall_whatever_starts) {
  Random random = Random(GetParam()).fork(9);
  std::vector<StoredPast> pasts{managed.past()};
  StoredPast real = managed.past();
  std::map<SwitchIndex, Leader> seen;
  for (int step = 0; step < 60; ++step) {
    managed.kill_manager();
    const std::uint64_t choice = random.below(4);
    if (choice < 2) {
      managed.start_manager(real);
      managed.run_for(30 * ms);
      if (!managed.all_connected()) { // another one has started on a copy
        static_cast<void>(managed.adopt(ours));
        managed.run_for(60 * ms);
      }
      real = managed.past();
      pasts.push_back(real);
    } else if (choice == 2) {
      managed.start_manager(pasts[random.below(pasts.size())]);
    } else {
      managed.start_manager(StoredPast(theirs + random.below(2)));
    }
    managed.break_channel(static_cast<SwitchIndex>(random.below(switches)));
    managed.run_for(30 * ms);
    for (SwitchIndex sw = 0; sw < switches; ++sw) {
      const Leader now = managed.agent_of(sw).status().leader;
      Leader& before = seen[sw];
      ASSERT_TRUE(before.fabric == 0 || (now.fabric == ours && now.epoch >= before.epoch))
          << "step " << step << ": " << now.epoch << " after " << before.epoch;
      before = now;
    }
    ASSERT_GT(trees(), 0U) << "step " << step;
  }
  EXPECT_THAT(managed.fabric().violations(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, TwoManagers, testing::Range<std::uint64_t>(1, 6));

} // namespace two_managers_test
} // namespace tributary::fabric
