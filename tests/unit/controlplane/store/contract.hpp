// What every store promises (controlplane/store/store.hpp), as tests over any of them.
//
//   class SqliteBench final : public StoreBench { ... };
//   INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(&bench_of<SqliteBench>));
#pragma once

#include "controlplane/store/store.hpp"
#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/random_changes.hpp"
#include "tests/unit/controlplane/store/records.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tributary::test {

/// Where one store is kept, and how it is opened.
class StoreBench {
public:
  StoreBench() = default;
  virtual ~StoreBench() = default;
  StoreBench(const StoreBench&) = delete;
  StoreBench& operator=(const StoreBench&) = delete;

  /// As a manager does at its start. At most one is open at a time.
  virtual std::unique_ptr<store::Store> open() = 0;
  /// Makes the record of group `id` unreadable, behind the back of all stores.
  virtual void damage(records::GroupId id) = 0;
};

template <typename Bench> std::unique_ptr<StoreBench> bench_of() {
  return std::make_unique<Bench>();
}

class StoreContract : public testing::TestWithParam<std::unique_ptr<StoreBench> (*)()> {
protected:
  std::unique_ptr<StoreBench> bench = GetParam()();
};

/// Records with extreme values, of all kinds.
inline std::vector<records::Change> extreme_records() {
  const records::GroupId group{std::uint64_t{7} << 32 | 3};
  return {
      records::JobRecord{"cluster-17", 4, std::string(64, 'a'), Vni{65535}, false},
      records::JobRecord{
          .id = "launched",
          .token = "t",
          .vni = std::nullopt,
          .allocation = records::Allocation{.cookie = std::string(32, 'c'),
                                            .nodes = {{"n\"0", Nid{max_nid}, true}, {"n1", {}}},
                                            .has_made_job = true,
                                            .lease_ms = 4'294'967'295U}},
      records::JobRecord{"j'; DROP TABLE jobs; --", 0, "", std::nullopt, true},
      records::JobRecord{"a/b\\c \xC3\xBC", 0, "", std::nullopt, true},
      records::GroupRecord{.id = group,
                           .job = "cluster-17",
                           .name = "gr\xC3\xBC\xC3\x9F",
                           .step = "0",
                           .multicast = true,
                           .size = 1'048'576,
                           .trees = 2,
                           .wanted_root = 0,
                           .root = 1'048'575,
                           .vni = Vni{1},
                           .cookie = Cookie{0xFFFF'FFFFU},
                           .timeout_us = 20'000'000,
                           .state = records::GroupState::receiving_leave_req},
      records::MemberRecord{group, 1'048'575, Nid{max_nid}, "", records::MemberState::expired},
      records::TreeRecord{TreeNumber{8191}, group, 1, some_form(64)},
      records::AddressRecord{"trees", 8191},
      records::SwitchRecord{0, "leaf0", 0xFFFF'FFFF'FFFF'FFFFU, 64, true},
      records::SwitchRecord{1, std::string(255, 's'), 0, 65535, false},
      records::LinkRecord{7, {0, 63}, {1, 65535}, 4'294'967'295U, false, true},
      records::LinkRecord{8, {1, 0}, {0, 1}, 0, true, false},
      records::HostRecord{Nid{max_nid}, "h;", {1, 9}, true, false},
      records::HostRecord{Nid{0}, "", {0, 0}, false, true},
      records::DrainRecord{"spine 0"},
      records::RdmaSettingRecord{std::nullopt, "window", 512},
      records::RdmaSettingRecord{Vni{65535}, "window", 1},
      records::RdmaQuarantineRecord{Vni{7}, Nid{max_nid}},
      records::VniReleaseRecord{Vni{65535}, 9, true},
      records::LeadRecord{1, 4'294'967'295U},
      records::AdoptionRecord{0xFFFF'FFFF'FFFF'FFFFU, 4'294'967'295U},
  };
}

TEST_P(StoreContract, every_field_comes_back_as_it_was) {
  MemoryDisk expected;
  const std::vector<records::Change> changes = extreme_records();
  expected.apply(changes);
  {
    const auto store = bench->open();
    store->apply(changes);
    EXPECT_TRUE(same_content(store->load(), expected.load(1)));
  }
  const auto again = bench->open();
  const records::Snapshot past = again->load();
  EXPECT_TRUE(same_content(past, expected.load(1)));
  EXPECT_THAT(past.set_aside, testing::IsEmpty());
  EXPECT_EQ(past.groups.at(0).root, 1'048'575U);
}

TEST_P(StoreContract, a_new_one_is_empty_and_the_epoch_rises_with_every_start) {
  for (std::uint64_t start = 1; start <= 4; ++start) {
    const auto store = bench->open();
    EXPECT_EQ(store->epoch(), start);
    EXPECT_EQ(store->leadership().epoch(), start);
    EXPECT_EQ(store->leadership().standing(), store::Standing::leads);
    EXPECT_EQ(store->failure(), "");
    const records::Snapshot all = store->load();
    EXPECT_EQ(all.epoch, start);
    EXPECT_TRUE(same_content(all, {}));
  }
}

TEST_P(StoreContract, has_the_identity_of_one_fabric_for_its_life) {
  std::uint64_t fabric = 0;
  for (int start = 0; start < 3; ++start) {
    const auto store = bench->open();
    const std::uint64_t now = store->load().fabric;
    EXPECT_NE(now, 0U);
    EXPECT_TRUE(start == 0 || now == fabric);
    fabric = now;
  }
}

TEST_P(StoreContract, an_epoch_that_was_agreed_is_below_that_of_the_next_start) {
  {
    const auto store = bench->open();
    const std::vector<records::Change> agreed = {records::LeadRecord{41, 40}};
    store->apply(agreed);
    EXPECT_EQ(store->load().superseded_by, 40U);
  }
  std::uint64_t before = 41;
  for (int start = 0; start < 3; ++start) {
    const auto store = bench->open();
    const records::Snapshot past = store->load_sound();
    EXPECT_GT(past.epoch, before);
    EXPECT_EQ(past.superseded_by, 40U);
    before = past.epoch;
  }
}

TEST_P(StoreContract, nothing_to_apply_is_a_confirmation_and_changes_nothing) {
  const auto store = bench->open();
  store->apply(whole_group(1, 4));
  store->apply({});
  store->expect_in_place();
  EXPECT_EQ(store->load().groups.size(), 1U);
}

TEST_P(StoreContract, erasing_a_group_takes_its_members_and_trees_along_and_no_others) {
  const auto store = bench->open();
  store->apply(whole_group(1, 4));
  store->apply(whole_group(2, 4));
  store->apply(whole_group(16, 4)); // its key begins with the same digit
  store->apply(std::vector<records::Change>{records::EraseGroup{records::GroupId{1}}});
  const auto all = store->load();
  ASSERT_EQ(all.groups.size(), 2U);
  EXPECT_EQ(all.members.size(), 8U);
  ASSERT_EQ(all.trees.size(), 2U);
  EXPECT_EQ(all.trees[0].group, records::GroupId{2});
}

TEST_P(StoreContract, an_erased_groups_tree_number_is_another_groups_in_the_same_batch) {
  const auto store = bench->open();
  store->apply(whole_group(1, 4));
  std::vector<records::Change> changes = {records::EraseGroup{records::GroupId{1}}};
  for (records::Change& change : whole_group(2, 4)) {
    if (auto* const tree = std::get_if<records::TreeRecord>(&change)) {
      tree->number = TreeNumber{1};
    }
    changes.push_back(std::move(change));
  }
  store->apply(changes);
  const auto all = store->load();
  ASSERT_EQ(all.trees.size(), 1U);
  EXPECT_EQ(all.trees[0].group, records::GroupId{2});
}

TEST_P(StoreContract, of_changes_to_one_record_the_last_counts) {
  const auto store = bench->open();
  store->apply(std::vector<records::Change>{
      records::AddressRecord{"trees", 1}, records::AddressRecord{"trees", 2},
      records::JobRecord{"a", 1, "t", std::nullopt, false}, records::EraseJob{"a"},
      records::EraseJob{"b"}, records::JobRecord{"b", 1, "t", std::nullopt, false},
      records::HostRecord{Nid{1}, "old", {0, 0}, true, true}, records::EraseTopology{},
      records::HostRecord{Nid{2}, "new", {0, 1}, true, true}});
  const auto all = store->load();
  ASSERT_EQ(all.addresses.size(), 1U);
  EXPECT_EQ(all.addresses[0].next, 2U);
  ASSERT_EQ(all.jobs.size(), 1U);
  EXPECT_EQ(all.jobs[0].id, "b");
  ASSERT_EQ(all.hosts.size(), 1U);
  EXPECT_EQ(all.hosts[0].name, "new");
}

TEST_P(StoreContract, a_batch_of_thousands_of_changes_is_stored_as_a_whole) {
  MemoryDisk expected;
  std::vector<records::Change> changes;
  for (std::uint64_t id = 1; id <= 40; ++id) {
    const auto one = whole_group(id, 200, 40);
    changes.insert(changes.end(), one.begin(), one.end());
  }
  expected.apply(changes);
  {
    const auto store = bench->open();
    store->apply(changes);
    std::vector<records::Change> erase;
    for (std::uint64_t id = 1; id <= 20; ++id) {
      erase.emplace_back(records::EraseGroup{records::GroupId{id}});
    }
    store->apply(erase);
    expected.apply(erase);
  }
  const auto again = bench->open();
  EXPECT_TRUE(same_content(again->load(), expected.load(1)));
}

TEST_P(StoreContract, agrees_with_ordered_maps_after_random_changes_and_starts) {
  RandomChanges random(seed());
  MemoryDisk expected;
  for (int start = 0; start < 5; ++start) {
    const auto store = bench->open();
    ASSERT_TRUE(same_content(store->load(), expected.load(1)));
    for (int batch = 0; batch < 20; ++batch) {
      const auto changes = random.next();
      store->apply(changes);
      expected.apply(changes);
    }
    ASSERT_TRUE(same_content(store->load(), expected.load(1)));
  }
  EXPECT_FALSE(expected.load(1).members.empty());
}

TEST_P(StoreContract, an_unreadable_record_is_set_aside_once_and_the_rest_works) {
  const std::uint64_t first = std::uint64_t{1} << 32;
  {
    const auto store = bench->open();
    for (std::uint64_t n = 1; n <= 3; ++n) {
      store->apply(sound_group(first + n, n));
    }
  }
  bench->damage(records::GroupId{first + 2});
  {
    const auto store = bench->open();
    const records::Snapshot past = store->load_sound();
    ASSERT_EQ(past.groups.size(), 2U);
    EXPECT_EQ(past.groups[1].name, "group3");
    EXPECT_EQ(past.members.size(), 4U);
    EXPECT_EQ(past.trees.size(), 2U);
    EXPECT_FALSE(past.set_aside.empty());
    store->apply(sound_group(2 * first + 1, 4));
  }
  const auto again = bench->open();
  const records::Snapshot past = again->load_sound();
  EXPECT_THAT(past.set_aside, testing::IsEmpty()) << "it is reported once";
  EXPECT_EQ(past.groups.size(), 3U);
  EXPECT_EQ(past.members.size(), 6U) << "members of the damaged group are erased";
}

} // namespace tributary::test
