// Groups of the manager with their root at one host, while trees move and switches and the manager
// restart.
#include "tests/fabric/managed/managed_groups.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace tributary::fabric::one_root {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t s = 1'000'000'000;
constexpr std::uint32_t leaves = 4;
constexpr std::uint32_t spines = 3;
constexpr std::uint32_t hosts_per_leaf = 4;
constexpr HostIndex root = 0; ///< at the first leaf

/// The root and some others, in any order from rank 1 on.
std::vector<HostIndex> members(Random& random) {
  std::vector<HostIndex> hosts;
  for (HostIndex h = 1; h < leaves * hosts_per_leaf; ++h) {
    hosts.push_back(h);
  }
  random.shuffle(hosts);
  hosts.resize(random.between(1, hosts.size()));
  hosts.insert(hosts.begin(), root);
  return hosts;
}

TEST(one_root, forty_groups_reduce_while_trees_move_and_switches_and_the_manager_restart) {
  constexpr std::uint32_t wanted = 40;
  for (std::uint64_t seed = 1; seed <= 10 / TRIBUTARY_SEED_DIVISOR; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ManagedFabric managed(leaves_and_spines(leaves, spines, hosts_per_leaf), patient_options(),
                          seed);
    ManagedGroups groups(managed, seed);
    groups.ask_for_root(0);
    Random random = Random(seed).fork(35);
    managed.announce_all();
    managed.run_for(50 * ms);
    for (std::uint32_t g = 0; g < wanted; ++g) {
      groups.join("g" + std::to_string(g), members(random), 200,
                  static_cast<std::uint32_t>(random.between(1, 2)), 200'000);
    }
    const auto all = [&](auto holds) {
      return std::ranges::all_of(groups.all(), [&](const auto& group) { return holds(*group); });
    };
    ASSERT_TRUE(managed.run_until(
        [&] { return all([](const ManagedGroup& group) { return group.ready(); }); }, 60 * s));
    std::set<std::int64_t> trees;
    for (const auto& group : groups.all()) {
      EXPECT_EQ(group->membership.at("root_rank").to_number<std::int64_t>(), 0) << group->name;
      for (const auto& tree : group->membership.at("trees").as_array()) {
        EXPECT_TRUE(trees.insert(tree.to_number<std::int64_t>()).second) << "tree of two groups";
      }
    }
    // The only way up from the root's leaf that is left carries all of them for a while.
    Fabric& fabric = managed.fabric();
    const auto uplink = [&](std::uint32_t spine) {
      return fabric.topology().ports(0)[hosts_per_leaf + spine];
    };
    managed.set_link_up(uplink(0), false);
    managed.run_for(2 * ms);
    managed.set_link_up(uplink(1), false);
    managed.run_for(5 * ms);
    managed.set_link_up(uplink(0), true);
    managed.set_link_up(uplink(1), true);
    managed.kill_manager();
    managed.run_for(random.between(1, 5) * ms);
    managed.start_manager();
    managed.run_for(random.between(1, 5) * ms);
    for (const SwitchIndex at : {SwitchIndex{0}, SwitchIndex{leaves}}) {
      managed.crash(at);
      managed.run_for(random.between(1, 3) * ms);
      managed.restart(at);
      managed.announce_all();
      managed.run_for(random.between(1, 3) * ms);
    }
    const auto over = [&] {
      groups.report_departures();
      return all([](const ManagedGroup& group) { return group.over(); });
    };
    EXPECT_TRUE(managed.run_until(over, 200 * s));
    for (const auto& group : groups.all()) {
      EXPECT_TRUE(group->over()) << group->name << group->error << group->group->describe_status();
    }
    groups.report_departures();
    EXPECT_TRUE(
        managed.run_until([&] { return managed.manager().groups().groups().empty(); }, 10 * s));
    managed.run_for(10 * ms);
    EXPECT_THAT(fabric.violations(), IsEmpty());
    EXPECT_THAT(managed.disagreements(), IsEmpty());
  }
}

} // namespace
} // namespace tributary::fabric::one_root
