// What is SQLite's own: modes of files, back-ups, speed. The contract of stores: contract_test.cpp.
#include "controlplane/store/sqlite_store.hpp"

#include "controlplane/store/sqlite.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/store/records.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <sys/stat.h>

namespace tributary::test {
namespace {

using Store = store::SqliteStore;

TEST(Store, has_one_fabric_for_its_life_and_another_one_than_every_other_store) {
  const ScratchDirectory scratch;
  const std::uint64_t fabric = Store(scratch.file("fabric.db")).load().fabric;
  EXPECT_NE(fabric, 0U);
  EXPECT_EQ(Store(scratch.file("fabric.db")).load().fabric, fabric);
  EXPECT_NE(Store(scratch.file("other.db")).load().fabric, fabric);
}

TEST(Store, a_raised_epoch_is_that_of_the_next_start_and_it_never_falls) {
  const ScratchDirectory scratch;
  {
    Store store(scratch.file("fabric.db"), {.epochs = 50});
    EXPECT_EQ(store.epoch(), 50U);
    const std::vector<records::Change> lower = {records::LeadRecord{12, 0}};
    store.apply(lower);
  }
  Store store(scratch.file("fabric.db"));
  EXPECT_EQ(store.epoch(), 51U);
  const std::vector<records::Change> higher = {records::LeadRecord{99, 0}};
  store.apply(higher);
  EXPECT_EQ(store.epoch(), 51U) << "that of this start";
  // The file belongs to `store` until it is gone.
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

TEST(Store, is_read_as_a_whole_while_a_manager_has_it_open) {
  const ScratchDirectory scratch;
  Store store(scratch.file("fabric.db"));
  store.apply(whole_group(1, 4));
  const records::Snapshot all = store::read_store(scratch.file("fabric.db"));
  EXPECT_EQ(all.epoch, 1U);
  EXPECT_EQ(all.members.size(), 4U);
  store.apply(whole_group(2, 4));
  EXPECT_EQ(store::read_store(scratch.file("fabric.db")).groups.size(), 2U);
  EXPECT_THROW(static_cast<void>(store::read_store(scratch.file("no.db"))), store::StoreError);
}

TEST(Store, is_made_of_records_with_a_higher_epoch_and_only_where_there_is_none) {
  const ScratchDirectory scratch;
  records::Snapshot all;
  {
    Store store(scratch.file("old.db"));
    store.apply(whole_group(1, 4));
    all = store.load();
  }
  all.epoch = 17;
  store::make_store(scratch.file("new.db"), all);
  {
    Store store(scratch.file("new.db"));
    EXPECT_EQ(store.epoch(), 18U);
    EXPECT_EQ(store.load().members.size(), 4U);
  }
  EXPECT_THROW(store::make_store(scratch.file("new.db"), all), store::StoreError);
  EXPECT_FALSE(std::filesystem::exists(scratch.file("new.db.import")));
  EXPECT_FALSE(std::filesystem::exists(scratch.file("new.db.import.lock")));
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
