// Files that are no store, stores in use, disks without room: a clear answer, and nothing harmed.
#include "controlplane/store/store.hpp"

#include "controlplane/store/schema.hpp"
#include "tests/unit/store/memory_disk.hpp"
#include "tests/unit/store/scratch.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <sqlite3.h>
#include <sys/resource.h>

namespace tributary::test {
namespace {

using store::Store;
using Kind = store::StoreError::Kind;
using ::testing::AllOf;
using ::testing::HasSubstr;

void sql(const std::filesystem::path& file, const std::string& statements) {
  store::Database database(file);
  database.execute(statements);
}

void write(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

TEST(StoreErrors, a_file_that_is_something_else_is_named_and_left_alone) {
  const Scratch scratch;
  const std::string text = "[rest]\nlisten = \"127.0.0.1:7580\"\n" + std::string(4'000, '#');
  write(scratch.file(), text);
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(scratch.file()); }, &message), Kind::not_a_database);
  EXPECT_THAT(message, HasSubstr(scratch.file().string()));
  EXPECT_EQ(content_of(scratch.file()), text);
}

TEST(StoreErrors, another_programs_database_is_left_alone) {
  const Scratch scratch;
  write(scratch.file(), "");
  sql(scratch.file(), "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
  const std::string before = content_of(scratch.file());
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(scratch.file()); }, &message), Kind::not_a_database);
  EXPECT_THAT(message, HasSubstr("not a fabric manager's store"));
  EXPECT_EQ(content_of(scratch.file()), before);
}

TEST(StoreErrors, a_database_from_a_newer_version_is_left_alone_and_both_versions_named) {
  const Scratch scratch;
  { Store store(scratch.file()); }
  sql(scratch.file(), "PRAGMA user_version = 7");
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(scratch.file()); }, &message), Kind::newer_version);
  EXPECT_THAT(message, AllOf(HasSubstr("format version 7"), HasSubstr("versions up to 1")));
  sql(scratch.file(), "PRAGMA user_version = 1");
  Store store(scratch.file());
  EXPECT_EQ(store.epoch(), 2U) << "the refused start did not count";
}

TEST(StoreErrors, damage_is_found_when_the_file_is_opened) {
  const Scratch scratch;
  {
    Store store(scratch.file());
    for (std::uint64_t id = 1; id <= 50; ++id) {
      store.apply(whole_group(id, 64));
    }
  }
  std::string bytes = content_of(scratch.file());
  ASSERT_GT(bytes.size(), 100'000U);
  std::fill(bytes.begin() + 40'000, bytes.begin() + 60'000, '\x5A');
  write(scratch.file(), bytes);
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(scratch.file()); }, &message), Kind::not_a_database);
  EXPECT_THAT(message, AllOf(HasSubstr(scratch.file().string()), HasSubstr("back-up")));
}

TEST(StoreErrors, a_file_that_was_cut_off_is_damaged) {
  const Scratch scratch;
  {
    Store store(scratch.file());
    for (std::uint64_t id = 1; id <= 50; ++id) {
      store.apply(whole_group(id, 64));
    }
  }
  std::filesystem::resize_file(scratch.file(), 50'000);
  EXPECT_EQ(error_of([&] { Store store(scratch.file()); }), Kind::not_a_database);
}

TEST(StoreErrors, a_record_nobody_can_read_is_damage) {
  const Scratch scratch;
  {
    Store store(scratch.file());
    store.apply(whole_group(1, 4));
  }
  sql(scratch.file(), "UPDATE trees SET form = '{\"algorithm\": 3}'");
  {
    Store store(scratch.file());
    EXPECT_EQ(error_of([&] { (void)store.load(); }), Kind::not_a_database);
  }
  sql(scratch.file(), "DELETE FROM trees; UPDATE groups SET state = 'dancing'");
  Store store(scratch.file());
  EXPECT_EQ(error_of([&] { (void)store.load(); }), Kind::not_a_database);
}

TEST(StoreErrors, one_manager_at_a_time_and_the_other_is_named) {
  const Scratch scratch;
  {
    Store first(scratch.file());
    std::string message;
    EXPECT_EQ(error_of([&] { Store second(scratch.file()); }, &message), Kind::locked);
    EXPECT_THAT(message, HasSubstr("process " + std::to_string(::getpid())));
    first.apply(whole_group(1, 4));
    EXPECT_EQ(first.load().groups.size(), 1U);
  }
  Store second(scratch.file());
  EXPECT_EQ(second.load().groups.size(), 1U);
}

TEST(StoreErrors, a_directory_that_is_not_there_is_said) {
  const Scratch scratch;
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(scratch.file("no/fabric.db")); }, &message), Kind::failed);
  EXPECT_THAT(message, AllOf(HasSubstr("no/fabric.db"), HasSubstr("No such file or directory")));
}

/// Another user's view of files, for root may do everything. Ends with the test.
class AsNobody {
public:
  AsNobody() : root_(::geteuid() == 0 && ::seteuid(65534) == 0) {}
  ~AsNobody() {
    if (root_ && ::seteuid(0) != 0) {
      std::abort();
    }
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

private:
  bool root_;
};

TEST(StoreErrors, a_file_one_may_not_open_is_a_matter_of_permission) {
  const Scratch scratch;
  { Store store(scratch.file()); }
  namespace fs = std::filesystem;
  fs::permissions(scratch.file("fabric.db.lock"), fs::perms::none);
  fs::permissions(scratch.file(), fs::perms::none);
  const AsNobody nobody;
  EXPECT_EQ(error_of([&] { Store store(scratch.file()); }), Kind::no_permission);
}

TEST(StoreErrors, a_file_one_may_only_read_is_a_matter_of_permission) {
  const Scratch scratch;
  { Store store(scratch.file()); }
  namespace fs = std::filesystem;
  fs::permissions(scratch.file("").parent_path(), fs::perms::all);
  fs::permissions(scratch.file("fabric.db.lock"), fs::perms::all);
  fs::permissions(scratch.file(), fs::perms::owner_read | fs::perms::others_read);
  const AsNobody nobody;
  EXPECT_EQ(error_of([&] { Store store(scratch.file()); }), Kind::no_permission);
}

// ---- no room ----

/// Puts groups in until there is no room; answers how many are in.
std::uint64_t fill(Store& store, MemoryDisk& expected) {
  for (std::uint64_t id = 1; id < 10'000; ++id) {
    const auto changes = whole_group(id, 64);
    try {
      store.apply(changes);
    } catch (const store::StoreError& error) {
      EXPECT_EQ(error.kind(), Kind::no_room) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("make room"));
      return id - 1;
    }
    expected.apply(changes);
  }
  ADD_FAILURE() << "it never was full";
  return 0;
}

TEST(StoreErrors, a_store_at_its_size_limit_says_so_keeps_what_it_has_and_goes_on_with_room) {
  const Scratch scratch;
  MemoryDisk expected;
  Store store(scratch.file(), {.size_limit_bytes = 400'000});
  const std::uint64_t stored = fill(store, expected);
  EXPECT_GT(stored, 10U);
  EXPECT_TRUE(same_content(store.load(), expected.load(1))) << "half of a batch was stored";

  std::vector<store::Change> erase;
  for (std::uint64_t id = 1; id <= stored; ++id) {
    erase.emplace_back(store::EraseGroup{store::GroupId{id}});
  }
  store.apply(erase);
  expected.apply(erase);
  const auto changes = whole_group(stored + 1, 64);
  store.apply(changes);
  expected.apply(changes);
  EXPECT_TRUE(same_content(store.load(), expected.load(1)));
}

/// No file of this process grows beyond this.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &was_);
    const rlimit limit{bytes, was_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &was_);
    std::signal(SIGXFSZ, before_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
  rlimit was_{};
  void (*before_)(int) = nullptr;
};

TEST(StoreErrors, writes_that_the_system_refuses_lose_nothing_and_the_same_changes_pass_later) {
  const Scratch scratch;
  MemoryDisk expected;
  std::uint64_t stored = 0;
  {
    Store store(scratch.file());
    {
      const FileSizeLimit full(600'000);
      stored = fill(store, expected);
      EXPECT_GT(stored, 10U);
      EXPECT_TRUE(same_content(store.load(), expected.load(1)));
      EXPECT_EQ(error_of([&] { store.apply(whole_group(stored + 1, 64)); }), Kind::no_room)
          << "still full";
    }
    const auto changes = whole_group(stored + 1, 64);
    store.apply(changes);
    expected.apply(changes);
    EXPECT_TRUE(same_content(store.load(), expected.load(1)));
  }
  Store again(scratch.file());
  EXPECT_TRUE(same_content(again.load(), expected.load(1)));
  EXPECT_EQ(again.load().groups.size(), stored + 1);
}

} // namespace
} // namespace tributary::test
