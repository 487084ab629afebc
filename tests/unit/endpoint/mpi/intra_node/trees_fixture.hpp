// A process of a node that keeps trees, at a fabric that the test plays.
#pragma once

#include "endpoint/mpi/intra_node/trees.hpp"
#include "fake_fabric.hpp"
#include "tests/support/eventually.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <optional>
#include <string>

namespace tributary::mpi::intra_node::test {

inline constexpr contexts::ProcessId here{1};
inline constexpr contexts::NodeSet nodes{77};
inline constexpr contexts::TreeName first{0x101};
inline constexpr contexts::TreeName second{0x102};
inline constexpr node::SetPlace place{.place = 2, .nodes = 3};

inline std::string name_of(contexts::TreeName tree) {
  return fmt::format("mpi-{:016x}", tree.value);
}

class TreesFixture : public ::testing::Test {
protected:
  TreesFixture() : trees({.interface = "fabric0", .join_limit = std::chrono::seconds(1)}) {}

  /// An agreement has asked for the tree at this entry.
  void want(contexts::TreeName tree, std::uint16_t entry) {
    {
      const auto lock = trees.table().lock();
      ASSERT_TRUE(lock->assign(*lock->open(nodes), entry, tree, here));
    }
    const contexts::Outcome::Wanted wanted{tree, entry};
    trees.want({&wanted, 1}, place, nodes);
  }
  /// The tree is ready.
  void make(contexts::TreeName tree, std::uint16_t entry) {
    want(tree, entry);
    trees.wait_for(tree);
  }
  /// A context of a tree that is ready at entry 0.
  contexts::Context take(contexts::TreeName tree, std::uint8_t first_id = 64) {
    const contexts::IdRange ids{ReductionId{first_id}, 8};
    const auto lock = trees.table().lock();
    EXPECT_TRUE(
        lock->take(*lock->open(nodes), 0, contexts::Partition(128).parts_of(ids), here, Cookie{5}));
    return {nodes, tree, ids, Cookie{5}};
  }
  void release(const contexts::Context& context) {
    EXPECT_TRUE(trees.table().lock()->release(here, context));
  }
  /// nullopt: the table does not have it.
  [[nodiscard]] std::optional<contexts::Tree> known(contexts::TreeName tree) const {
    const auto lock = trees.table().lock();
    const contexts::Tree* const found = lock->find(tree);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  [[nodiscard]] bool is_ready(contexts::TreeName tree) const {
    const auto found = known(tree);
    return found && found->state == contexts::TreeState::ready;
  }

  FakeFabric fabric;
  Trees trees;
};

} // namespace tributary::mpi::intra_node::test
