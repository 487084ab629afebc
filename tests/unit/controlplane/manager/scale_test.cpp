// A hundred groups at the same time, computed, stored on a real disk, and installed in switches
// that answer immediately. bench/group-setup measures the time of a group, through the real
// programs.
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <gtest/gtest.h>

namespace tributary::manager {
namespace {

constexpr std::uint32_t leaves = 20;
constexpr std::uint32_t hosts_per_leaf = 56;
constexpr std::uint32_t spines = 2;
constexpr std::uint32_t groups = 100;
constexpr std::uint32_t members = 16;

std::string leaf(std::uint32_t i) { return "leaf" + std::to_string(i); }

TEST(scale, a_hundred_groups_of_sixteen_are_computed_stored_and_installed) {
  const test::ScratchDirectory scratch(test::ScratchDirectory::Place::disk);
  {
    Settings settings;
    settings.groups.default_multicast_limit = groups;
    World world(settings);
    world.disk.emplace(scratch.file("fabric.db"));
    world.create_job("job");
    for (std::uint32_t i = 0; i < leaves; ++i) {
      world.connect_star(leaf(i), hosts_per_leaf, 1 + i * hosts_per_leaf, 64);
    }
    for (std::uint32_t s = 0; s < spines; ++s) {
      const std::string spine = "spine" + std::to_string(s);
      world.connect_star(spine, 0, 1, 64);
      for (std::uint32_t i = 0; i < leaves; ++i) {
        world.report_link(leaf(i), hosts_per_leaf + s, spine, i);
      }
    }
    world.reconcile();

    std::vector<Given> answers;
    for (std::uint32_t g = 0; g < groups; ++g) {
      for (std::uint32_t rank = 0; rank < members; ++rank) {
        // Rank 0 is the root, another host for each group; the others are all over the fabric.
        const std::uint32_t host = (g + rank * 67) % (leaves * hosts_per_leaf);
        answers.push_back(world.join("g" + std::to_string(g), members, rank, 1 + host));
      }
      if (g % 25 == 24) {
        world.reconcile(); // requests that arrive together are stored together
      }
    }
    world.reconcile();
    for (const Given& answer : answers) {
      ASSERT_TRUE(answer.there());
      ASSERT_EQ(answer->status, 200U);
    }
    EXPECT_EQ(world.manager->groups().trees_in_use(), groups);
  }
  EXPECT_EQ(store::SqliteStore(scratch.file("fabric.db")).load().groups.size(), groups);
}

} // namespace
} // namespace tributary::manager
