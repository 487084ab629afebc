// A registry with the parts of a manager around it: a manual clock, changes that are stored on a
// disk in memory before actions are read, and short names for the calls.
#pragma once

#include "controlplane/group/registry.hpp"
#include "tests/unit/controlplane/store/memory_disk.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tributary::test {

using group::Group;
using group::GroupId;
using group::GroupState;
using group::Registry;
using group::Result;

inline constexpr std::uint64_t second = 1'000'000'000;

/// A tree that names its group's switch, so that its computation can be identified.
inline group::Routes routes_over(const std::string& center, std::uint32_t trees = 1,
                                 std::uint32_t limit = max_trees) {
  records::TreeForm form;
  form.root_switch = center;
  form.height = 1;
  form.links = {{{"leaf0", 4}, {center, 0}}, {{"leaf1", 4}, {center, 1}}};
  form.parts = {{.at = "leaf0", .parent = 0, .children = {1, 4}, .wait_count = 3, .depth = 0},
                {.at = center, .parent = 0, .children = {1}, .wait_count = 2, .depth = 1}};
  group::Routes routes;
  routes.trees.assign(trees, {form, limit});
  return routes;
}

/// `rank` of `size` in a group of job j1 without special requests.
inline group::JoinRequest request_to_join(std::uint32_t rank, std::uint32_t nid, std::uint32_t size,
                                          const std::string& name = "demo",
                                          const std::string& job = "j1") {
  group::JoinRequest request;
  request.group.job = job;
  request.group.name = name;
  request.group.size = size;
  request.rank = rank;
  request.nid = Nid{nid};
  request.host = "h" + std::to_string(rank);
  return request;
}

class RegistryFixture {
public:
  explicit RegistryFixture(group::Settings settings = {}) : settings_(settings) { start(); }

  /// As after a crash: only the state on disk is left.
  void restart() {
    ++epoch_;
    start();
  }
  Registry& operator*() { return *registry_; }
  Registry* operator->() { return registry_.get(); }

  /// Stores changes and returns the actions to perform, except `Changed`.
  std::vector<group::Action> act() {
    disk_.apply(registry_->take_changes());
    auto actions = registry_->take_actions();
    std::erase_if(actions,
                  [](const group::Action& a) { return std::holds_alternative<group::Changed>(a); });
    return actions;
  }
  /// The only action; it has to be of this kind.
  template <typename Action> Action expect() {
    const auto actions = act();
    if (actions.size() != 1 || !std::holds_alternative<Action>(actions.front())) {
      ADD_FAILURE() << "one action of another kind was expected, " << actions.size() << " came";
      return {};
    }
    return std::get<Action>(actions.front());
  }
  void expect_nothing() { EXPECT_TRUE(act().empty()); }

  void job(const std::string& id = "j1", std::optional<std::uint32_t> limit = std::nullopt) {
    ASSERT_TRUE(registry_->create_job(id, limit).ok());
  }
  void hosts(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t nid = first; nid <= last; ++nid) {
      registry_->located(Nid{nid}, now);
    }
  }
  /// Rank 0 is NID 1, and so on.
  Result<const Group*> join(std::uint32_t rank, std::uint32_t size = 3,
                            const std::string& name = "demo", const std::string& job = "j1") {
    return registry_->join(request_to_join(rank, rank + 1, size, name, job), now);
  }
  Result<const Group*> leave(std::uint32_t rank, const std::string& name = "demo") {
    return registry_->leave("j1", name, rank, now);
  }
  /// All joined, computing_routes, ComputeRoutes taken.
  GroupId computing(std::uint32_t size = 3, const std::string& name = "demo") {
    hosts(1, size);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      EXPECT_TRUE(join(rank, size, name).ok());
    }
    return expect<group::ComputeRoutes>().group;
  }
  /// The same, then routes, installed, ready.
  GroupId ready(std::uint32_t size = 3, const std::string& name = "demo") {
    const GroupId id = computing(size, name);
    EXPECT_TRUE(registry_->routes_ready(id, routes_over("spine"), now));
    EXPECT_EQ(expect<group::Install>().group, id);
    registry_->installed(id, now);
    expect_nothing();
    return id;
  }
  GroupState state(GroupId id) const {
    const Group* const group = registry_->find(id);
    return group == nullptr ? GroupState::gone : group->state;
  }
  void pass(std::uint64_t ns) {
    now = now + ns;
    registry_->poll(now);
  }
  [[nodiscard]] records::Snapshot disk() const { return disk_.load(epoch_); }

  TimeNs now{1'000 * second};

private:
  void start() {
    registry_ = std::make_unique<Registry>(
        settings_,
        [this](std::span<std::byte> bytes) {
          for (std::byte& b : bytes) {
            b = static_cast<std::byte>(random_() & 0xFF);
          }
        },
        disk_.load(epoch_), now);
  }

  group::Settings settings_;
  std::mt19937_64 random_{7};
  std::uint64_t epoch_ = 1;
  MemoryDisk disk_;
  std::unique_ptr<Registry> registry_;
};

} // namespace tributary::test
