// Older formats become today's step by step, in one transaction.
#include "controlplane/store/schema.hpp"

#include "tests/unit/store/scratch.hpp"

#include <array>

namespace tributary::test {
namespace {

using store::Database;

class Migration : public ::testing::Test {
protected:
  Migration() { std::ofstream(scratch_.file()); }
  const Scratch scratch_;
};

TEST_F(Migration, a_new_file_takes_all_steps_and_a_later_start_none) {
  Database database(scratch_.file());
  EXPECT_EQ(migrate_and_count(database), 1U);
  EXPECT_EQ(database.integer("PRAGMA user_version"),
            static_cast<std::int64_t>(store::migrations().size()));
  EXPECT_EQ(migrate_and_count(database), 2U);
}

TEST_F(Migration, a_file_of_an_older_version_takes_the_steps_that_are_missing) {
  Database database(scratch_.file());
  EXPECT_EQ(migrate_and_count(database), 1U);
  database.execute("INSERT INTO addresses VALUES ('trees', 5)");
  const std::array<const char*, 3> longer = {
      store::migrations()[0], "ALTER TABLE addresses ADD COLUMN note TEXT NOT NULL DEFAULT 'old'",
      "UPDATE addresses SET note = note || ' and new'"};
  EXPECT_EQ(migrate_and_count(database, longer), 2U);
  EXPECT_EQ(database.integer("PRAGMA user_version"), 3);
  EXPECT_EQ(database.integer("SELECT next FROM addresses WHERE note = 'old and new'"), 5);
}

TEST_F(Migration, a_step_that_fails_changes_nothing) {
  Database database(scratch_.file());
  EXPECT_EQ(migrate_and_count(database), 1U);
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
