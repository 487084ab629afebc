// Which trees a host gives up when its table of trees is nearly full. What it asks the fabric
// manager for: dup_test.cpp.
#include "endpoint/library/host_contexts.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tributary::library::test {
namespace host_contexts_test {

using contexts::Context;
using contexts::IdRange;
using contexts::NodeSet;
using contexts::NodeTable;
using contexts::Partition;
using contexts::TreeName;

constexpr std::uint32_t kept_free = 16;
constexpr std::uint32_t most_kept = NodeTable::most_trees - kept_free;

class HostContextsTest : public testing::Test {
protected:
  /// The next tree, named by its number: 1, 2, ...
  void make() {
    const std::uint32_t number = made_++;
    const auto pool = table.open(NodeSet{1 + number / NodeTable::entries_per_pool});
    const TreeName name{number + 1};
    ASSERT_TRUE(pool);
    ASSERT_TRUE(
        table.assign(*pool, number % NodeTable::entries_per_pool, name, HostContexts::process));
    ASSERT_TRUE(table.ready(name, {.slots = 128}));
  }
  void fill() {
    while (made_ < most_kept) {
      make();
    }
  }
  /// A context of one of the first trees.
  Context use(TreeName name) {
    const IdRange ids{ReductionId{64}, 8};
    const auto entry = static_cast<std::uint32_t>(name.value - 1);
    EXPECT_TRUE(table.take(*table.open(NodeSet{1}), entry, Partition(128).parts_of(ids),
                           HostContexts::process, Cookie{5}));
    return {NodeSet{1}, name, ids, Cookie{5}};
  }
  [[nodiscard]] bool has(std::uint64_t name) const { return table.find(TreeName{name}) != nullptr; }

  HostContexts host;
  NodeTable& table = host.table();

private:
  std::uint32_t made_ = 0;
};

TEST_F(HostContextsTest, NoTreeIsGivenUpWhileThereIsRoom) {
  fill();
  host.retire_if_full();
  EXPECT_EQ(table.trees(), most_kept);
}

TEST_F(HostContextsTest, TheLeastRecentlyUsedTreesGoFirstOneForEachThatIsAskedFor) {
  fill();
  const Context of_first = use(TreeName{1});
  host.release(use(TreeName{2})); // used last
  make();
  host.retire_if_full();
  EXPECT_EQ(table.trees(), most_kept);
  EXPECT_TRUE(has(1)) << "a group of it is in use";
  EXPECT_TRUE(has(2)) << "others were not used for longer";
  EXPECT_FALSE(has(3));
  host.retire_if_full();
  EXPECT_EQ(table.trees(), most_kept) << "one was enough";
  make();
  host.retire_if_full();
  EXPECT_FALSE(has(4));
  host.release(of_first);
  make();
  host.retire_if_full();
  EXPECT_TRUE(has(1)) << "it is the one used last now";
  EXPECT_FALSE(has(5));
}

TEST_F(HostContextsTest, WhereAllAreInUseNoneIsGivenUp) {
  fill();
  make();
  table.for_each_tree([&](const contexts::Tree& tree) {
    ASSERT_TRUE(table.take(tree.pool, tree.entry, Partition(128).parts_of({ReductionId{64}, 8}),
                           HostContexts::process, Cookie{5}));
  });
  host.retire_if_full();
  EXPECT_EQ(table.trees(), most_kept + 1);
}

} // namespace host_contexts_test
} // namespace tributary::library::test
