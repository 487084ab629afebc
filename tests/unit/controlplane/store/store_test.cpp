// Stored records are read back; atomicity; back-ups; speed.
#include "controlplane/store/store.hpp"

#include "controlplane/store/sqlite.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/random_changes.hpp"
#include "tests/unit/controlplane/store/records.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <chrono>
#include <iostream>

namespace tributary::test {
namespace {

using store::Store;

TEST(Store, every_field_comes_back_as_it_was) {
  const ScratchDirectory scratch;
  MemoryDisk expected;
  const std::vector<records::Change> changes = {
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
      records::GroupRecord{.id = records::GroupId{std::uint64_t{7} << 32 | 3},
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
      records::MemberRecord{records::GroupId{std::uint64_t{7} << 32 | 3}, 1'048'575, Nid{max_nid},
                            "", records::MemberState::expired},
      records::TreeRecord{TreeNumber{8191}, records::GroupId{std::uint64_t{7} << 32 | 3}, 1,
                          some_form(64)},
      records::AddressRecord{"trees", 8191},
      records::SwitchRecord{0, "leaf0", 0xFFFF'FFFF'FFFF'FFFFU, 64, true},
      records::SwitchRecord{1, std::string(255, 's'), 0, 65535, false},
      records::LinkRecord{7, {0, 63}, {1, 65535}, 4'294'967'295U, false, true},
      records::LinkRecord{8, {1, 0}, {0, 1}, 0, true, false},
      records::HostRecord{Nid{max_nid}, "h;", {1, 9}, true, false},
      records::HostRecord{Nid{0}, "", {0, 0}, false, true},
  };
  expected.apply(changes);
  {
    Store store(scratch.file("fabric.db"));
    store.apply(changes);
    EXPECT_TRUE(same_content(store.load(), expected.load(1)));
  }
  Store again(scratch.file("fabric.db"));
  EXPECT_TRUE(same_content(again.load(), expected.load(1)));
  EXPECT_EQ(again.load().groups.at(0).root, 1'048'575U);
}

TEST(Store, a_new_one_is_empty_and_the_epoch_rises_with_every_start) {
  const ScratchDirectory scratch;
  for (std::uint64_t start = 1; start <= 4; ++start) {
    Store store(scratch.file("fabric.db"));
    EXPECT_EQ(store.epoch(), start);
    const auto all = store.load();
    EXPECT_EQ(all.epoch, start);
    EXPECT_TRUE(same_content(all, {}));
  }
}

TEST(Store, has_one_fabric_for_its_life_and_another_one_than_every_other_store) {
  const ScratchDirectory scratch;
  const std::uint64_t fabric = Store(scratch.file("fabric.db")).load().fabric;
  EXPECT_NE(fabric, 0U);
  EXPECT_EQ(Store(scratch.file("fabric.db")).load().fabric, fabric);
  EXPECT_NE(Store(scratch.file("other.db")).load().fabric, fabric);
}

TEST(Store, keeps_a_raised_epoch_and_who_has_superseded_its_manager) {
  const ScratchDirectory scratch;
  {
    Store store(scratch.file("fabric.db"));
    const std::vector<records::Change> changes = {records::LeadRecord{41, 40},
                                                  records::AdoptionRecord{0xB, 7}};
    store.apply(changes);
    const auto all = store.load();
    EXPECT_EQ(all.superseded_by, 40U);
    EXPECT_EQ(all.adoptions, (std::vector<records::AdoptionRecord>{{0xB, 7}}));
  }
  Store again(scratch.file("fabric.db"));
  EXPECT_EQ(again.epoch(), 42U);
  const std::vector<records::Change> lower = {records::LeadRecord{12, 0}};
  again.apply(lower);
  EXPECT_EQ(again.load().superseded_by, 0U);
  EXPECT_EQ(Store(scratch.file("other.db"), {.epochs = 1000}).epoch(), 1000U);
}

TEST(Store, the_epoch_never_falls) {
  const ScratchDirectory scratch;
  {
    Store store(scratch.file("fabric.db"), {.epochs = 50});
    const std::vector<records::Change> lower = {records::LeadRecord{12, 0}};
    store.apply(lower);
  }
  EXPECT_EQ(Store(scratch.file("fabric.db")).epoch(), 51U);
}

TEST(Store, erasing_a_group_takes_its_members_and_trees_along_and_no_others) {
  const ScratchDirectory scratch;
  Store store(scratch.file("fabric.db"));
  store.apply(whole_group(1, 4));
  store.apply(whole_group(2, 4));
  const std::vector<records::Change> erase = {records::EraseGroup{records::GroupId{1}}};
  store.apply(erase);
  const auto all = store.load();
  EXPECT_EQ(all.groups.size(), 1U);
  EXPECT_EQ(all.members.size(), 4U);
  EXPECT_EQ(all.trees.size(), 1U);
  EXPECT_EQ(all.trees[0].group, records::GroupId{2});
}

TEST(Store, agrees_with_ordered_maps_after_random_changes_and_starts) {
  const ScratchDirectory scratch;
  RandomChanges random(seed());
  MemoryDisk expected;
  for (int start = 0; start < 10; ++start) {
    Store store(scratch.file("fabric.db"));
    ASSERT_TRUE(same_content(store.load(), expected.load(1)));
    for (int batch = 0; batch < 20; ++batch) {
      const auto changes = random.next();
      store.apply(changes);
      expected.apply(changes);
    }
    ASSERT_TRUE(same_content(store.load(), expected.load(1)));
  }
  EXPECT_FALSE(expected.load(1).members.empty());
}

TEST(Store, is_readable_for_its_owner_alone) {
  const ScratchDirectory scratch;
  Store store(scratch.file("fabric.db"));
  store.apply(whole_group(1, 4));
  for (const char* const name : {"fabric.db", "fabric.db-wal", "fabric.db-shm", "fabric.db.lock"}) {
    struct stat status {};
    ASSERT_EQ(::stat(scratch.file(name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << name;
  }
}

TEST(Store, sqlites_own_tools_may_look_and_back_up_while_it_runs) {
  const ScratchDirectory scratch;
  Store store(scratch.file("fabric.db"));
  store.apply(whole_group(1, 4));
  {
    store::Database tool(scratch.file("fabric.db"));
    EXPECT_EQ(tool.integer("SELECT count(*) FROM members"), 4);
    tool.execute("VACUUM INTO '" + scratch.file("copy.db") + "'");
    store.apply(whole_group(2, 4));
  }
  EXPECT_EQ(store.load().groups.size(), 2U);
  Store copy(scratch.file("copy.db"));
  EXPECT_EQ(copy.load().groups.size(), 1U);
  EXPECT_EQ(copy.load().members.size(), 4U);
}

TEST(Store, groups_a_second) {
  constexpr std::uint64_t groups = 1'000 / TRIBUTARY_SEED_DIVISOR;
  for (const auto place : {ScratchDirectory::Place::disk, ScratchDirectory::Place::memory}) {
    for (const std::uint32_t members : {16U, 64U}) {
      for (const std::uint64_t batch : {20U, 100U}) {
        const ScratchDirectory scratch(place);
        Store store(scratch.file("fabric.db"));
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint64_t first = 0; first < groups; first += batch) {
          std::vector<records::Change> changes;
          for (std::uint64_t id = first; id < first + batch; ++id) {
            const auto one = whole_group(id, members);
            changes.insert(changes.end(), one.begin(), one.end());
          }
          store.apply(changes);
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::cout << "store on " << (place == ScratchDirectory::Place::disk ? "disk" : "memory")
                  << ", " << members << " members, " << batch << " groups a transaction: "
                  << static_cast<std::uint64_t>(static_cast<double>(groups) / took.count())
                  << " groups a second\n";
        EXPECT_EQ(store.load().members.size(), groups * members);
      }
    }
  }
}

} // namespace
} // namespace tributary::test
