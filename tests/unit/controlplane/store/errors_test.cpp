// Files that are not stores, stores in use, full disks: a clear error, and no damage.
#include "controlplane/store/sqlite_store.hpp"

#include "controlplane/store/schema.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/records.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>

namespace tributary::test {
namespace {

using Store = store::SqliteStore;
using Kind = store::StoreError::Kind;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The kind of the StoreError that `f` has to end with; its message goes to `message`.
template <typename F> Kind kind_of(F&& f, std::string* message = nullptr) {
  const store::StoreError error = error_of<store::StoreError>(std::forward<F>(f)).value();
  if (message != nullptr) {
    *message = error.what();
  }
  return error.kind();
}

void sql(const std::filesystem::path& file, const std::string& statements) {
  store::Database database(file);
  database.execute(statements);
}

void write(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

TEST(StoreErrors, a_file_that_is_something_else_is_named_and_left_alone) {
  const ScratchDirectory scratch;
  const std::string text = "[rest]\nlisten = \"127.0.0.1:7580\"\n" + std::string(4'000, '#');
  write(scratch.file("fabric.db"), text);
  std::string message;
  EXPECT_EQ(kind_of([&] { Store store(scratch.file("fabric.db")); }, &message),
            Kind::not_a_database);
  EXPECT_THAT(message, HasSubstr(scratch.file("fabric.db")));
  EXPECT_EQ(content_of(scratch.file("fabric.db")), text);
}

TEST(StoreErrors, another_programs_database_is_left_alone) {
  const ScratchDirectory scratch;
  write(scratch.file("fabric.db"), "");
  sql(scratch.file("fabric.db"),
      "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
  const std::string before = content_of(scratch.file("fabric.db"));
  std::string message;
  EXPECT_EQ(kind_of([&] { Store store(scratch.file("fabric.db")); }, &message),
            Kind::not_a_database);
  EXPECT_THAT(message, HasSubstr("not a fabric manager's store"));
  EXPECT_EQ(content_of(scratch.file("fabric.db")), before);
}

TEST(StoreErrors, a_database_of_another_format_is_left_alone_and_both_versions_named) {
  const ScratchDirectory scratch;
  { Store store(scratch.file("fabric.db")); }
  for (const int version : {0, 2, 9}) {
    sql(scratch.file("fabric.db"), fmt::format("PRAGMA user_version = {}", version));
    std::string message;
    EXPECT_EQ(kind_of([&] { Store store(scratch.file("fabric.db")); }, &message),
              Kind::other_version);
    EXPECT_THAT(message, AllOf(HasSubstr(fmt::format("format version {}", version)),
                               HasSubstr("version 1 only"), HasSubstr("move the file away")));
  }
  sql(scratch.file("fabric.db"), "PRAGMA user_version = 1");
  Store store(scratch.file("fabric.db"));
  EXPECT_EQ(store.epoch(), 2U) << "the refused start did not count";
}

TEST(StoreErrors, damage_is_found_when_the_file_is_opened) {
  const ScratchDirectory scratch;
  {
    Store store(scratch.file("fabric.db"));
    for (std::uint64_t id = 1; id <= 50; ++id) {
      store.apply(whole_group(id, 64));
    }
  }
  std::string bytes = content_of(scratch.file("fabric.db"));
  ASSERT_GT(bytes.size(), 100'000U);
  std::fill(bytes.begin() + 40'000, bytes.begin() + 60'000, '\x5A');
  write(scratch.file("fabric.db"), bytes);
  std::string message;
  EXPECT_EQ(kind_of([&] { Store store(scratch.file("fabric.db")); }, &message),
            Kind::not_a_database);
  EXPECT_THAT(message, AllOf(HasSubstr(scratch.file("fabric.db")), HasSubstr("back-up")));
}

TEST(StoreErrors, a_file_that_was_cut_off_is_damaged) {
  const ScratchDirectory scratch;
  {
    Store store(scratch.file("fabric.db"));
    for (std::uint64_t id = 1; id <= 50; ++id) {
      store.apply(whole_group(id, 64));
    }
  }
  std::filesystem::resize_file(scratch.file("fabric.db"), 50'000);
  EXPECT_EQ(kind_of([&] { Store store(scratch.file("fabric.db")); }), Kind::not_a_database);
}

TEST(StoreErrors, an_unreadable_record_is_set_aside_and_the_rest_works) {
  const ScratchDirectory scratch;
  const std::uint64_t first = std::uint64_t{1} << 32;
  {
    Store store(scratch.file("fabric.db"));
    for (std::uint64_t n = 1; n <= 3; ++n) {
      store.apply(sound_group(first + n, n));
    }
  }
  sql(scratch.file("fabric.db"), "UPDATE trees SET form = '{\"height\": 3}' WHERE number = 1;"
                                 "UPDATE groups SET state = 'dancing' WHERE name = 'group2'");
  {
    Store store(scratch.file("fabric.db"));
    const records::Snapshot past = store.load_sound();
    ASSERT_EQ(past.groups.size(), 1U);
    EXPECT_EQ(past.groups[0].name, "group3");
    EXPECT_EQ(past.members.size(), 2U);
    EXPECT_EQ(past.trees.size(), 1U);
    std::string said;
    for (const std::string& one : past.set_aside) {
      said += one + '\n';
    }
    EXPECT_THAT(said, AllOf(HasSubstr("tree 1: "), HasSubstr("'group1' of job j"),
                            HasSubstr("fabric.db.damaged-2")));
    store.apply(sound_group(2 * first + 1, 4));
  }
  Store copy(scratch.file("fabric.db.damaged-2"));
  EXPECT_EQ(copy.load().groups.size(), 2U) << "and what was set aside can be looked at there";
  Store again(scratch.file("fabric.db"));
  const records::Snapshot past = again.load_sound();
  EXPECT_THAT(past.set_aside, ::testing::IsEmpty()) << "it is said once";
  EXPECT_EQ(past.groups.size(), 2U);
}

TEST(StoreErrors, a_damaged_allocation_is_set_aside_and_its_job_continues) {
  const ScratchDirectory scratch;
  const std::string cookie(32, 'c');
  const std::string one =
      R"("nodes": [["n0", 1, true], ["n1", 2, false]], "has_made_job": true, "lease_ms": 0, "restarts_unheard": 0)";
  const auto with = [&](const std::string& nodes) {
    return R"({"cookie": ")" + cookie + R"(", "nodes": [)" + nodes +
           R"(], "has_made_job": true, "lease_ms": 0, "restarts_unheard": 0})";
  };
  // With the expected message; empty where the JSON library writes it.
  const std::vector<std::pair<std::string, std::string>> damages = {
      {"", "nonsense"},
      {"", "{}"},
      {"", with(R"(["n0", 1])")},
      {"", with(R"(["n", -1, true])")},
      {"its cookie is none", R"({"cookie": "", )" + one + "}"},
      {"its cookie is none", R"({"cookie": ")" + std::string(32, 'X') + R"(", )" + one + "}"},
      {"it has no nodes", with("")},
      {"a node occurs twice", with(R"(["n", 1, true], ["n", 2, true])")},
      {"no host can have NID 1048576", with(R"(["n", 1048576, true])")},
  };
  for (const auto& [what, text] : damages) {
    SCOPED_TRACE(text);
    const auto file = scratch.file("fabric.db");
    for (const auto& old :
         std::filesystem::directory_iterator(std::filesystem::path(file).parent_path())) {
      std::filesystem::remove(old);
    }
    {
      store::SqliteStore store(file);
      store.apply(std::vector<records::Change>{
          records::JobRecord{.id = "run",
                             .token = "token",
                             .vni = std::nullopt,
                             .allocation =
                                 records::Allocation{.cookie = cookie, .nodes = {{"n0", Nid{1}}}}},
          records::JobRecord{
              .id = "sound",
              .token = "other",
              .vni = std::nullopt,
              .allocation = records::Allocation{.cookie = cookie, .nodes = {{"n0", Nid{1}}}}}});
      EXPECT_TRUE(store.load_sound().set_aside.empty());
    }
    {
      store::Database database(file);
      database.prepare("UPDATE jobs SET allocation = ? WHERE id = 'run'")
          .run(std::string_view(text));
    }
    store::SqliteStore store(file);
    const records::Snapshot past = store.load_sound();
    ASSERT_FALSE(past.set_aside.empty());
    EXPECT_THAT(past.set_aside[0], HasSubstr("allocation of job run: " + what));
    ASSERT_EQ(past.jobs.size(), 2U);
    EXPECT_EQ(past.jobs[0].token, "token");
    EXPECT_FALSE(past.jobs[0].allocation);
    EXPECT_TRUE(past.jobs[1].allocation);
    EXPECT_TRUE(store.load_sound().set_aside.empty()) << "once";
  }
}

TEST(StoreErrors, a_store_that_was_sound_is_taken_as_it_is) {
  const ScratchDirectory scratch;
  MemoryDisk expected;
  {
    Store store(scratch.file("fabric.db"));
    for (std::uint64_t n = 1; n <= 3; ++n) {
      const auto changes = sound_group((std::uint64_t{1} << 32) + n, n);
      store.apply(changes);
      expected.apply(changes);
    }
  }
  Store store(scratch.file("fabric.db"));
  const records::Snapshot past = store.load_sound();
  EXPECT_THAT(past.set_aside, ::testing::IsEmpty());
  EXPECT_TRUE(same_content(past, expected.load(2)));
}

TEST(StoreErrors, a_second_manager_does_not_write_though_the_lock_file_was_removed) {
  const ScratchDirectory scratch;
  Store first(scratch.file("fabric.db"));
  first.apply(whole_group(1, 4));
  std::filesystem::remove(scratch.file("fabric.db.lock"));
  EXPECT_EQ(kind_of([&] { Store second(scratch.file("fabric.db")); }), Kind::locked);
  first.apply(whole_group(2, 4));
  EXPECT_EQ(first.load().groups.size(), 2U);
}

TEST(StoreErrors, a_database_that_was_removed_or_replaced_is_noticed) {
  for (const char* removed : {"fabric.db", "fabric.db-wal"}) {
    const ScratchDirectory scratch;
    Store store(scratch.file("fabric.db"));
    store.apply(whole_group(1, 4));
    store.expect_in_place();
    const auto aside = scratch.file("aside");
    std::filesystem::rename(scratch.file(removed), aside);
    std::string message;
    EXPECT_EQ(kind_of([&] { store.expect_in_place(); }), Kind::failed);
    EXPECT_EQ(kind_of([&] { store.apply(whole_group(2, 4)); }, &message), Kind::failed);
    EXPECT_THAT(message,
                AllOf(HasSubstr(scratch.file(removed) + " was removed"), HasSubstr("put it back")));
    write(scratch.file(removed), "something else");
    EXPECT_EQ(kind_of([&] { store.apply(whole_group(2, 4)); }), Kind::failed) << "replaced";
    std::filesystem::rename(aside, scratch.file(removed));
    store.expect_in_place();
    store.apply(whole_group(2, 4));
    EXPECT_EQ(store.load().groups.size(), 2U);
  }
}

TEST(StoreErrors, one_manager_at_a_time_and_the_other_is_named) {
  const ScratchDirectory scratch;
  {
    Store first(scratch.file("fabric.db"));
    std::string message;
    EXPECT_EQ(kind_of([&] { Store second(scratch.file("fabric.db")); }, &message), Kind::locked);
    EXPECT_THAT(message, HasSubstr("process " + std::to_string(::getpid())));
    first.apply(whole_group(1, 4));
    EXPECT_EQ(first.load().groups.size(), 1U);
  }
  Store second(scratch.file("fabric.db"));
  EXPECT_EQ(second.load().groups.size(), 1U);
}

TEST(StoreErrors, a_directory_that_is_not_there_is_said) {
  const ScratchDirectory scratch;
  std::string message;
  EXPECT_EQ(kind_of([&] { Store store(scratch.file("no/fabric.db")); }, &message), Kind::failed);
  EXPECT_THAT(message, AllOf(HasSubstr("no/fabric.db"), HasSubstr("No such file or directory")));
}

/// Another user's view of files, because root may do everything. Ends with the test.
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
  const ScratchDirectory scratch;
  { Store store(scratch.file("fabric.db")); }
  namespace fs = std::filesystem;
  fs::permissions(scratch.file("fabric.db.lock"), fs::perms::none);
  fs::permissions(scratch.file("fabric.db"), fs::perms::none);
  const AsNobody nobody;
  EXPECT_EQ(kind_of([&] { Store store(scratch.file("fabric.db")); }), Kind::no_permission);
}

TEST(StoreErrors, a_file_one_may_only_read_is_a_matter_of_permission) {
  const ScratchDirectory scratch;
  { Store store(scratch.file("fabric.db")); }
  namespace fs = std::filesystem;
  fs::permissions(scratch.path(), fs::perms::all);
  fs::permissions(scratch.file("fabric.db.lock"), fs::perms::all);
  fs::permissions(scratch.file("fabric.db"), fs::perms::owner_read | fs::perms::others_read);
  const AsNobody nobody;
  EXPECT_EQ(kind_of([&] { Store store(scratch.file("fabric.db")); }), Kind::no_permission);
}

// ---- no room ----

/// Adds groups until the disk is full; returns their number.
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
  const ScratchDirectory scratch;
  MemoryDisk expected;
  Store store(scratch.file("fabric.db"), {.size_limit_bytes = 400'000});
  const std::uint64_t stored = fill(store, expected);
  EXPECT_GT(stored, 10U);
  EXPECT_TRUE(same_content(store.load(), expected.load(1))) << "half of a batch was stored";

  std::vector<records::Change> erase;
  for (std::uint64_t id = 1; id <= stored; ++id) {
    erase.emplace_back(records::EraseGroup{records::GroupId{id}});
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
  const ScratchDirectory scratch;
  MemoryDisk expected;
  std::uint64_t stored = 0;
  {
    Store store(scratch.file("fabric.db"));
    {
      const FileSizeLimit full(600'000);
      stored = fill(store, expected);
      EXPECT_GT(stored, 10U);
      EXPECT_TRUE(same_content(store.load(), expected.load(1)));
      EXPECT_EQ(kind_of([&] { store.apply(whole_group(stored + 1, 64)); }), Kind::no_room)
          << "still full";
    }
    const auto changes = whole_group(stored + 1, 64);
    store.apply(changes);
    expected.apply(changes);
    EXPECT_TRUE(same_content(store.load(), expected.load(1)));
  }
  Store again(scratch.file("fabric.db"));
  EXPECT_TRUE(same_content(again.load(), expected.load(1)));
  EXPECT_EQ(again.load().groups.size(), stored + 1);
}

TEST(StoreErrors, a_full_disk_does_not_keep_a_store_from_being_read_and_the_start_counts_later) {
  const ScratchDirectory scratch;
  MemoryDisk expected;
  {
    Store store(scratch.file("fabric.db"));
    store.apply(whole_group(1, 4));
    expected.apply(whole_group(1, 4));
  }
  {
    std::optional<FileSizeLimit> full(std::in_place, 0);
    Store store(scratch.file("fabric.db"));
    EXPECT_THAT(store.failure(), HasSubstr("make room"));
    EXPECT_EQ(store.epoch(), 2U);
    EXPECT_TRUE(same_content(store.load(), expected.load(2)));
    EXPECT_EQ(kind_of([&] { store.apply(whole_group(2, 4)); }), Kind::no_room);
    full.reset();
    store.apply(whole_group(2, 4));
    expected.apply(whole_group(2, 4));
    EXPECT_EQ(store.failure(), "");
    store.apply(whole_group(3, 4));
    expected.apply(whole_group(3, 4));
  }
  Store again(scratch.file("fabric.db"));
  EXPECT_EQ(again.epoch(), 3U) << "the start without room was counted, once";
  EXPECT_TRUE(same_content(again.load(), expected.load(3)));
}

TEST(StoreErrors, what_a_killed_manager_left_in_the_log_is_read_on_a_full_disk) {
  const ScratchDirectory scratch;
  const ScratchDirectory killed;
  Store store(scratch.file("fabric.db"));
  store.apply(whole_group(1, 4));
  for (const char* name : {"fabric.db", "fabric.db-wal"}) {
    std::filesystem::copy(scratch.file(name), killed.file(name));
  }
  const FileSizeLimit full(0);
  Store after(killed.file("fabric.db"));
  EXPECT_NE(after.failure(), "");
  EXPECT_EQ(after.load().groups.size(), 1U);
}

} // namespace
} // namespace tributary::test
