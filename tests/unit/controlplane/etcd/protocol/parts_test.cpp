// Folding and cutting of changes: etcd's limits, and what is stored when a manager dies in between.
#include "controlplane/etcd/protocol/parts.hpp"

#include "controlplane/records/soundness.hpp"
#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/random_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tributary::test {
namespace {

using etcd::protocol::Limits;
using etcd::protocol::Part;
using etcd::protocol::parts_of;

std::string key_of(const record_text::Operation& operation) {
  return std::visit([](const auto& o) { return o.key; }, operation);
}

/// What etcd demands of a transaction.
void expect_valid(const Part& part, const Limits& limits) {
  EXPECT_FALSE(part.empty());
  EXPECT_LE(part.size(), limits.operations);
  std::set<std::string> keys;
  for (const record_text::Operation& operation : part) {
    EXPECT_TRUE(keys.insert(key_of(operation)).second) << key_of(operation);
  }
  for (const record_text::Operation& operation : part) {
    if (std::holds_alternative<record_text::EraseAll>(operation)) {
      const std::string key = key_of(operation);
      const auto inside = keys.upper_bound(key);
      EXPECT_TRUE(inside == keys.end() || *inside >= record_text::end_of(key)) << *inside;
    }
  }
}

TEST(parts_of, nothing_is_no_part) { EXPECT_TRUE(parts_of({}).empty()); }

TEST(parts_of, a_small_write_is_one_transaction_also_with_an_erased_group) {
  std::vector<records::Change> changes = {records::EraseGroup{records::GroupId{1}}};
  const auto group = whole_group(2, 4);
  changes.insert(changes.end(), group.begin(), group.end());
  const auto parts = parts_of(changes);
  ASSERT_EQ(parts.size(), 1U);
  expect_valid(parts[0], {});
}

TEST(parts_of, what_is_put_inside_an_erased_range_comes_in_a_later_part) {
  const auto parts =
      parts_of(std::vector<records::Change>{records::EraseTopology{}, records::DrainRecord{"leaf0"},
                                            records::HostRecord{Nid{1}, "h", {0, 0}, true, true}});
  ASSERT_EQ(parts.size(), 2U);
  ASSERT_EQ(parts[0].size(), 1U);
  EXPECT_EQ(key_of(parts[0][0]), "topology");
  EXPECT_EQ(parts[1].size(), 2U);
}

TEST(parts_of, random_changes_in_parts_are_the_changes) {
  for (std::uint64_t round = 0; round < 300 / TRIBUTARY_SEED_DIVISOR; ++round) {
    RandomChanges random(seed() + round);
    const Limits limits{.operations = 3 + round % 20, .bytes = 20'000};
    MemoryDisk expected;
    record_text::RecordMap map;
    for (int batch = 0; batch < 20; ++batch) {
      const auto changes = random.next();
      expected.apply(changes);
      for (const Part& part : parts_of(changes, limits)) {
        expect_valid(part, limits);
        for (const record_text::Operation& operation : part) {
          map.apply(operation);
        }
      }
    }
    ASSERT_TRUE(same_content(map.snapshot(), expected.load(1))) << "round " << round;
  }
}

/// A group in the state after its routes are computed, of which only members were stored before.
std::vector<records::Change> waiting(std::uint64_t id, std::uint32_t members) {
  std::vector<records::Change> changes = whole_group(id, members);
  changes.pop_back(); // its tree
  auto& group = std::get<records::GroupRecord>(changes.front());
  group.state = records::GroupState::receiving_join_req;
  group.root.reset();
  changes.insert(changes.begin(), records::JobRecord{"cluster-17", 99, "token", Vni{1024}, false});
  return changes;
}

TEST(parts_of, a_manager_that_dies_between_parts_loses_no_group_that_was_stored_before) {
  constexpr std::uint64_t first = std::uint64_t{1} << 32;
  const Limits limits{.operations = 3, .bytes = 100'000};
  record_text::RecordMap before;
  for (std::uint64_t id = first + 1; id <= first + 3; ++id) {
    for (const records::Change& change : waiting(id, 5)) {
      before.apply(record_text::operation_of(change));
    }
  }
  // The first is erased, the second gets its tree, the third has its members join, a fourth is new.
  std::vector<records::Change> changes = {records::EraseGroup{records::GroupId{first + 1}}};
  for (std::uint64_t id = first + 2; id <= first + 4; ++id) {
    auto whole = whole_group(id, 5);
    changes.insert(changes.end(), whole.begin(), whole.end());
  }
  const auto parts = parts_of(changes, limits);
  ASSERT_GT(parts.size(), 4U);
  for (std::size_t stored = 0; stored <= parts.size(); ++stored) {
    record_text::RecordMap map = before;
    for (std::size_t i = 0; i < stored; ++i) {
      for (const record_text::Operation& operation : parts[i]) {
        map.apply(operation);
      }
    }
    records::Snapshot all = map.snapshot();
    all.epoch = 2;
    EXPECT_THAT(records::take_out_unsound(all), testing::IsEmpty()) << stored << " parts stored";
    EXPECT_GE(all.groups.size(), 2U) << stored;
  }
}

TEST(parts_of, jobs_are_put_before_their_groups_and_erased_after_them) {
  std::vector<records::Change> changes = waiting(1, 3);
  changes.emplace_back(records::EraseJob{"another"});
  std::vector<std::string> keys;
  for (const Part& part : parts_of(changes, {.operations = 2, .bytes = 100'000})) {
    for (const record_text::Operation& operation : part) {
      keys.push_back(key_of(operation));
    }
  }
  EXPECT_EQ(keys.front(), "job/cluster-17");
  EXPECT_EQ(keys.back(), "job/another");
  EXPECT_EQ(keys[keys.size() - 2], "group/0000000000000001");
}

TEST(parts_of, a_record_that_is_larger_than_a_transaction_is_named) {
  try {
    static_cast<void>(parts_of(whole_group(1, 1, 400), {.operations = 126, .bytes = 10'000}));
    FAIL() << "it was cut";
  } catch (const etcd::protocol::TooLarge& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("group/0000000000000001"));
  }
}

TEST(parts_of, the_largest_write_is_cut_into_valid_parts) {
  std::vector<records::Change> changes = {records::EraseTopology{}};
  for (std::uint32_t i = 0; i < 74'033; ++i) {
    changes.emplace_back(records::HostRecord{Nid{i}, "host", {i, 1}, true, true});
  }
  const auto parts = parts_of(changes);
  EXPECT_EQ(parts.size(), 1U + (74'033U + 125U) / 126U);
  for (const Part& part : parts) {
    expect_valid(part, {});
  }
}

} // namespace
} // namespace tributary::test
