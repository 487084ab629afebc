// kill -9 at any moment loses no acknowledged batch.
//
// A child applies one batch after the other and writes each number to a pipe once `apply` has
// returned. It is killed at a random moment; then the store must hold every written batch, and all
// or nothing of the one in progress. Hundreds of times, on the same file.
#include "controlplane/store/sqlite_store.hpp"

#include "lib/net/file_descriptor.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/store/records.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <set>
#include <sys/wait.h>
#include <time.h>

namespace tributary::test {
namespace {

using Store = store::SqliteStore;

constexpr std::uint32_t members = 16;

/// Batch `id`: a group as a whole, and the one of eight batches before erased, as a whole.
std::vector<records::Change> batch(std::uint64_t id) {
  auto changes = whole_group(id, members);
  if (id > 8) {
    changes.emplace_back(records::EraseGroup{records::GroupId{id - 8}});
  }
  return changes;
}

[[noreturn]] void apply_until_killed(const std::filesystem::path& file, std::uint64_t first,
                                     int acknowledgements) {
  try {
    Store store(file);
    for (std::uint64_t id = first;; ++id) {
      store.apply(batch(id));
      if (::write(acknowledgements, &id, sizeof id) != sizeof id) {
        ::_exit(3);
      }
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    ::_exit(4);
  }
}

/// Reads available numbers without reaching the end of the pipe: the child lives.
std::uint64_t read_one(int descriptor) {
  std::uint64_t id = 0;
  return ::read(descriptor, &id, sizeof id) == sizeof id ? id : 0;
}

/// The newest complete batch; the content must be exactly the result of batches 1 to it.
std::uint64_t newest_batch(const std::filesystem::path& file) {
  Store store(file);
  const auto all = store.load();
  const std::uint64_t newest = all.groups.empty() ? 0 : all.groups.back().id.value;
  const std::uint64_t oldest = newest < 8 ? 1 : newest - 7;
  const std::size_t groups = newest == 0 ? 0 : newest - oldest + 1;
  EXPECT_EQ(all.groups.size(), groups);
  EXPECT_EQ(all.trees.size(), groups);
  EXPECT_EQ(all.members.size(), groups * members);
  for (const auto& group : all.groups) {
    EXPECT_TRUE(group.id.value >= oldest && group.id.value <= newest);
  }
  return newest;
}

TEST(Kill, nothing_acknowledged_is_ever_lost_and_nothing_is_half_there) {
  constexpr int kills = TRIBUTARY_SEED_DIVISOR == 1 ? 300 : 60;
  const ScratchDirectory scratch;
  Random random(seed());
  std::uint64_t newest = 0;
  int beyond_the_last_word = 0;
  int before_any_word = 0;
  for (int round = 0; round < kills; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    net::FileDescriptor said(ends[0]);
    net::FileDescriptor saying(ends[1]);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      said.close();
      apply_until_killed(scratch.file("fabric.db"), newest + 1, saying.get());
    }
    saying.close();
    std::uint64_t acknowledged = newest;
    for (std::uint64_t words = random() % 8; words > 0; --words) {
      acknowledged = std::max(acknowledged, read_one(said.get()));
    }
    const timespec a_while{0, static_cast<long>(random() % 3'000'000)};
    ::nanosleep(&a_while, nullptr);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself";
    while (const std::uint64_t id = read_one(said.get())) { // written before it died
      acknowledged = id;
    }

    const std::uint64_t found = newest_batch(scratch.file("fabric.db"));
    ASSERT_GE(found, acknowledged) << "round " << round << ": lost what was acknowledged";
    ASSERT_LE(found, acknowledged + 1) << "round " << round;
    beyond_the_last_word += found > acknowledged ? 1 : 0;
    before_any_word += acknowledged == newest ? 1 : 0;
    newest = found;
  }
  std::cout << kills << " kills, " << newest << " batches; " << beyond_the_last_word
            << " times one was stored and not yet said, " << before_any_word
            << " times nothing had been said\n";
  EXPECT_GT(newest, static_cast<std::uint64_t>(kills)) << "the children did too little";
}

} // namespace
} // namespace tributary::test
