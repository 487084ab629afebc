// The groups that a round checks when groups and the topology change during it.
#include "controlplane/tree_controller/repair_round.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

namespace tributary::manager {
namespace {

struct Group {
  records::GroupId id;
};

struct Groups {
  [[nodiscard]] const Group* first_from(records::GroupId id) const {
    const auto found = groups.lower_bound(id);
    return found == groups.end() ? nullptr : &found->second;
  }
  void add(std::uint64_t id) { groups[records::GroupId{id}] = Group{records::GroupId{id}}; }

  std::map<records::GroupId, Group> groups;
};

class RepairRoundTest : public ::testing::Test {
protected:
  RepairRoundTest() {
    for (const std::uint64_t id : {1U, 4U, 5U, 9U}) {
      groups.add(id);
    }
  }
  std::vector<std::uint64_t> next(std::size_t most = 100) {
    std::vector<std::uint64_t> looked;
    while (looked.size() < most) {
      const Group* group = round.next(groups);
      if (group == nullptr) {
        break;
      }
      looked.push_back(group->id.value);
    }
    return looked;
  }

  Groups groups;
  tree_controller::RepairRound round;
};

using Ids = std::vector<std::uint64_t>;

TEST_F(RepairRoundTest, without_a_change_there_is_nothing_to_look_at) {
  EXPECT_FALSE(round.active());
  EXPECT_EQ(next(), Ids{});
}

TEST_F(RepairRoundTest, after_a_change_every_group_is_looked_at_once) {
  round.begin();
  EXPECT_EQ(next(), (Ids{1, 4, 5, 9}));
  EXPECT_FALSE(round.active());
  round.begin();
  EXPECT_EQ(next(), (Ids{1, 4, 5, 9}));
}

TEST_F(RepairRoundTest, a_change_amid_a_round_brings_those_again_that_were_before_it) {
  round.begin();
  EXPECT_EQ(next(2), (Ids{1, 4}));
  round.begin();
  EXPECT_EQ(next(), (Ids{5, 9, 1, 4}));
  EXPECT_FALSE(round.active());
}

TEST_F(RepairRoundTest, changes_that_never_end_keep_no_group_from_being_looked_at) {
  Ids looked;
  for (int change = 0; change < 8; ++change) {
    round.begin();
    looked.push_back(next(1).front());
  }
  EXPECT_EQ(looked, (Ids{1, 4, 5, 9, 1, 4, 5, 9}));
}

TEST_F(RepairRoundTest, a_group_that_ends_amid_a_round_is_passed_over_and_one_that_comes_is_seen) {
  round.begin();
  EXPECT_EQ(next(1), Ids{1});
  groups.groups.erase(records::GroupId{4});
  groups.add(12);
  EXPECT_EQ(next(), (Ids{5, 9, 12}));
}

TEST_F(RepairRoundTest, without_groups_a_round_is_over_at_once) {
  groups.groups.clear();
  round.begin();
  EXPECT_EQ(next(), Ids{});
  EXPECT_FALSE(round.active());
}

} // namespace
} // namespace tributary::manager
