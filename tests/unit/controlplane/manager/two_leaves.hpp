// A manager over two leaves and the spines between them, for tests of tree placement.
#pragma once

#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::manager {

/// Two leaves with eight hosts each, NIDs 1 to 16, and spines connected to both.
class TwoLeaves : public testing::Test {
protected:
  static constexpr std::uint64_t second = 1'000'000'000;
  static constexpr std::uint32_t per_leaf = 8;

  void fabric(std::uint32_t spines) {
    world.create_job("job");
    for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
      world.connect_star("leaf" + std::to_string(leaf), per_leaf, 1 + leaf * per_leaf, 16);
    }
    for (std::uint32_t spine = 0; spine < spines; ++spine) {
      world.connect_star("spine" + std::to_string(spine), 0, 1, 4);
      for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
        link(leaf, spine);
      }
    }
    world.reconcile();
    world.pass(5 * second);
  }
  void link(std::uint32_t leaf, std::uint32_t spine) {
    world.report_link("leaf" + std::to_string(leaf), per_leaf + spine,
                      "spine" + std::to_string(spine), leaf);
    world.reconcile();
  }
  void cut(std::uint32_t leaf, std::uint32_t spine) {
    world.report_down("leaf" + std::to_string(leaf), per_leaf + spine);
    world.report_down("spine" + std::to_string(spine), leaf);
    world.reconcile();
  }
  /// A host of each leaf joins.
  Given asked(const std::string& name, std::uint32_t host, std::uint32_t trees = 1) {
    const Given one = world.join(name, 2, 0, 1 + host, administrator, 1000, trees);
    const Given two = world.join(name, 2, 1, 1 + host + per_leaf, administrator, 1000, trees);
    world.reconcile();
    return two;
  }
  /// The same; ready.
  void group(const std::string& name, std::uint32_t host, std::uint32_t trees = 1) {
    const Given two = asked(name, host, trees);
    ASSERT_TRUE(two.there());
    ASSERT_EQ(two->status, 200U) << boost::json::serialize(two->body);
  }
  /// The spine that each tree of the group crosses.
  std::vector<std::string> spines_of(const std::string& name) {
    std::vector<std::string> spines;
    const group::Group* const group = world.manager->groups().find("job", name);
    if (group == nullptr) {
      ADD_FAILURE() << "no group " << name;
      return spines;
    }
    for (const auto& tree : group->routes) {
      for (const auto& part : tree.form.parts) {
        if (part.at.starts_with("spine")) {
          spines.push_back(part.at);
        }
      }
    }
    return spines;
  }
  static std::uint32_t number(const std::string& spine) {
    return static_cast<std::uint32_t>(spine.back() - '0');
  }

  static Settings long_leases() {
    Settings settings;
    settings.groups.lease_ns = 3600 * second;
    settings.groups.default_multicast_limit = 100;
    settings.rebalance_quiet_ns = 30 * second;
    return settings;
  }
  World world{long_leases()};
};

} // namespace tributary::manager
