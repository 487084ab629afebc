// The trees that a process keeps for its node: what it does where the fabric manager has no group
// left. One node at one end of a veth pair, and a manager that the test simulates.
#include "endpoint/mpi/intra_node/trees.hpp"

#include "fake_manager.hpp"
#include "tests/support/eventually.hpp"
#include "tests/unit/endpoint/library/group_record.hpp"
#include "tests/unit/lib/link/pair_test.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tributary::mpi::intra_node::test {
namespace {

using contexts::Context;
using contexts::IdRange;
using contexts::NodeSet;
using contexts::NodeTable;
using contexts::Outcome;
using contexts::Partition;
using contexts::TreeName;
using library::test::GroupRecord;
using manager_client::test::FakeManager;
using manager_client::test::FakeRequest;
using manager_client::test::FakeResponse;
using tributary::test::eventually;

constexpr NodeSet nodes{9};
constexpr contexts::ProcessId me{7};
constexpr IdRange some_ids{ReductionId{64}, 8};
constexpr std::array<std::uint16_t, 3> first_three = {1, 2, 3};

/// Has a number of groups for all jobs.
class LimitedManager {
public:
  explicit LimitedManager(std::size_t most) : most_(most) {
    ::setenv("TRIBUTARY_FABRIC_MANAGER_URL", manager_.url().c_str(), 1);
    ::setenv("TRIBUTARY_FABRIC_MANAGER_TOKEN", "", 1);
  }
  ~LimitedManager() {
    ::unsetenv("TRIBUTARY_FABRIC_MANAGER_URL");
    ::unsetenv("TRIBUTARY_FABRIC_MANAGER_TOKEN");
  }
  LimitedManager(const LimitedManager&) = delete;
  LimitedManager& operator=(const LimitedManager&) = delete;

  /// Those with members.
  [[nodiscard]] std::set<std::string> groups() {
    const std::lock_guard lock(mutex_);
    return live();
  }
  [[nodiscard]] std::uint64_t refusals() {
    const std::lock_guard lock(mutex_);
    return refusals_;
  }

private:
  [[nodiscard]] std::set<std::string> live() {
    std::set<std::string> names;
    for (const auto& [name, record] : records_) {
      if (record.members() > 0) {
        names.insert(name);
      }
    }
    return names;
  }
  FakeResponse answer(const FakeRequest& request) {
    const std::lock_guard lock(mutex_);
    const std::string name = GroupRecord::name_in(request.target);
    const auto [at, is_new] = records_.try_emplace(name);
    if (is_new) {
      at->second.give({.lease_seconds = 60, .slots = 128, .payload = 1408});
    }
    const std::set<std::string> names = live();
    if (request.method == "POST" && names.size() >= most_ && !names.contains(name)) {
      ++refusals_;
      return {.status = 507, .body = R"({"message": "01: job j1 has all its groups"})"};
    }
    return at->second.handler()(request);
  }

  std::mutex mutex_;
  std::size_t most_;
  std::uint64_t refusals_ = 0;
  std::map<std::string, GroupRecord> records_;
  FakeManager manager_{[this](const FakeRequest& request) { return answer(request); }};
};

class TreeRoomTest : public link::test::PairTest {
protected:
  void SetUp() override {
    PairTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    manager.emplace(3);
    trees.emplace(MemberSettings{.interface = "left", .join_limit = std::chrono::seconds(10)});
    trees->open(me, 0);
    pool = *trees->table().lock()->open(nodes);
  }
  void TearDown() override {
    trees.reset();
    manager.reset();
    PairTest::TearDown();
  }

  /// An agreement has asked for the tree of this number, at an entry of its own. The error if it is
  /// refused.
  std::optional<NoGroup> ask_for(std::uint16_t number) {
    const Outcome::Wanted wanted{TreeName{number}, number};
    EXPECT_TRUE(trees->table().lock()->assign(pool, number, wanted.name, me));
    trees->want(std::array{wanted}, {.place = 0, .nodes = 1}, nodes);
    try {
      trees->wait_for(wanted.name);
    } catch (const NoGroup& error) {
      return error;
    }
    return std::nullopt;
  }
  Context use(std::uint16_t number) {
    EXPECT_TRUE(trees->table().lock()->take(pool, number, Partition(128).parts_of(some_ids), me,
                                            Cookie{number}));
    return {nodes, TreeName{number}, some_ids, Cookie{number}};
  }
  void release(const Context& context) { EXPECT_TRUE(trees->table().lock()->release(me, context)); }
  [[nodiscard]] bool has(std::uint16_t number) {
    return trees->table().lock()->find(TreeName{number}) != nullptr;
  }
  static std::string name_of(std::uint16_t number) {
    return std::string("mpi-000000000000000") + static_cast<char>('0' + number);
  }
  static std::set<std::string> names_of(const std::set<std::uint16_t>& numbers) {
    std::set<std::string> names;
    for (const std::uint16_t number : numbers) {
      names.insert(name_of(number));
    }
    return names;
  }

  std::optional<LimitedManager> manager;
  std::optional<Trees> trees;
  NodeTable::PoolNumber pool = 0;
};

TEST_F(TreeRoomTest, WhereTheManagerHasNoGroupLeftTheTreeThatWasNotUsedForLongestMakesRoom) {
  for (const std::uint16_t number : first_three) {
    ASSERT_FALSE(ask_for(number));
  }
  const Context of_first = use(1);
  release(use(2)); // so 3 was not used for longest, and 1 is in use
  EXPECT_FALSE(ask_for(4));
  EXPECT_EQ(manager->refusals(), 1U);
  EXPECT_EQ(manager->groups(), names_of({1, 2, 4}));
  EXPECT_FALSE(has(3));
  release(of_first); // later than 2
  EXPECT_FALSE(ask_for(5));
  EXPECT_EQ(manager->groups(), names_of({1, 4, 5}));
  EXPECT_FALSE(has(2));
  trees->leave_all();
  EXPECT_EQ(manager->groups(), names_of({}));
}

TEST_F(TreeRoomTest, TreesInUseMakeNoRoomAndTheRefusalHasTheManagersReason) {
  for (const std::uint16_t number : first_three) {
    ASSERT_FALSE(ask_for(number));
    use(number);
  }
  const std::optional<NoGroup> refused = ask_for(4);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->cause(), Refusal::manager_refused);
  EXPECT_NE(std::string(refused->what()).find("01: job j1 has all its groups"), std::string::npos)
      << refused->what();
  EXPECT_EQ(manager->groups(), names_of({1, 2, 3}));
  EXPECT_FALSE(has(4)) << "its entry is vacant";
}

TEST_F(TreeRoomTest, WhileAnAgreementMayHaveOfferedThemTreesMakeNoRoom) {
  for (const std::uint16_t number : first_three) {
    ASSERT_FALSE(ask_for(number));
  }
  const contexts::AgreementId agreement{me, {Cookie{1}, 0}};
  ASSERT_TRUE(trees->table().lock()->take_reserve(pool, agreement));
  EXPECT_TRUE(ask_for(4));
  EXPECT_EQ(manager->groups(), names_of({1, 2, 3}));
  trees->table().lock()->end(pool, agreement);
  EXPECT_FALSE(ask_for(5));
  EXPECT_EQ(manager->groups(), names_of({2, 3, 5}));
}

TEST_F(TreeRoomTest, WhenTheProgramEndsNoTreeMakesRoom) {
  for (const std::uint16_t number : first_three) {
    ASSERT_FALSE(ask_for(number));
  }
  trees->make_no_room();
  EXPECT_TRUE(ask_for(4));
  EXPECT_EQ(manager->groups(), names_of({1, 2, 3}));
}

TEST_F(TreeRoomTest, ATreeThatAnotherProcessRetiredIsLeftByItsKeeper) {
  ASSERT_FALSE(ask_for(1));
  ASSERT_TRUE(trees->table().lock()->retire(TreeName{1}));
  EXPECT_TRUE(eventually([&] { return manager->groups().empty() && !has(1); }));
}

} // namespace
} // namespace tributary::mpi::intra_node::test
