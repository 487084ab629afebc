// Older formats become today's step by step, in one transaction.
#include "controlplane/store/schema.hpp"

#include "controlplane/store/store.hpp"
#include "tests/support/scratch_directory.hpp"

#include <array>

namespace tributary::test {
namespace {

using store::Database;

class Migration : public ::testing::Test {
protected:
  Migration() { std::ofstream(scratch_.file("fabric.db")); }
  const ScratchDirectory scratch_;
};

TEST_F(Migration, a_new_file_takes_all_steps_and_a_later_start_none) {
  Database database(scratch_.file("fabric.db"));
  EXPECT_EQ(migrate_and_count(database), 1U);
  EXPECT_EQ(database.integer("PRAGMA user_version"),
            static_cast<std::int64_t>(store::migrations().size()));
  EXPECT_EQ(migrate_and_count(database), 2U);
}

TEST_F(Migration, jobs_of_the_first_version_are_limited_to_nothing) {
  {
    Database database(scratch_.file("fabric.db"));
    database.execute("PRAGMA journal_mode = WAL");
    EXPECT_EQ(migrate_and_count(database, store::migrations().first(1)), 1U);
    database.execute("INSERT INTO jobs VALUES ('old', 4, 'token', 1024, 0)");
  }
  store::Store store(scratch_.file("fabric.db"));
  const records::Snapshot past = store.load();
  ASSERT_EQ(past.jobs.size(), 1U);
  EXPECT_EQ(past.jobs[0], (records::JobRecord{"old", 4, "token", Vni{1024}, false}));
}

TEST_F(Migration, the_document_of_the_topology_is_given_until_it_is_stored_record_by_record) {
  {
    Database database(scratch_.file("fabric.db"));
    database.execute("PRAGMA journal_mode = WAL");
    EXPECT_EQ(migrate_and_count(database, store::migrations().first(2)), 1U);
    database.execute("INSERT INTO topology VALUES (1, 'what was seen')");
  }
  store::Store store(scratch_.file("fabric.db"));
  EXPECT_EQ(store.load().old_topology, "what was seen");
  const records::SwitchRecord leaf{0, "leaf", 7, 64, true};
  store.apply(std::vector<records::Change>{records::EraseTopology{}, leaf});
  const records::Snapshot now = store.load();
  EXPECT_FALSE(now.old_topology.has_value());
  EXPECT_EQ(now.switches, std::vector{leaf});
}

TEST_F(Migration, jobs_of_before_have_no_allocation) {
  {
    Database database(scratch_.file("fabric.db"));
    database.execute("PRAGMA journal_mode = WAL");
    EXPECT_EQ(migrate_and_count(database, store::migrations().first(6)), 1U);
    database.execute("INSERT INTO jobs VALUES ('j', 4, 'token', 1024, 0, NULL, NULL)");
  }
  store::Store store(scratch_.file("fabric.db"));
  const records::Snapshot past = store.load();
  ASSERT_EQ(past.jobs.size(), 1U);
  EXPECT_FALSE(past.jobs[0].allocation);
  EXPECT_EQ(past.jobs[0].vni, Vni{1024});
}

TEST_F(Migration, groups_and_members_of_before_have_no_wide_frames) {
  {
    Database database(scratch_.file("fabric.db"));
    database.execute("PRAGMA journal_mode = WAL");
    EXPECT_EQ(migrate_and_count(database, store::migrations().first(5)), 1U);
    database.execute("INSERT INTO groups VALUES (7, 'j', 'old', '', 0, 1, 1, NULL, 0, 1024, 5, 0, "
                     "'ready');"
                     "INSERT INTO members VALUES (7, 0, 3, 'h0', 'joined')");
  }
  store::Store store(scratch_.file("fabric.db"));
  const records::Snapshot past = store.load();
  ASSERT_EQ(past.groups.size(), 1U);
  EXPECT_EQ(past.groups[0].frames, records::WideFrames{});
  EXPECT_EQ(past.groups[0].wanted_frames, records::GroupRecord{}.wanted_frames);
  EXPECT_EQ(past.groups[0].frames_note, "");
  EXPECT_EQ(past.groups[0].turn, records::TurnAround{});
  ASSERT_EQ(past.members.size(), 1U);
  EXPECT_EQ(past.members[0].takes, records::WideFrames{});
  EXPECT_FALSE(past.members[0].knows_turn);
}

TEST_F(Migration, a_file_of_an_older_version_takes_the_steps_that_are_missing) {
  Database database(scratch_.file("fabric.db"));
  EXPECT_EQ(migrate_and_count(database, store::migrations().first(1)), 1U);
  database.execute("INSERT INTO addresses VALUES ('trees', 5)");
  const std::array<const char*, 3> longer = {
      store::migrations()[0], "ALTER TABLE addresses ADD COLUMN note TEXT NOT NULL DEFAULT 'old'",
      "UPDATE addresses SET note = note || ' and new'"};
  EXPECT_EQ(migrate_and_count(database, longer), 2U);
  EXPECT_EQ(database.integer("PRAGMA user_version"), 3);
  EXPECT_EQ(database.integer("SELECT next FROM addresses WHERE note = 'old and new'"), 5);
}

TEST_F(Migration, a_step_that_fails_changes_nothing) {
  Database database(scratch_.file("fabric.db"));
  EXPECT_EQ(migrate_and_count(database, store::migrations().first(1)), 1U);
  const std::array<const char*, 3> broken = {store::migrations()[0], "DROP TABLE addresses",
                                             "ALTER TABLE nothing ADD COLUMN x"};
  database.execute("BEGIN");
  EXPECT_THROW(migrate_and_count(database, broken), store::StoreError);
  database.roll_back();
  EXPECT_EQ(database.integer("PRAGMA user_version"), 1);
  EXPECT_EQ(database.integer("SELECT count(*) FROM addresses"), 0);
  EXPECT_EQ(migrate_and_count(database), 2U);
}

} // namespace
} // namespace tributary::test
