// The table of trees that the processes of a node share: one is killed at any moment, and the
// others continue.
#include "endpoint/mpi/node/shared_table.hpp"
#include "tests/support/killed_process.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace tributary::mpi::node::test {
namespace {

using contexts::NodeSet;
using contexts::ProcessId;
using contexts::TreeName;
using contexts::TreeState;
using tributary::test::KilledProcess;

constexpr ProcessId here{1};
constexpr ProcessId other{2};
constexpr NodeSet nodes{77};
constexpr TreeName tree{5};

std::string table_name(const char* test) {
  return "/tributary-test-table-" + std::to_string(getpid()) + "-" + test;
}

void keep_tree(const SharedTable& table) {
  const auto lock = table.lock();
  lock.set_place(nodes, {.place = 2, .nodes = 3});
  const auto pool = lock->open(nodes);
  static_cast<void>(lock->assign(*pool, 0, tree, table.self()));
  static_cast<void>(lock->ready(tree, {.slots = 128, .payload = 1408}));
  lock.changed();
}

TEST(SharedTable, AProcessThatDiesIsReportedAndItsTreeIsAdoptedOnlyThen) {
  const std::string name = table_name("dies");
  KilledProcess process([&] {
    static const auto table = SharedTable::attach(name, 2, other);
    keep_tree(table);
  });
  const auto table = SharedTable::attach(name, 2, here);
  EXPECT_EQ(table.reap(), 0U) << "a process that lives is reported";
  ASSERT_NE(table.lock()->find(tree), nullptr);
  EXPECT_EQ(table.lock()->find(tree)->keeper, other);
  EXPECT_EQ(table.lock()->adopt(here), std::nullopt);
  const std::uint64_t before = table.version();
  process.end();
  EXPECT_EQ(table.reap(), 1U);
  EXPECT_GT(table.version(), before);
  const auto lock = table.lock();
  EXPECT_EQ(lock->adopt(here), tree);
  EXPECT_EQ(lock->set_of(tree), nodes);
  ASSERT_TRUE(lock.place_in(nodes));
  EXPECT_EQ(lock.place_in(nodes)->place, 2U);
  EXPECT_EQ(lock.place_in(nodes)->nodes, 3U);
  EXPECT_EQ(lock->find(tree)->state, TreeState::ready);
}

TEST(SharedTable, AProcessThatDiesWithTheLockDoesNotKeepIt) {
  const std::string name = table_name("lock");
  KilledProcess process([&] {
    static const auto table = SharedTable::attach(name, 2, other);
    keep_tree(table);
    static const auto lock = table.lock();
  });
  process.end();
  const auto table = SharedTable::attach(name, 2, here);
  const auto lock = table.lock();
  ASSERT_NE(lock->find(tree), nullptr);
  EXPECT_EQ(lock->find(tree)->keeper, ProcessId{});
}

TEST(SharedTable, TheLastRankRemovesTheName) {
  const std::string name = table_name("name");
  const auto table = SharedTable::attach(name, 1, here);
  const int opened = shm_open(name.c_str(), O_RDONLY | O_CLOEXEC, 0);
  EXPECT_LT(opened, 0);
}

TEST(SharedTable, AProcessThatEndsFreesWhatItUsed) {
  const std::string name = table_name("ends");
  const auto table = SharedTable::attach(name, 2, here);
  KilledProcess process([&] {
    const auto own = SharedTable::attach(name, 2, other);
    keep_tree(own);
  });
  EXPECT_EQ(table.lock()->find(tree)->keeper, ProcessId{});
}

TEST(SharedTable, OneThatIsAloneNeedsNoFile) {
  const auto table = SharedTable::alone(here);
  keep_tree(table);
  EXPECT_EQ(table.reap(), 0U);
  EXPECT_EQ(table.lock()->find(tree)->keeper, here);
}

TEST(SharedTable, OldSetsGiveWay) {
  const auto table = SharedTable::alone(here);
  const auto lock = table.lock();
  constexpr std::uint64_t many = 10'000;
  for (std::uint64_t n = 1; n <= many; ++n) {
    lock.set_place(NodeSet{n}, {.place = 1, .nodes = 2});
  }
  EXPECT_TRUE(lock.place_in(NodeSet{many}));
  EXPECT_FALSE(lock.place_in(NodeSet{1}));
}

} // namespace
} // namespace tributary::mpi::node::test
